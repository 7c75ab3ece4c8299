//! The rows of a new database (clause 4.3.3), table by table, for whichever way a database takes rows in bulk.

use iolite_db::Result;

use super::chance::{Chance, last_name};
use super::contract::{Loader, Table, Value};
use super::layout::{DISTRICTS, Layout};

/// The instant that rows of a new database carry.
const BUILT: &str = "2000-01-01 00:00:00";
/// What each customer has paid before, in cents.
const PAID: i64 = 1000;

/// Creates rows and passes them on.
pub(super) struct Population<'a> {
    layout: Layout,
    chance: Chance,
    loader: &'a mut dyn Loader,
    /// Called with the rows that are there.
    rows: &'a mut dyn FnMut(u64) -> Result<()>,
}

impl<'a> Population<'a> {
    /// The part of a build with this number: each has random values of its own.
    pub(super) fn new(
        layout: Layout,
        seed: u64,
        part: u32,
        loader: &'a mut dyn Loader,
        rows: &'a mut dyn FnMut(u64) -> Result<()>,
    ) -> Population<'a> {
        Population { layout, chance: Chance::new(seed, part), loader, rows }
    }

    /// The catalogue of items, which all warehouses share.
    pub(super) fn items(&mut self) -> Result<()> {
        self.loader.begin(Table::Item)?;
        for item in 1..=i64::from(self.layout.items()) {
            let chance = &mut self.chance;
            let row = [
                Value::Int(item),
                Value::Int(chance.uniform(1, 10_000)),
                Value::Text(chance.text(14, 24)),
                Value::Int(chance.uniform(100, 10_000)),
                Value::Text(chance.data()),
            ];
            self.row(&row)?;
        }
        self.loader.end()
    }

    /// A warehouse with all that belongs to it.
    pub(super) fn warehouse(&mut self, warehouse: i64) -> Result<()> {
        self.loader.begin(Table::Warehouse)?;
        let paid = PAID * i64::from(self.layout.customers());
        let mut row = vec![Value::Int(warehouse), Value::Text(self.chance.text(6, 10))];
        row.extend(self.address());
        row.push(Value::Int(self.chance.uniform(0, 2000)));
        row.push(Value::Int(paid * i64::from(DISTRICTS)));
        self.row(&row)?;
        self.loader.end()?;
        self.stock(warehouse)?;
        self.loader.begin(Table::District)?;
        for district in 1..=i64::from(DISTRICTS) {
            let mut row =
                vec![Value::Int(warehouse), Value::Int(district), Value::Text(self.chance.text(6, 10))];
            row.extend(self.address());
            row.push(Value::Int(self.chance.uniform(0, 2000)));
            row.push(Value::Int(paid));
            row.push(Value::Int(i64::from(self.layout.customers()) + 1));
            self.row(&row)?;
        }
        self.loader.end()?;
        self.customers(warehouse)?;
        self.history(warehouse)?;
        self.orders(warehouse)
    }

    fn stock(&mut self, warehouse: i64) -> Result<()> {
        self.loader.begin(Table::Stock)?;
        for item in 1..=i64::from(self.layout.items()) {
            let mut row = vec![Value::Int(warehouse), Value::Int(item)];
            row.push(Value::Int(self.chance.uniform(10, 100)));
            row.extend((0..DISTRICTS).map(|_| Value::Text(self.chance.text(24, 24))));
            row.extend([Value::Int(0), Value::Int(0), Value::Int(0)]);
            row.push(Value::Text(self.chance.data()));
            self.row(&row)?;
        }
        self.loader.end()
    }

    fn customers(&mut self, warehouse: i64) -> Result<()> {
        self.loader.begin(Table::Customer)?;
        for district in 1..=i64::from(DISTRICTS) {
            for customer in 1..=i64::from(self.layout.customers()) {
                let row = self.customer(warehouse, district, customer);
                self.row(&row)?;
            }
        }
        self.loader.end()
    }

    fn customer(&mut self, warehouse: i64, district: i64, customer: i64) -> Vec<Value> {
        let names = i64::from(self.layout.last_names());
        // Each name is borne by one of the first customers at least.
        let name = if customer <= names {
            customer - 1
        } else {
            let constant = self.layout.constants.name;
            self.chance.non_uniform(self.layout.name_spread(), constant, 0, names - 1)
        };
        let mut row = vec![Value::Int(warehouse), Value::Int(district), Value::Int(customer)];
        row.push(Value::Text(self.chance.text(8, 16)));
        row.push(Value::Text("OE".into()));
        row.push(Value::Text(last_name(name)));
        row.extend(self.address());
        row.push(Value::Text(self.chance.digits(16)));
        row.push(Value::Text(BUILT.into()));
        // One in ten has bad credit.
        row.push(Value::Text(if self.chance.percent(10) { "BC" } else { "GC" }.into()));
        row.push(Value::Int(5_000_000));
        row.push(Value::Int(self.chance.uniform(0, 5000)));
        row.extend([Value::Int(-PAID), Value::Int(PAID), Value::Int(1), Value::Int(0)]);
        row.push(Value::Text(self.chance.text(300, 500)));
        row
    }

    fn history(&mut self, warehouse: i64) -> Result<()> {
        self.loader.begin(Table::History)?;
        for district in 1..=i64::from(DISTRICTS) {
            for customer in 1..=i64::from(self.layout.customers()) {
                let row = [
                    Value::Int(customer),
                    Value::Int(district),
                    Value::Int(warehouse),
                    Value::Int(district),
                    Value::Int(warehouse),
                    Value::Text(BUILT.into()),
                    Value::Int(PAID),
                    Value::Text(self.chance.text(12, 24)),
                ];
                self.row(&row)?;
            }
        }
        self.loader.end()
    }

    fn orders(&mut self, warehouse: i64) -> Result<()> {
        let undelivered = i64::from(self.layout.first_undelivered());
        for district in 1..=i64::from(DISTRICTS) {
            let mut customers: Vec<i64> = (1..=i64::from(self.layout.customers())).collect();
            self.chance.shuffle(&mut customers);
            let lines: Vec<i64> = customers.iter().map(|_| self.chance.uniform(5, 15)).collect();
            self.loader.begin(Table::Orders)?;
            for ((order, customer), lines) in (1..).zip(&customers).zip(&lines) {
                let carrier =
                    if order < undelivered { Value::Int(self.chance.uniform(1, 10)) } else { Value::Null };
                let row = [
                    Value::Int(warehouse),
                    Value::Int(district),
                    Value::Int(order),
                    Value::Int(*customer),
                    Value::Text(BUILT.into()),
                    carrier,
                    Value::Int(*lines),
                    Value::Int(1),
                ];
                self.row(&row)?;
            }
            self.loader.end()?;
            self.order_lines(warehouse, district, &lines)?;
            self.loader.begin(Table::NewOrder)?;
            for order in undelivered..=i64::from(self.layout.customers()) {
                self.row(&[Value::Int(warehouse), Value::Int(district), Value::Int(order)])?;
            }
            self.loader.end()?;
        }
        Ok(())
    }

    fn order_lines(&mut self, warehouse: i64, district: i64, lines: &[i64]) -> Result<()> {
        let undelivered = i64::from(self.layout.first_undelivered());
        self.loader.begin(Table::OrderLine)?;
        for (order, lines) in (1..).zip(lines) {
            let delivered = order < undelivered;
            for number in 1..=*lines {
                let amount = if delivered { 0 } else { self.chance.uniform(1, 999_999) };
                let row = [
                    Value::Int(warehouse),
                    Value::Int(district),
                    Value::Int(order),
                    Value::Int(number),
                    Value::Int(self.chance.uniform(1, self.layout.items().into())),
                    Value::Int(warehouse),
                    if delivered { Value::Text(BUILT.into()) } else { Value::Null },
                    Value::Int(5),
                    Value::Int(amount),
                    Value::Text(self.chance.text(24, 24)),
                ];
                self.row(&row)?;
            }
        }
        self.loader.end()
    }

    /// Two streets, a city, a state and a ZIP code.
    fn address(&mut self) -> [Value; 5] {
        let chance = &mut self.chance;
        [
            Value::Text(chance.text(10, 20)),
            Value::Text(chance.text(10, 20)),
            Value::Text(chance.text(10, 20)),
            Value::Text(chance.text(2, 2).to_ascii_uppercase()),
            Value::Text(chance.zip()),
        ]
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        self.loader.row(row)?;
        (self.rows)(1)
    }
}
