//! What TPROC-C needs of a database.

use std::ops::ControlFlow;
use std::sync::Arc;

use iolite_db::{Error, Instance, Result};
use iolite_model::{Bytes, CheckpointReading, ErrorCause};

use super::input::Transaction;
use super::layout::Layout;

/// Called while something long is done: rows that are there, of so many. [`ControlFlow::Break`] ends it with
/// [`Error::Cancelled`].
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// A value of a column, or of a statement's parameter. Amounts are whole cents, taxes and discounts ten-thousandths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A text; those of a build are letters, digits and blanks.
    Text(String),
    /// None.
    Null,
}

impl Value {
    /// The number; 0 for anything else.
    pub fn int(&self) -> i64 {
        match self {
            Value::Int(value) => *value,
            Value::Text(_) | Value::Null => 0,
        }
    }

    /// The text; empty for anything else.
    pub fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            Value::Int(_) | Value::Null => "",
        }
    }
}

/// The nine tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Warehouses.
    Warehouse,
    /// Districts, ten to a warehouse.
    District,
    /// Customers.
    Customer,
    /// Payments.
    History,
    /// Orders.
    Orders,
    /// Orders that have not been delivered.
    NewOrder,
    /// Lines of orders.
    OrderLine,
    /// What warehouses have of each item.
    Stock,
    /// Items.
    Item,
}

impl Table {
    /// All of them, in an order in which they can be dropped.
    pub const ALL: [Table; 9] = [
        Table::Warehouse,
        Table::District,
        Table::Customer,
        Table::History,
        Table::Orders,
        Table::NewOrder,
        Table::OrderLine,
        Table::Stock,
        Table::Item,
    ];

    /// Its name within ours.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::Orders => "orders",
            Table::NewOrder => "new_order",
            Table::OrderLine => "order_line",
            Table::Stock => "stock",
            Table::Item => "item",
        }
    }
}

/// What came of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It committed. Of a Delivery: districts that had no order to deliver.
    Committed {
        /// Districts without an order to deliver.
        skipped: u32,
    },
    /// A New-Order with an item that does not exist: it was rolled back, as it should.
    RolledBack,
    /// The database has ended it as a deadlock's victim: it is to be repeated.
    Again,
    /// The database has ended it because it waited too long for a lock: it may be repeated.
    NoLock,
}

/// A database in which TPROC-C can run.
pub trait Database: Send + Sync {
    /// The instance that it is in.
    fn instance(&self) -> Arc<dyn Instance>;

    /// Whether it has procedures of its own.
    fn has_procedures(&self) -> bool;

    /// Workers that load at the same time, of those wished for.
    fn loaders(&self, wished: u32) -> u32 {
        wished
    }

    /// Whether its tables can be partitioned.
    fn partitions_tables(&self) -> bool {
        false
    }

    /// Creates the empty tables, marked as ours and unfinished.
    ///
    /// # Errors
    /// [`Error::Exists`] when they are there, [`Error::Incomplete`] after a build that did not end, [`Error::Foreign`],
    /// [`Error::Engine`].
    fn create(&self, layout: Layout) -> Result<()>;

    /// A way to load rows.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn loader(&self) -> Result<Box<dyn Loader>>;

    /// When all rows are there: indexes, procedures, statistics; marks the database as finished.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn finish(&self) -> Result<()>;

    /// What it holds.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Incomplete`], [`Error::Foreign`], [`Error::Engine`].
    fn layout(&self) -> Result<Layout>;

    /// Removes what [`create`](Database::create) and what followed have made, and nothing else.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::Engine`].
    fn purge(&self) -> Result<()>;

    /// Whether the rows of the table of warehouses can be spread over pages.
    fn spreads_warehouses(&self) -> bool {
        false
    }

    /// Rebuilds the table of warehouses with one row per page, or as it was built; nothing if it is so already. Waits for sessions
    /// that use the table.
    ///
    /// # Errors
    /// [`Error::Engine`]; [`Error::Unsupported`] unless it [spreads them](Database::spreads_warehouses).
    fn spread_warehouses(&self, spread: bool) -> Result<()> {
        match spread {
            false => Ok(()),
            true => Err(Error::Unsupported {
                database: "this database",
                what: "spread the rows of warehouses over pages",
                remedy: ErrorCause::OneWriter,
            }),
        }
    }

    /// Why it can't be copied for a run, with what to do instead; `None` where it can.
    fn why_not_copied(&self) -> Option<ErrorCause> {
        None
    }

    /// A copy of it as it is now, for a run to change; the copy of an earlier run that was killed is replaced. Nobody else may use the
    /// database meanwhile. Where it fails, or `stop` says that it is to end, no copy is left.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where [`why_not_copied`](Database::why_not_copied) has a reason; those of
    /// [`remove_copy`](Database::remove_copy); [`Error::Cancelled`].
    fn copy(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Arc<dyn Database>>;

    /// Removes the copy of this database, if there is one.
    ///
    /// # Errors
    /// [`Error::Unmarked`] where nothing shows that iolite created it, [`Error::Busy`] where another run may be using it,
    /// [`Error::Engine`].
    fn remove_copy(&self) -> Result<()> {
        Ok(())
    }

    /// The command that removes the copy by hand.
    fn copy_removal(&self) -> String {
        String::new()
    }

    /// Bytes that a copy takes.
    ///
    /// # Errors
    /// [`Error::Engine`], [`Error::Io`].
    fn copied_bytes(&self) -> Result<Bytes> {
        Ok(Bytes(self.layout()?.bytes()))
    }

    /// The same start for each run: everything committed is in the data files, statistics are up to date.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn settle(&self) -> Result<()>;

    /// The session of a user, opened on the user's own thread; with `procedures`, transactions are calls of those.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn session(&self, procedures: bool) -> Result<Box<dyn Session>>;

    /// A session that reads counters and checks consistency.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn reader(&self) -> Result<Box<dyn Reader>>;
}

/// Takes rows in bulk, one table after the other.
pub trait Loader {
    /// Begins with a table.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn begin(&mut self, table: Table) -> Result<()>;

    /// Takes a row, all columns in the order of the table.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn row(&mut self, row: &[Value]) -> Result<()>;

    /// The table's rows are complete: they are committed.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn end(&mut self) -> Result<()>;
}

/// A virtual user's session.
pub trait Session {
    /// Does a transaction to its end.
    ///
    /// # Errors
    /// [`Error::Engine`] for anything but a deadlock or a lock that can't be had.
    fn perform(&mut self, transaction: &Transaction) -> Result<Done>;

    /// The user has ended: a server that counts a session's transactions only from time to time is to count them now, for
    /// [`Reader::transactions`].
    fn be_counted(&mut self) {}
}

/// Reads what there is, beside the users.
pub trait Reader: Send {
    /// Sum of `d_next_o_id` over all districts.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn orders(&mut self) -> Result<u64>;

    /// Commits and rollbacks that the server has counted; `None` where it counts none.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn transactions(&mut self) -> Result<Option<u64>>;

    /// What the database reports of its checkpoints now; `None` where it has none, or does not report them to this account.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn checkpoints(&mut self) -> Result<Option<CheckpointReading>> {
        Ok(None)
    }

    /// The rows of a query of ours whose columns are whole numbers.
    ///
    /// # Errors
    /// [`Error::Engine`].
    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>>;
}

/// Ends something long where its caller wants that.
pub(super) fn proceed(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}
