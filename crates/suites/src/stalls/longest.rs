//! The longest of very many.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use iolite_model::Nanos;

/// The longest of all that were added, as many as there is space for.
#[derive(Debug)]
pub(super) struct Longest<T>(BinaryHeap<Reverse<Item<T>>>);

#[derive(Debug)]
struct Item<T> {
    length: Nanos,
    item: T,
}

impl<T: Copy> Longest<T> {
    /// Keeps an item, as long as there are not `max` longer ones.
    pub(super) fn add(&mut self, length: Nanos, item: T, max: usize) {
        if self.0.len() < max {
            self.0.push(Reverse(Item { length, item }));
        } else if let Some(mut shortest) = self.0.peek_mut()
            && shortest.0.length < length
        {
            *shortest = Reverse(Item { length, item });
        }
    }

    /// What was kept, in no order.
    pub(super) fn items(&self) -> Vec<T> {
        self.0.iter().map(|Reverse(kept)| kept.item).collect()
    }
}

impl<T> Default for Longest<T> {
    fn default() -> Longest<T> {
        Longest(BinaryHeap::new())
    }
}

impl<T> PartialEq for Item<T> {
    fn eq(&self, other: &Item<T>) -> bool {
        self.length == other.length
    }
}

impl<T> Eq for Item<T> {}

impl<T> PartialOrd for Item<T> {
    fn partial_cmp(&self, other: &Item<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Item<T> {
    fn cmp(&self, other: &Item<T>) -> Ordering {
        self.length.cmp(&other.length)
    }
}
