//! What each transaction is asked to do (clauses 2.4.1 to 2.8.1), and which one comes next (clause 5.2.4).

use iolite_model::{Nanos, OpClass, OpKind, TooManyKinds};

use super::chance::{Chance, Constants, last_name};
use super::layout::{DISTRICTS, Layout};

/// A transaction with its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transaction {
    /// A customer orders 5 to 15 items.
    NewOrder(NewOrder),
    /// A customer pays.
    Payment(Payment),
    /// The state of a customer's last order.
    OrderStatus(OrderStatus),
    /// The oldest undelivered order of each district is delivered.
    Delivery(Delivery),
    /// Recently sold items of which little is left.
    StockLevel(StockLevel),
}

/// Input of New-Order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    /// Warehouse.
    pub warehouse: i64,
    /// District.
    pub district: i64,
    /// Customer.
    pub customer: i64,
    /// The items; the last one of 1 % of the orders does not exist, which rolls the order back.
    pub lines: Vec<Line>,
}

/// An item of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Item.
    pub item: i64,
    /// Warehouse that supplies it.
    pub supplier: i64,
    /// Quantity.
    pub quantity: i64,
}

/// Who the customer is: by number, or in 60 % of the cases by last name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Customer {
    /// By number.
    Id(i64),
    /// By last name: the middle one of all customers of that name.
    Name(String),
}

/// Input of Payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Warehouse that is paid.
    pub warehouse: i64,
    /// District that is paid.
    pub district: i64,
    /// The customer's warehouse: another one in 15 % of the cases.
    pub customer_warehouse: i64,
    /// The customer's district.
    pub customer_district: i64,
    /// The customer.
    pub customer: Customer,
    /// Amount in cents.
    pub amount: i64,
}

/// Input of Order-Status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderStatus {
    /// Warehouse.
    pub warehouse: i64,
    /// District.
    pub district: i64,
    /// The customer.
    pub customer: Customer,
}

/// Input of Delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Warehouse.
    pub warehouse: i64,
    /// Carrier, 1 to 10.
    pub carrier: i64,
}

/// Input of Stock-Level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockLevel {
    /// Warehouse.
    pub warehouse: i64,
    /// District.
    pub district: i64,
    /// Stock below this is little: 10 to 20.
    pub threshold: i64,
}

/// One of the five transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// New-Order.
    NewOrder,
    /// Payment.
    Payment,
    /// Order-Status.
    OrderStatus,
    /// Delivery.
    Delivery,
    /// Stock-Level.
    StockLevel,
}

impl Kind {
    /// A full deck: ten New-Orders, ten Payments, one of each other (clause 5.2.4.2).
    const DECK: [Kind; 23] = {
        let mut deck = [Kind::NewOrder; 23];
        let mut card = 10;
        while card < 20 {
            deck[card] = Kind::Payment;
            card += 1;
        }
        deck[20] = Kind::OrderStatus;
        deck[21] = Kind::Delivery;
        deck[22] = Kind::StockLevel;
        deck
    };

    /// The kind of operation that it is recorded as.
    ///
    /// # Errors
    /// This process has too many kinds of operations.
    pub fn operation(self) -> Result<OpKind, TooManyKinds> {
        match self {
            Kind::NewOrder => OpKind::of("new-order", OpClass::Write, false),
            Kind::Payment => OpKind::of("payment", OpClass::Write, false),
            Kind::OrderStatus => OpKind::of("order-status", OpClass::Read, false),
            Kind::Delivery => OpKind::of("delivery", OpClass::Write, false),
            Kind::StockLevel => OpKind::of("stock-level", OpClass::Read, false),
        }
    }

    /// The user's time at the keyboard before it (clause 5.2.5.2).
    pub fn keying(self) -> Nanos {
        let seconds = match self {
            Kind::NewOrder => 18,
            Kind::Payment => 3,
            Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 2,
        };
        Nanos(seconds * Nanos::SECOND.0)
    }

    /// The user's mean time of thought after it (clause 5.2.5.4).
    pub fn thinking(self) -> Nanos {
        let seconds = match self {
            Kind::NewOrder | Kind::Payment => 12,
            Kind::OrderStatus => 10,
            Kind::Delivery | Kind::StockLevel => 5,
        };
        Nanos(seconds * Nanos::SECOND.0)
    }
}

impl Transaction {
    /// Which of the five it is.
    pub fn kind(&self) -> Kind {
        match self {
            Transaction::NewOrder(_) => Kind::NewOrder,
            Transaction::Payment(_) => Kind::Payment,
            Transaction::OrderStatus(_) => Kind::OrderStatus,
            Transaction::Delivery(_) => Kind::Delivery,
            Transaction::StockLevel(_) => Kind::StockLevel,
        }
    }
}

/// A virtual user: the transactions it asks for, one after the other; the same for the same seed.
#[derive(Debug, Clone)]
pub struct User {
    layout: Layout,
    constants: Constants,
    chance: Chance,
    /// Number of its home warehouse.
    home: i64,
    /// Its district, for Stock-Level.
    district: i64,
    all_warehouses: bool,
    deck: Vec<Kind>,
}

impl User {
    /// User `number`, from 0, of a run with this seed. Users are spread over the warehouses, and those of one warehouse over
    /// its districts.
    pub fn new(layout: Layout, number: u32, seed: u64, all_warehouses: bool) -> User {
        User {
            layout,
            // The same for all users of a run.
            constants: layout.constants.of_run(seed),
            chance: Chance::new(seed, number),
            home: i64::from(number % layout.warehouses) + 1,
            district: i64::from(number / layout.warehouses % DISTRICTS) + 1,
            all_warehouses,
            deck: Vec::new(),
        }
    }

    /// Its chance, for the times between transactions.
    pub fn chance(&mut self) -> &mut Chance {
        &mut self.chance
    }

    /// The next transaction.
    pub fn next_transaction(&mut self) -> Transaction {
        if self.deck.is_empty() {
            self.deck.extend(Kind::DECK);
            self.chance.shuffle(&mut self.deck);
        }
        match self.deck.pop().unwrap_or(Kind::NewOrder) {
            Kind::NewOrder => Transaction::NewOrder(self.new_order()),
            Kind::Payment => Transaction::Payment(self.payment()),
            Kind::OrderStatus => Transaction::OrderStatus(OrderStatus {
                warehouse: self.warehouse(),
                district: self.any_district(),
                customer: self.customer(),
            }),
            Kind::Delivery => Transaction::Delivery(Delivery {
                warehouse: self.warehouse(),
                carrier: self.chance.uniform(1, 10),
            }),
            Kind::StockLevel => Transaction::StockLevel(StockLevel {
                warehouse: self.warehouse(),
                district: self.district,
                threshold: self.chance.uniform(10, 20),
            }),
        }
    }

    fn new_order(&mut self) -> NewOrder {
        let warehouse = self.warehouse();
        let (district, customer) = (self.any_district(), self.customer_id());
        let count = self.chance.uniform(5, 15);
        let rolled_back = self.chance.percent(1);
        let lines = (1..=count).map(|number| {
            // An unused item number, on the last line.
            let unused = rolled_back && number == count;
            let item = if unused { i64::from(self.layout.items()) + 1 } else { self.item() };
            let supplier = if self.chance.percent(1) { self.other(warehouse) } else { warehouse };
            Line { item, supplier, quantity: self.chance.uniform(1, 10) }
        });
        let lines = lines.collect();
        NewOrder { warehouse, district, customer, lines }
    }

    fn payment(&mut self) -> Payment {
        let (warehouse, district) = (self.warehouse(), self.any_district());
        let (customer_warehouse, customer_district) = if self.chance.percent(85) {
            (warehouse, district)
        } else {
            (self.other(warehouse), self.any_district())
        };
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer(),
            amount: self.chance.uniform(100, 500_000),
        }
    }

    fn warehouse(&mut self) -> i64 {
        match self.all_warehouses {
            true => self.chance.uniform(1, self.layout.warehouses.into()),
            false => self.home,
        }
    }

    /// Any warehouse but this one, where there is another.
    fn other(&mut self, warehouse: i64) -> i64 {
        let warehouses = i64::from(self.layout.warehouses);
        if warehouses == 1 {
            return warehouse;
        }
        let other = self.chance.uniform(1, warehouses - 1);
        other + i64::from(other >= warehouse)
    }

    fn any_district(&mut self) -> i64 {
        self.chance.uniform(1, DISTRICTS.into())
    }

    fn customer(&mut self) -> Customer {
        if self.chance.percent(60) {
            let names = i64::from(self.layout.last_names());
            let spread = self.layout.name_spread();
            Customer::Name(last_name(self.chance.non_uniform(spread, self.constants.name, 0, names - 1)))
        } else {
            Customer::Id(self.customer_id())
        }
    }

    fn customer_id(&mut self) -> i64 {
        let (spread, last) = (self.layout.customer_spread(), self.layout.customers().into());
        self.chance.non_uniform(spread, self.constants.customer, 1, last)
    }

    fn item(&mut self) -> i64 {
        let (spread, last) = (self.layout.item_spread(), self.layout.items().into());
        self.chance.non_uniform(spread, self.constants.item, 1, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(warehouses: u32, all: bool) -> User {
        User::new(Layout::new(warehouses, 1, 5).unwrap(), 3, 9, all)
    }

    #[test]
    fn each_deck_holds_the_specification_s_mix() {
        let mut user = user(2, false);
        for _ in 0..4 {
            let mut counts = [0; 5];
            (0..23).for_each(|_| counts[user.next_transaction().kind() as usize] += 1);
            assert_eq!(counts, [10, 10, 1, 1, 1]);
        }
    }

    #[test]
    fn inputs_have_their_shares() {
        let mut user = user(5, false);
        let (mut orders, mut lines, mut remote, mut rolled_back) = (0.0, 0.0, 0.0, 0.0);
        let (mut payments, mut away, mut names) = (0.0, 0.0, 0.0);
        for _ in 0..60_000 {
            match user.next_transaction() {
                Transaction::NewOrder(order) => {
                    assert_eq!(order.warehouse, 4);
                    assert!((5..=15).contains(&order.lines.len()) && (1..=10).contains(&order.district));
                    orders += 1.0;
                    lines += order.lines.len() as f64;
                    remote += order.lines.iter().filter(|line| line.supplier != 4).count() as f64;
                    let unused = |line: &Line| line.item == 100_001;
                    let at = order.lines.iter().position(unused);
                    assert!(at.is_none_or(|at| at + 1 == order.lines.len()));
                    rolled_back += f64::from(at.is_some());
                }
                Transaction::Payment(payment) => {
                    payments += 1.0;
                    away += f64::from(payment.customer_warehouse != 4);
                    names += f64::from(matches!(payment.customer, Customer::Name(_)));
                }
                _ => {}
            }
        }
        assert!((lines / orders - 10.0_f64).abs() < 0.15, "{}", lines / orders);
        for (share, expected, slack) in [
            (remote / lines, 0.01, 0.002),
            (rolled_back / orders, 0.01, 0.004),
            (away / payments, 0.15, 0.015),
            (names / payments, 0.6, 0.02),
        ] {
            let share: f64 = share;
            assert!((share - expected).abs() < slack, "{share} instead of {expected}");
        }
    }

    #[test]
    fn users_are_at_home_or_everywhere() {
        let homes = |all| {
            let mut user = user(5, all);
            let mut homes: Vec<i64> = (0..2000)
                .filter_map(|_| match user.next_transaction() {
                    Transaction::NewOrder(order) => Some(order.warehouse),
                    _ => None,
                })
                .collect();
            homes.sort_unstable();
            homes.dedup();
            homes
        };
        assert_eq!(homes(false), [4]);
        assert_eq!(homes(true), [1, 2, 3, 4, 5]);
        let mut alone = User::new(Layout::new(1, 100, 5).unwrap(), 0, 1, true);
        assert!((0..500).all(|_| match alone.next_transaction() {
            Transaction::Payment(payment) => payment.customer_warehouse == 1,
            _ => true,
        }));
    }

    #[test]
    fn a_seed_gives_the_same_transactions() {
        let list = |mut user: User| (0..100).map(|_| user.next_transaction()).collect::<Vec<_>>();
        assert_eq!(list(user(3, true)), list(user(3, true)));
    }
}
