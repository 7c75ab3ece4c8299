//! How much there is of everything: the cardinalities of clause 1.2 and 4.3.3, reduced where a test asks for it.

use iolite_db::{Error, Result};

use super::chance::Constants;

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;
/// Items, and rows of stock per warehouse, at full size.
const ITEMS: u32 = 100_000;
/// Customers of a district, and orders it has at the start, at full size.
const CUSTOMERS: u32 = 3000;
/// Last names that there are.
const LAST_NAMES: u32 = 1000;
/// Orders of each ten that have been delivered at the start.
const DELIVERED_OF_TEN: u32 = 7;
/// Most that cardinalities can be divided by: 30 customers and 1000 items are left.
pub const MAX_REDUCED: u32 = 100;
/// Most warehouses: their numbers and orders fit the columns.
pub const MAX_WAREHOUSES: u32 = 100_000;
/// Most partitions of a table: far below the servers' own limits, and each takes files of its own.
pub const MAX_PARTITIONS: u32 = 1024;

/// What a database holds when it has been built, and what its random numbers depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Warehouses, numbered from 1.
    pub warehouses: u32,
    /// Cardinalities are divided by this; 1 is the specification's size.
    pub reduction: u32,
    /// Partitions of the tables with many rows of each warehouse, by hash of the warehouse; 1 where they are not partitioned.
    pub partitions: u32,
    /// Sessions that loaded it at the same time; 0 where an earlier version built it and did not record that.
    pub loaders: u32,
    /// Constants of the non-uniform random numbers that the rows were created with.
    pub constants: Constants,
}

impl Layout {
    /// A database of so many warehouses, with constants drawn anew.
    ///
    /// # Errors
    /// [`Error::Option`] for a size that is none.
    pub fn new(warehouses: u32, reduction: u32, seed: u64) -> Result<Layout> {
        if warehouses == 0 || warehouses > MAX_WAREHOUSES {
            let why = format!("there must be between 1 and {MAX_WAREHOUSES} warehouses");
            return Err(Error::Option { option: "--warehouses", value: warehouses, why });
        }
        if reduction == 0 || reduction > MAX_REDUCED {
            let why = format!("the reduction must be between 1 and {MAX_REDUCED}");
            return Err(Error::Option { option: "--reduction", value: reduction, why });
        }
        Ok(Layout { warehouses, reduction, partitions: 1, loaders: 0, constants: Constants::of_build(seed) })
    }

    /// The same with its large tables in so many partitions.
    ///
    /// # Errors
    /// [`Error::Option`] for a number of which some partitions must be empty, or that is none. PostgreSQL hashes the warehouse: partitions may
    /// be empty or have several warehouses with any number.
    pub fn partitioned(self, partitions: u32) -> Result<Layout> {
        let max = MAX_PARTITIONS.min(self.warehouses);
        if partitions == 0 || partitions > max {
            let why = format!(
                "the number of partitions must be between 1 and {max}: rows are divided by their warehouse, so that more \
                 partitions than warehouses would be empty"
            );
            return Err(Error::Option { option: "--partitions", value: partitions, why });
        }
        Ok(Layout { partitions, ..self })
    }

    /// Items of the catalogue; each warehouse has as many rows of stock.
    pub fn items(&self) -> u32 {
        ITEMS / self.reduction
    }

    /// Customers of a district; as many orders and rows of history at the start.
    pub fn customers(&self) -> u32 {
        CUSTOMERS / self.reduction
    }

    /// Different last names.
    pub fn last_names(&self) -> u32 {
        LAST_NAMES.min(self.customers())
    }

    /// The first order of a district that has not been delivered at the start.
    pub fn first_undelivered(&self) -> u32 {
        self.customers() * DELIVERED_OF_TEN / 10 + 1
    }

    /// Rows of all tables together but the order lines, of which there are ten to an order on average.
    pub fn rows(&self) -> u64 {
        let customers = u64::from(self.customers());
        let undelivered = customers + 1 - u64::from(self.first_undelivered());
        // Customer, history and order; order lines; new orders.
        let district = 1 + 3 * customers + 10 * customers + undelivered;
        let warehouse = 1 + u64::from(self.items()) + u64::from(DISTRICTS) * district;
        u64::from(self.items()) + u64::from(self.warehouses) * warehouse
    }

    /// About what the database takes on disk, in bytes: 100 MB a warehouse at full size.
    pub fn bytes(&self) -> u64 {
        self.rows().saturating_mul(170)
    }

    /// The constant A of NURand for items.
    pub(super) fn item_spread(&self) -> i64 {
        spread(8191, ITEMS, self.items())
    }

    /// The constant A of NURand for customers.
    pub(super) fn customer_spread(&self) -> i64 {
        spread(1023, CUSTOMERS, self.customers())
    }

    /// The constant A of NURand for last names.
    pub(super) fn name_spread(&self) -> i64 {
        spread(255, LAST_NAMES, self.last_names())
    }
}

/// NURand's A for a reduced range: in the same proportion to it as the specification's, and one less than a power of two
/// as that is.
fn spread(full: i64, full_range: u32, range: u32) -> i64 {
    let wanted = full * i64::from(range) / i64::from(full_range);
    let mut spread = full;
    while spread > wanted.max(1) {
        spread /= 2;
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cardinalities_are_the_specification_s() {
        let full = Layout::new(2, 1, 7).unwrap();
        assert_eq!((full.items(), full.customers(), full.last_names()), (100_000, 3000, 1000));
        assert_eq!(full.first_undelivered(), 2101);
        assert_eq!((full.item_spread(), full.customer_spread(), full.name_spread()), (8191, 1023, 255));
        // 100,000 items, and for each warehouse 1 + 100,000 + 10 × (1 + 3000 × 13 + 900).
        assert_eq!(full.rows(), 100_000 + 2 * (1 + 100_000 + 10 * (1 + 39_000 + 900)));
    }

    #[test]
    fn reduced_ones_are_in_proportion() {
        let small = Layout::new(1, 100, 7).unwrap();
        assert_eq!((small.items(), small.customers(), small.last_names()), (1000, 30, 30));
        assert_eq!(small.first_undelivered(), 22);
        assert_eq!((small.item_spread(), small.customer_spread(), small.name_spread()), (63, 7, 7));
        for (warehouses, reduction) in [(0, 1), (1, 0), (1, 101), (100_001, 1)] {
            assert!(Layout::new(warehouses, reduction, 7).is_err());
        }
        for (partitions, fits) in [(0, false), (1, true), (4, true), (5, false)] {
            assert_eq!(Layout::new(4, 100, 7).unwrap().partitioned(partitions).is_ok(), fits, "{partitions}");
        }
    }
}
