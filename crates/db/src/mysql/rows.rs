//! Rows of an answer in the types that are wanted; an answer of other types is an error. (The methods of the same purpose of
//! [`Queryable`] panic there: a text that is not UTF-8, or NULL where a number was expected, would end the program.)

use mysql::Params;
use mysql::prelude::{FromRow, FromValue, Queryable};
use mysql::{FromValueError, Value};

use crate::lossy::Lossy;

/// See the module.
pub trait Rows: Queryable {
    /// All rows of a query.
    ///
    /// # Errors
    /// The server's; [`mysql::Error::FromRowError`] for a row of other types.
    fn query_rows<T: FromRow>(&mut self, sql: impl AsRef<str>) -> mysql::Result<Vec<T>> {
        self.query_opt(sql.as_ref())?.into_iter().map(|row| row.map_err(mysql::Error::from)).collect()
    }

    /// The first row of a query.
    ///
    /// # Errors
    /// As [`query_rows`](Rows::query_rows).
    fn query_row<T: FromRow>(&mut self, sql: impl AsRef<str>) -> mysql::Result<Option<T>> {
        Ok(self.query_first_opt(sql.as_ref())?.transpose()?)
    }

    /// All rows of a statement with parameters.
    ///
    /// # Errors
    /// As [`query_rows`](Rows::query_rows).
    fn exec_rows<T: FromRow>(
        &mut self,
        statement: impl mysql::prelude::AsStatement,
        parameters: impl Into<Params>,
    ) -> mysql::Result<Vec<T>> {
        self.exec_opt(statement, parameters)?.into_iter().map(|row| row.map_err(mysql::Error::from)).collect()
    }

    /// The first row of a statement with parameters.
    ///
    /// # Errors
    /// As [`query_rows`](Rows::query_rows).
    fn exec_row<T: FromRow>(
        &mut self,
        statement: impl mysql::prelude::AsStatement,
        parameters: impl Into<Params>,
    ) -> mysql::Result<Option<T>> {
        Ok(self.exec_first_opt(statement, parameters)?.transpose()?)
    }
}

impl<Q: Queryable> Rows for Q {}

impl TryFrom<Value> for Lossy {
    type Error = FromValueError;

    fn try_from(value: Value) -> Result<Lossy, FromValueError> {
        match value {
            Value::Bytes(bytes) => Ok(Lossy::of(&bytes)),
            other => Err(FromValueError(other)),
        }
    }
}

impl From<Lossy> for Value {
    fn from(text: Lossy) -> Value {
        Value::Bytes(text.0.into_bytes())
    }
}

impl FromValue for Lossy {
    type Intermediate = Lossy;
}
