//! The transactions as statements that the client sends (clauses 2.4.2 to 2.8.2), the same for every database.

use iolite_db::Error;

use super::contract::{Done, Value};
use super::input::{Customer, Delivery, NewOrder, OrderStatus, Payment, StockLevel, Transaction};
use super::layout::DISTRICTS;

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The transaction is a deadlock's victim: it is to be repeated.
    Again,
    /// It waited too long for a lock: it may be repeated.
    NoLock,
    /// Something else.
    Error(Error),
}

impl Fault {
    /// What came of the transaction that it has ended.
    pub(super) fn ended(self) -> Result<Done, Error> {
        match self {
            Fault::Again => Ok(Done::Again),
            Fault::NoLock => Ok(Done::NoLock),
            Fault::Error(error) => Err(error),
        }
    }
}

/// Result of a statement.
pub(super) type Outcome<T> = Result<T, Fault>;

/// A session that takes statements: prepared once, by their text.
pub(super) trait Statements {
    /// Begins a transaction, which writes or only reads.
    fn begin(&mut self, writes: bool) -> Outcome<()>;

    /// Commits.
    fn commit(&mut self) -> Outcome<()>;

    /// Gives the transaction up; what fails then has failed already.
    fn rollback(&mut self);

    /// The rows of a query.
    fn query(&mut self, text: &'static str, values: &[Value]) -> Outcome<Vec<Vec<Value>>>;

    /// Does something; returns the number of rows.
    fn execute(&mut self, text: &'static str, values: &[Value]) -> Outcome<u64>;

    /// What is said where a row is missing that must be there.
    fn damaged(&self, what: &str) -> Fault;
}

const CUSTOMER_AND_TAX: &str = "SELECT c_discount, c_last, c_credit, w_tax FROM @customer, @warehouse \
    WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?";
const NEXT_ORDER: &str = "SELECT d_next_o_id, d_tax FROM @district WHERE d_w_id = ? AND d_id = ? %LOCK";
const TAKE_ORDER: &str = "UPDATE @district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?";
const INSERT_ORDER: &str = "INSERT INTO @orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
    o_all_local) VALUES (?, ?, ?, ?, %NOW, NULL, ?, ?)";
const INSERT_NEW_ORDER: &str = "INSERT INTO @new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)";
const ITEM: &str = "SELECT i_price, i_name, i_data FROM @item WHERE i_id = ?";
const STOCK: &str = "SELECT s_quantity, s_data, CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 \
    WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 \
    WHEN 9 THEN s_dist_09 ELSE s_dist_10 END FROM @stock WHERE s_w_id = ? AND s_i_id = ? %LOCK";
const UPDATE_STOCK: &str = "UPDATE @stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
    s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?";
const INSERT_LINE: &str = "INSERT INTO @order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
    ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, #)";

const PAY_WAREHOUSE: &str = "UPDATE @warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?";
const WAREHOUSE: &str =
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM @warehouse WHERE w_id = ?";
const PAY_DISTRICT: &str = "UPDATE @district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";
const DISTRICT: &str = "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM @district \
    WHERE d_w_id = ? AND d_id = ?";
const BY_NAME: &str =
    "SELECT c_id FROM @customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = # ORDER BY c_first";
const PAYER: &str = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
    c_credit_lim, c_discount, c_balance, c_credit FROM @customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? %LOCK";
const CREDIT: usize = 12;
const PAYER_DATA: &str = "SELECT c_data FROM @customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const PAID: &str = "UPDATE @customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
    c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const PAID_DATA: &str = "UPDATE @customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
    c_payment_cnt = c_payment_cnt + 1, c_data = # WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const INSERT_HISTORY: &str = "INSERT INTO @history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
    VALUES (?, ?, ?, ?, ?, %NOW, ?, #)";

const BALANCE: &str = "SELECT c_balance, c_first, c_middle, c_last FROM @customer \
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const LAST_ORDER: &str = "SELECT o_id, o_carrier_id FROM @orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
    ORDER BY o_id DESC LIMIT 1";
const LINES: &str = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount FROM @order_line \
    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";

const OLDEST: &str =
    "SELECT no_o_id FROM @new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 %LOCK";
const TAKE_OLDEST: &str = "DELETE FROM @new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?";
const BUYER: &str = "SELECT o_c_id FROM @orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
const CARRY: &str = "UPDATE @orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
const DELIVERED: &str =
    "UPDATE @order_line SET ol_delivery_d = %NOW WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
const AMOUNT: &str = "SELECT CAST(SUM(ol_amount) AS %INT) FROM @order_line \
    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
const CHARGE: &str = "UPDATE @customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

const NEXT: &str = "SELECT d_next_o_id FROM @district WHERE d_w_id = ? AND d_id = ?";
const LOW_STOCK: &str = "SELECT COUNT(DISTINCT s_i_id) FROM @order_line, @stock WHERE ol_w_id = ? AND ol_d_id = ? \
    AND ol_o_id >= ? AND ol_o_id < ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?";

/// Times that a Delivery looks for the oldest order of a district: one that it waited for may have been taken by another.
const LOOKS: u32 = 3;

/// Does a transaction, and ends it.
pub(super) fn perform(session: &mut dyn Statements, transaction: &Transaction) -> Result<Done, Error> {
    let writes = !matches!(transaction, Transaction::OrderStatus(_) | Transaction::StockLevel(_));
    let done = session.begin(writes).and_then(|()| body(session, transaction));
    end(session, done)
}

/// Ends a transaction that has come so far: commits it, or rolls it back.
pub(super) fn end(session: &mut dyn Statements, done: Outcome<Done>) -> Result<Done, Error> {
    let done = match done {
        Ok(done @ Done::Committed { .. }) => session.commit().map(|()| done),
        Ok(other) => {
            session.rollback();
            Ok(other)
        }
        Err(fault) => Err(fault),
    };
    done.or_else(|fault| {
        session.rollback();
        fault.ended()
    })
}

fn body(session: &mut dyn Statements, transaction: &Transaction) -> Outcome<Done> {
    match transaction {
        Transaction::NewOrder(input) => new_order(session, input),
        Transaction::Payment(input) => payment(session, input),
        Transaction::OrderStatus(input) => order_status(session, input),
        Transaction::Delivery(input) => delivery(session, input),
        Transaction::StockLevel(input) => stock_level(session, input),
    }
}

const COMMITTED: Done = Done::Committed { skipped: 0 };

fn numbers<const N: usize>(values: [i64; N]) -> [Value; N] {
    values.map(Value::Int)
}

/// The one row that must be there.
fn row(
    session: &mut dyn Statements,
    text: &'static str,
    values: &[Value],
    what: &str,
) -> Outcome<Vec<Value>> {
    let row = session.query(text, values)?.into_iter().next();
    row.ok_or_else(|| session.damaged(what))
}

/// Changes the one row that must be there.
fn change(session: &mut dyn Statements, text: &'static str, values: &[Value], what: &str) -> Outcome<()> {
    match session.execute(text, values)? {
        1 => Ok(()),
        _ => Err(session.damaged(what)),
    }
}

fn new_order(session: &mut dyn Statements, input: &NewOrder) -> Outcome<Done> {
    let NewOrder { warehouse, district, customer, ref lines } = *input;
    let buyer = row(session, CUSTOMER_AND_TAX, &numbers([warehouse, district, customer]), "a customer")?;
    let place = numbers([warehouse, district]);
    let next = row(session, NEXT_ORDER, &place, "a district")?;
    change(session, TAKE_ORDER, &place, "a district")?;
    let order = next[0].int();
    let all_local = i64::from(lines.iter().all(|line| line.supplier == warehouse));
    let entered = numbers([warehouse, district, order, customer, lines.len() as i64, all_local]);
    session.execute(INSERT_ORDER, &entered)?;
    session.execute(INSERT_NEW_ORDER, &numbers([warehouse, district, order]))?;
    let mut total = 0;
    for (number, line) in (1..).zip(lines) {
        let Some(item) = session.query(ITEM, &numbers([line.item]))?.into_iter().next() else {
            return Ok(Done::RolledBack);
        };
        let stock = row(session, STOCK, &numbers([district, line.supplier, line.item]), "a row of stock")?;
        let left = stock[0].int() - line.quantity;
        let left = if left >= 10 { left } else { left + 91 };
        let remote = i64::from(line.supplier != warehouse);
        let taken = numbers([left, line.quantity, remote, line.supplier, line.item]);
        change(session, UPDATE_STOCK, &taken, "a row of stock")?;
        let amount = item[0].int() * line.quantity;
        total += amount;
        let mut values = numbers([warehouse, district, order, number, line.item, line.supplier]).to_vec();
        values.extend([Value::Int(line.quantity), Value::Int(amount), stock[2].clone()]);
        session.execute(INSERT_LINE, &values)?;
    }
    // What the terminal would show.
    let _shown = total * (10_000 - buyer[0].int()) * (10_000 + buyer[3].int() + next[1].int());
    Ok(COMMITTED)
}

/// The customer's number: of those of one name the middle one in the order of first names, rounded up.
fn identify(
    session: &mut dyn Statements,
    warehouse: i64,
    district: i64,
    customer: &Customer,
) -> Outcome<i64> {
    let name = match customer {
        Customer::Id(id) => return Ok(*id),
        Customer::Name(name) => name,
    };
    let values = [Value::Int(warehouse), Value::Int(district), Value::Text(name.clone())];
    let rows = session.query(BY_NAME, &values)?;
    let middle = rows.len().div_ceil(2).saturating_sub(1);
    rows.get(middle).map(|row| row[0].int()).ok_or_else(|| session.damaged("a customer of a last name"))
}

fn payment(session: &mut dyn Statements, input: &Payment) -> Outcome<Done> {
    let Payment { warehouse, district, customer_warehouse, customer_district, ref customer, amount } = *input;
    change(session, PAY_WAREHOUSE, &numbers([amount, warehouse]), "a warehouse")?;
    let paid_warehouse = row(session, WAREHOUSE, &numbers([warehouse]), "a warehouse")?;
    change(session, PAY_DISTRICT, &numbers([amount, warehouse, district]), "a district")?;
    let paid_district = row(session, DISTRICT, &numbers([warehouse, district]), "a district")?;
    let customer = identify(session, customer_warehouse, customer_district, customer)?;
    let who = numbers([customer_warehouse, customer_district, customer]);
    let payer = row(session, PAYER, &who, "a customer")?;
    if payer[CREDIT].text() == "BC" {
        let data = row(session, PAYER_DATA, &who, "a customer")?;
        let mut text = format!(
            "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {amount}|{}",
            data[0].text()
        );
        // ASCII, of our own making.
        text.truncate(500);
        let mut values = numbers([amount, amount]).to_vec();
        values.push(Value::Text(text));
        values.extend(who);
        change(session, PAID_DATA, &values, "a customer")?;
    } else {
        let values = numbers([amount, amount, customer_warehouse, customer_district, customer]);
        change(session, PAID, &values, "a customer")?;
    }
    let history = format!("{}    {}", paid_warehouse[0].text(), paid_district[0].text());
    let mut values =
        numbers([customer, customer_district, customer_warehouse, district, warehouse, amount]).to_vec();
    values.push(Value::Text(history));
    session.execute(INSERT_HISTORY, &values)?;
    Ok(COMMITTED)
}

fn order_status(session: &mut dyn Statements, input: &OrderStatus) -> Outcome<Done> {
    let OrderStatus { warehouse, district, ref customer } = *input;
    let customer = identify(session, warehouse, district, customer)?;
    let who = numbers([warehouse, district, customer]);
    row(session, BALANCE, &who, "a customer")?;
    let order = row(session, LAST_ORDER, &who, "an order")?;
    session.query(LINES, &numbers([warehouse, district, order[0].int()]))?;
    Ok(COMMITTED)
}

fn delivery(session: &mut dyn Statements, input: &Delivery) -> Outcome<Done> {
    let Delivery { warehouse, carrier } = *input;
    let mut skipped = 0;
    for district in 1..=i64::from(DISTRICTS) {
        let Some(order) = oldest(session, warehouse, district)? else {
            skipped += 1;
            continue;
        };
        let which = numbers([warehouse, district, order]);
        let buyer = row(session, BUYER, &which, "an order")?[0].int();
        change(session, CARRY, &numbers([carrier, warehouse, district, order]), "an order")?;
        session.execute(DELIVERED, &which)?;
        let amount = row(session, AMOUNT, &which, "the lines of an order")?[0].int();
        change(session, CHARGE, &numbers([amount, warehouse, district, buyer]), "a customer")?;
    }
    Ok(Done::Committed { skipped })
}

/// Takes the oldest order of a district that has not been delivered.
fn oldest(session: &mut dyn Statements, warehouse: i64, district: i64) -> Outcome<Option<i64>> {
    for _ in 0..LOOKS {
        let rows = session.query(OLDEST, &numbers([warehouse, district]))?;
        let Some(order) = rows.first().map(|row| row[0].int()) else { continue };
        if session.execute(TAKE_OLDEST, &numbers([warehouse, district, order]))? == 1 {
            return Ok(Some(order));
        }
    }
    Ok(None)
}

fn stock_level(session: &mut dyn Statements, input: &StockLevel) -> Outcome<Done> {
    let StockLevel { warehouse, district, threshold } = *input;
    let next = row(session, NEXT, &numbers([warehouse, district]), "a district")?[0].int();
    session.query(LOW_STOCK, &numbers([warehouse, district, next - 20, next, warehouse, threshold]))?;
    Ok(COMMITTED)
}
