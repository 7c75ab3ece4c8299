//! Errors of one worker's operations: counted by class and kind, with where they happened first.

use iolite_model::{ErrorClass, ErrorTally, OnError, OpKind};

/// The errors of a worker.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    tallies: Vec<ErrorTally>,
    count: u64,
}

impl Errors {
    /// Counts an error. `what`, asked for the first of its class and kind, says it in words, with the error number.
    pub(crate) fn note(
        &mut self,
        kind: OpKind,
        class: ErrorClass,
        offset: u64,
        what: impl FnOnce() -> (String, Option<i32>),
    ) {
        self.count += 1;
        let known = self.tallies.iter().position(|tally| (tally.kind, tally.class) == (kind, class));
        let index = known.unwrap_or_else(|| {
            let (first, number) = what();
            let first_offsets = Vec::new();
            self.tallies.push(ErrorTally { kind, class, count: 0, first_offsets, first, number });
            self.tallies.len() - 1
        });
        let tally = &mut self.tallies[index];
        tally.count += 1;
        if tally.first_offsets.len() < ErrorTally::LISTED {
            tally.first_offsets.push(offset);
        }
    }

    /// Adds errors that were noted elsewhere.
    pub(crate) fn merge(&mut self, other: Errors) {
        self.count += other.count;
        other.tallies.into_iter().for_each(|tally| ErrorTally::add(&mut self.tallies, tally));
    }

    /// The kinds of operations and classes of these errors, in the order of the first of each.
    pub(crate) fn classes(&self) -> Vec<(OpKind, ErrorClass)> {
        self.tallies.iter().map(|tally| (tally.kind, tally.class)).collect()
    }

    /// Whether the error that was just noted ends the phase.
    pub(crate) fn end_it(&self, rule: &OnError, class: ErrorClass) -> bool {
        rule.stop.contains(&class) || rule.max.is_some_and(|one_error| self.count > one_error)
    }

    /// What to say of an error that ends the phase.
    pub(crate) fn last_words(&self, kind: OpKind, class: ErrorClass) -> String {
        let tally = self.tallies.iter().find(|tally| (tally.kind, tally.class) == (kind, class));
        tally.map_or_else(String::new, |tally| {
            let offset = tally.first_offsets.first().copied().unwrap_or_default();
            format!("{} (first at byte {offset}, {} of its class)", tally.first, tally.count)
        })
    }

    pub(crate) fn into_tallies(self) -> Vec<ErrorTally> {
        self.tallies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_class_with_their_first_offsets() {
        let mut errors = Errors::default();
        for offset in 0..20 {
            let class = if offset % 2 == 0 { ErrorClass::Device } else { ErrorClass::Short };
            errors.note(OpKind::Read, class, offset * 512, || (format!("read {offset}"), Some(5)));
        }
        let tallies = errors.into_tallies();
        assert_eq!(tallies.len(), 2);
        assert_eq!((tallies[0].count, tallies[1].count), (10, 10));
        assert_eq!(tallies[0].first_offsets[..3], [0, 1024, 2048]);
        assert_eq!(tallies[0].first_offsets.len(), ErrorTally::LISTED);
        assert_eq!(tallies[1].first, "read 1");
    }

    #[test]
    fn a_class_or_a_number_ends_it() {
        let mut errors = Errors::default();
        errors.note(OpKind::Write, ErrorClass::Space, 0, || ("write: full".into(), Some(28)));
        let stop = OnError { stop: vec![ErrorClass::Space], ..OnError::default() };
        assert!(errors.end_it(&stop, ErrorClass::Space) && !errors.end_it(&stop, ErrorClass::Device));
        let one_error = OnError { stop: Vec::new(), max: Some(1), ..OnError::default() };
        assert!(!errors.end_it(&one_error, ErrorClass::Space));
        errors.note(OpKind::Write, ErrorClass::Space, 0, || ("again".into(), None));
        assert!(errors.end_it(&one_error, ErrorClass::Space));
        assert!(!errors.end_it(&OnError::default(), ErrorClass::Space));
        assert_eq!(
            errors.last_words(OpKind::Write, ErrorClass::Space),
            "write: full (first at byte 0, 2 of its class)"
        );
    }
}
