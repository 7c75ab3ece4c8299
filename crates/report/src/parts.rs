//! Parts of the JSON document, for documents of another form that hold them too.

pub use crate::json::{ending, stored, warning};
pub use crate::run::phase_json as phase;
