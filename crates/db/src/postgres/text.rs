//! Statements of other sessions: a database in SQL_ASCII holds and returns any bytes.

use std::error::Error;

use postgres::types::{FromSql, Type};

use crate::lossy::Lossy;

impl<'a> FromSql<'a> for Lossy {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Lossy, Box<dyn Error + Sync + Send>> {
        Ok(Lossy::of(raw))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN)
    }
}
