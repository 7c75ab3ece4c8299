//! Rows as structs, by serde: a column has the name of its field, or that behind a prefix; lists and objects are JSON.

use rusqlite::types::{Value as SqlValue, ValueRef};
use rusqlite::{Connection, Params, params_from_iter};
use serde::de::value::{Error as ColumnError, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::Value;

use crate::error::Error;
use crate::store::Store;

/// Where a row goes: the connection, the run, and the number of the event.
pub(crate) struct Row<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) run: &'a str,
    pub(crate) sequence: i64,
}

/// Failures of one event, before the path of the database is known.
pub(crate) enum Failure {
    /// SQLite's answer.
    Sql(rusqlite::Error),
    /// Anything else.
    Other(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::Sql(error)
    }
}

pub(crate) type Outcome = Result<(), Failure>;

/// Columns with their values.
pub(crate) type Columns = Vec<(String, SqlValue)>;

/// The columns of a struct, their names behind a prefix.
pub(crate) fn columns(prefix: &str, of: &'static str, value: &impl Serialize) -> Result<Columns, Failure> {
    let fields = match json(of, serde_json::to_value(value))? {
        Value::Object(fields) => fields,
        // Of what is absent there are no columns.
        _ => serde_json::Map::new(),
    };
    let column = |(name, value)| {
        let value = match value {
            Value::Null => SqlValue::Null,
            Value::Bool(value) => value.into(),
            Value::Number(number) => match number.as_u64() {
                Some(whole) => integer(whole).into(),
                None => number.as_i64().map_or_else(|| number.as_f64().into(), SqlValue::Integer),
            },
            Value::String(text) => text.into(),
            list => list.to_string().into(),
        };
        (format!("{prefix}{name}"), value)
    };
    Ok(fields.into_iter().map(column).collect())
}

/// SQLite's integers are signed; what does not fit (292 years in nanoseconds, 8 EiB) becomes the largest.
pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn json<T>(what: &'static str, value: serde_json::Result<T>) -> Result<T, Failure> {
    value.map_err(|source| Failure::Other(Error::Json { what, source }))
}

/// Columns by their names.
pub(crate) fn cells<const N: usize>(
    cells: [(&str, SqlValue); N],
) -> impl Iterator<Item = (String, SqlValue)> {
    cells.into_iter().map(|(name, value)| (name.to_owned(), value))
}

impl Row<'_> {
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(params)
    }

    /// Inserts a row of the run.
    pub(crate) fn insert(&self, table: &str, columns: Columns) -> Outcome {
        let of_run = cells([("run", self.run.to_owned().into())]);
        self.insert_whole(table, columns.into_iter().chain(of_run))
    }

    pub(crate) fn insert_whole(&self, table: &str, row: impl Iterator<Item = (String, SqlValue)>) -> Outcome {
        let (names, values): (Vec<_>, Vec<_>) = row.unzip();
        let places: Vec<_> = (1..=names.len()).map(|place| format!("?{place}")).collect();
        let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), places.join(", "));
        self.execute(&sql, params_from_iter(values))?;
        Ok(())
    }

    /// Inserts rows in their order, each with what they have in common.
    pub(crate) fn insert_all<T: Serialize>(
        &self,
        table: &'static str,
        common: &[(&str, i64)],
        rows: &[T],
    ) -> Outcome {
        for (position, value) in rows.iter().enumerate() {
            let mut row = columns("", table, value)?;
            row.extend(common.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
            row.extend(cells([("position", integer(position as u64).into())]));
            self.insert(table, row)?;
        }
        Ok(())
    }

    /// Changes the rows that have these keys, and returns how many that were.
    pub(crate) fn update<const N: usize>(
        &self,
        table: &str,
        set: Columns,
        keys: [(&str, SqlValue); N],
    ) -> rusqlite::Result<usize> {
        let (names, mut values): (Vec<_>, Vec<_>) = set.into_iter().unzip();
        let set: Vec<_> = names.iter().map(|name| format!("{name} = ?")).collect();
        let condition = keys.each_ref().map(|(name, _)| format!("{name} = ?"));
        values.extend(keys.map(|(_, value)| value));
        let sql = format!("UPDATE {table} SET {} WHERE {}", set.join(", "), condition.join(" AND "));
        self.execute(&sql, params_from_iter(values))
    }
}

impl Store {
    /// A struct out of the columns of a row that begin with the prefix.
    pub(crate) fn structure<T: DeserializeOwned>(
        &self,
        row: &rusqlite::Row<'_>,
        prefix: &str,
        what: &'static str,
    ) -> Result<T, Error> {
        let names = row.as_ref().column_names();
        let named = names.enumerate().filter_map(|(at, name)| Some((at, name.strip_prefix(prefix)?)));
        let column = |(at, name)| row.get_ref(at).map(|value| (name, Column(value)));
        let columns: Vec<_> =
            named.map(column).collect::<Result<_, _>>().map_err(|source| self.reading(source))?;
        T::deserialize(MapDeserializer::new(columns.into_iter()))
            .map_err(|error: ColumnError| self.unreadable(what, error))
    }
}

/// A value of a row.
#[derive(Clone, Copy)]
struct Column<'a>(ValueRef<'a>);

impl<'a> Column<'a> {
    fn text(self) -> Result<&'a str, ColumnError> {
        self.0.as_str().map_err(ColumnError::custom)
    }
}

impl<'de> IntoDeserializer<'de> for Column<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Column<'de> {
    type Error = ColumnError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ColumnError> {
        match self.0 {
            ValueRef::Null => visitor.visit_unit(),
            ValueRef::Integer(value) => match u64::try_from(value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(value),
            },
            ValueRef::Real(value) => visitor.visit_f64(value),
            ValueRef::Text(_) => visitor.visit_borrowed_str(self.text()?),
            ValueRef::Blob(bytes) => visitor.visit_borrowed_bytes(bytes),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ColumnError> {
        if self.0 == ValueRef::Null { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ColumnError> {
        visitor.visit_bool(self.0.as_i64().map_err(ColumnError::custom)? != 0)
    }

    /// SQLite knows no "not a number" and stores it as NULL.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ColumnError> {
        if self.0 == ValueRef::Null { visitor.visit_f64(f64::NAN) } else { self.deserialize_any(visitor) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ColumnError> {
        serde_json::Deserializer::from_str(self.text()?).deserialize_seq(visitor).map_err(ColumnError::custom)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ColumnError> {
        serde_json::Deserializer::from_str(self.text()?).deserialize_map(visitor).map_err(ColumnError::custom)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ColumnError> {
        visitor.visit_enum(self.text()?.into_deserializer())
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct struct identifier ignored_any
    }
}
