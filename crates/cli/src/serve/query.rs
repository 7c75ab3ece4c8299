//! The query of a URL.

use percent_encoding::percent_decode_str;

/// The fields of a query, in order.
pub(super) struct Query(Vec<(String, String)>);

/// Path and query of a URL.
pub(super) fn split(url: &str) -> (&str, &str) {
    url.split_once('?').unwrap_or((url, ""))
}

/// A text as it was before it became part of a URL.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl Query {
    /// The fields of a query as forms send it.
    pub(super) fn of(query: &str) -> Query {
        let field = |field: &str| {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            (decoded(name), decoded(&value.replace('+', " ")))
        };
        Query(query.split('&').filter(|text| !text.is_empty()).map(field).collect())
    }

    /// All values of a field.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(had, _)| had == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a field.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(had, _)| had == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded() {
        let query = Query::of("before=a&before=b%26c&text=two+words%2B&empty=&%ff=x&&alone");
        assert_eq!(query.all("before").collect::<Vec<_>>(), ["a", "b&c"]);
        assert_eq!((query.first("text"), query.first("empty")), (Some("two words+"), Some("")));
        assert_eq!((query.first("alone"), query.first("missing")), (Some(""), None));
        assert_eq!((split("/a?b?c"), split("/a")), (("/a", "b?c"), ("/a", "")));
    }
}
