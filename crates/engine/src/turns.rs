//! Who of tasks that start together waits for whom.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_model::JobTask;

use crate::error::EngineError;

/// How often a waiting worker checks whether its turn is called off.
const LOOK: Duration = Duration::from_millis(50);

/// How a task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    /// It failed, was interrupted, or never ran.
    Otherwise,
}

/// The turns of tasks that start together.
#[derive(Debug)]
pub(crate) struct Turns {
    /// By task: the tasks that it waits for, all of them before it, so that nobody waits in a circle.
    awaited: Vec<Vec<usize>>,
    ends: Mutex<Vec<Option<End>>>,
    changed: Condvar,
}

/// The turn of one task. Given up before it is [`over`](Turn::over), it has not completed.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    task: usize,
}

/// The name by which others wait for a task, and the one of those that it waits for.
fn names(task: &JobTask) -> (&str, Option<&str>) {
    match task {
        JobTask::Io(task) => (&task.name, task.start.after.as_deref()),
        JobTask::Metadata(task) => (&task.name, None),
    }
}

/// Refuses a task that waits for one that comes later, or for itself.
fn refuse_forward(tasks: &[JobTask], index: usize, awaited: &str) -> Result<(), EngineError> {
    if tasks[index..].iter().any(|later| names(later).0 == awaited) {
        let reason = format!(
            "it waits for `{awaited}`, which is not before it: use an earlier task, or change the order"
        );
        return Err(EngineError::Task { task: names(&tasks[index]).0.to_owned(), reason });
    }
    Ok(())
}

/// Checks that each of a job's tasks that waits for another names one before it, in whatever set.
///
/// # Errors
/// Which does not, with the remedy.
pub fn validate_order(tasks: &[JobTask]) -> Result<(), EngineError> {
    for (index, task) in tasks.iter().enumerate() {
        let (name, Some(awaited)) = names(task) else { continue };
        refuse_forward(tasks, index, awaited)?;
        if !tasks[..index].iter().any(|earlier| names(earlier).0 == awaited) {
            let reason =
                format!("it waits for `{awaited}`, but no task has this name: correct it, or remove it");
            return Err(EngineError::Task { task: name.to_owned(), reason });
        }
    }
    Ok(())
}

/// Number of the tasks that are released together: those that wait for none of the others.
pub fn released_together(tasks: &[JobTask]) -> usize {
    Turns::of(tasks).map_or(tasks.len(), |turns| turns.first())
}

impl Turns {
    /// Of tasks that start together. What waits for none of them waits for an earlier set's, which is over.
    ///
    /// # Errors
    /// One waits for a task that does not come before it.
    pub(crate) fn of(tasks: &[JobTask]) -> Result<Turns, EngineError> {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut awaited = Vec::with_capacity(tasks.len());
        for (index, task) in tasks.iter().enumerate() {
            let (name, after) = names(task);
            if let Some(after) = after {
                refuse_forward(tasks, index, after)?;
            }
            awaited.push(after.and_then(|after| by_name.get(after).cloned()).unwrap_or_default());
            by_name.entry(name).or_default().push(index);
        }
        Ok(Turns { ends: Mutex::new(vec![None; awaited.len()]), changed: Condvar::new(), awaited })
    }

    /// The turn of each task.
    pub(crate) fn each(&self) -> impl Iterator<Item = Turn<'_>> {
        (0..self.awaited.len()).map(|task| Turn { turns: self, task })
    }

    /// Number of those that wait for nobody.
    pub(crate) fn first(&self) -> usize {
        self.awaited.iter().filter(|awaited| awaited.is_empty()).count()
    }

    /// Lets no turn come that has not come.
    pub(crate) fn call_off(&self) {
        self.ends().iter_mut().for_each(|end| *end = end.or(Some(End::Otherwise)));
        self.changed.notify_all();
    }

    fn ends(&self) -> MutexGuard<'_, Vec<Option<End>>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Whether it waits for anyone.
    pub(crate) fn waits(&self) -> bool {
        !self.turns.awaited[self.task].is_empty()
    }

    /// Waits until all that it waits for have ended. False where one has not completed, or `give_up` says so, which is
    /// asked now and then.
    pub(crate) fn wait(&self, give_up: &dyn Fn() -> bool) -> bool {
        let awaited = &self.turns.awaited[self.task];
        let mut ends = self.turns.ends();
        loop {
            if give_up() || awaited.iter().any(|task| ends[*task] == Some(End::Otherwise)) {
                return false;
            }
            if awaited.iter().all(|task| ends[*task] == Some(End::Completed)) {
                return true;
            }
            let waited = self.turns.changed.wait_timeout(ends, LOOK);
            ends = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Records that the task has ended, and whether it completed.
    pub(crate) fn over(self, completed: bool) {
        let end = if completed { End::Completed } else { End::Otherwise };
        self.turns.ends()[self.task].get_or_insert(end);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.ends()[self.task].get_or_insert(End::Otherwise);
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{FileTask, Start};

    fn task(name: &str, after: Option<&str>) -> JobTask {
        JobTask::Io(Box::new(FileTask {
            name: name.into(),
            start: Start { after: after.map(str::to_owned), ..Start::default() },
            ..FileTask::default()
        }))
    }

    #[test]
    fn whoever_waits_for_a_name_waits_for_all_before_it() {
        let tasks = [task("a", None), task("a", None), task("b", Some("a")), task("c", Some("earlier set"))];
        let turns = Turns::of(&tasks).unwrap();
        assert_eq!((turns.awaited.clone(), turns.first()), (vec![vec![], vec![], vec![0, 1], vec![]], 3));
        let [one, other, waiting, alone] = turns.each().collect::<Vec<_>>().try_into().unwrap();
        assert!(waiting.waits() && !alone.waits());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| waiting.wait(&|| false));
            one.over(true);
            assert!(!waits.is_finished());
            other.over(true);
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn whoever_waits_is_called_off_with_what_it_waits_for() {
        let tasks = [task("a", None), task("b", Some("a")), task("c", Some("b"))];
        for over in [Some(false), None] {
            let turns = Turns::of(&tasks).unwrap();
            let [first, second, third] = turns.each().collect::<Vec<_>>().try_into().unwrap();
            assert!(!third.wait(&|| true));
            over.map_or_else(|| drop(turns.each().next()), |completed| first.over(completed));
            assert!(!second.wait(&|| false));
            second.over(false);
            assert!(!third.wait(&|| false));
        }
        let turns = Turns::of(&tasks).unwrap();
        turns.call_off();
        assert!(!turns.each().nth(2).unwrap().wait(&|| false));
    }

    #[test]
    fn nobody_waits_for_what_comes_later_or_is_not_there() {
        let refused = |tasks: &[JobTask]| validate_order(tasks).unwrap_err().to_string();
        let later = [task("b", Some("a")), task("a", None)];
        assert!(refused(&later).contains("is not before it"));
        assert!(Turns::of(&later).is_err());
        let own = [task("a", None), task("a", Some("a"))];
        assert!(refused(&own).contains("is not before it") && Turns::of(&own).is_err());
        assert!(refused(&[task("a", None), task("b", Some("c"))]).contains("no task has this name"));
        validate_order(&[task("a", None), task("b", Some("a"))]).unwrap();
    }
}
