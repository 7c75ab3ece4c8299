//! What was acknowledged, compared with what is there.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use iolite_model::ErrorCause;
use iolite_model::acknowledged::{Findings, Loss, LossKind, Method, Plan};

use crate::database::{Commits, missing};
use crate::error::Result;
use crate::files::{path, slot_path};
use crate::plan::slot;
use crate::record::{BlockState, Identity, is_partly_replaced, read};
use crate::witness::Acknowledged;

/// Losses that are listed one by one; all are counted.
const LISTED: usize = 100;

fn nothing_found(known: &Acknowledged) -> Findings {
    Findings {
        plan: known.plan.clone(),
        ended: known.ended,
        acknowledged: known.writes(),
        judged: 0,
        lost: 0,
        losses: Vec::new(),
        torn_in_progress: 0,
    }
}

fn lose(findings: &mut Findings, identity: Identity, kind: LossKind, place: impl FnOnce() -> String) {
    findings.lost += 1;
    if findings.losses.len() < LISTED {
        let Identity { worker, number } = identity;
        findings.losses.push(Loss { worker, number, kind, place: place() });
    }
}

/// Looks for all acknowledged writes in the run's files.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) where the directory that the plan names is not there at all: perhaps it is not mounted.
pub fn check(known: &Acknowledged) -> Result<Findings> {
    let place = Path::new(&known.plan.place);
    std::fs::metadata(place).map_err(crate::error::found("find", place, ErrorCause::NotMounted))?;
    let mut findings = nothing_found(known);
    for worker in 0..known.plan.workers {
        let last = known.last.get(&worker).copied().unwrap_or(0);
        Worker { plan: &known.plan, worker, last }.check(&mut findings);
    }
    Ok(findings)
}

/// Looks for all acknowledged commits in the run's table. A table that is missing has lost all of them.
pub fn check_database(known: &Acknowledged, session: &mut dyn Commits) -> Result<Findings> {
    let mut findings = nothing_found(known);
    let present: BTreeSet<Identity> = session.present()?.into_iter().collect();
    for (&worker, &last) in &known.last {
        findings.judged += last;
        for number in missing(&known.plan, last, worker, &present) {
            let place = || format!("row ({worker}, {number})");
            lose(&mut findings, Identity { worker, number }, LossKind::Missing, place);
        }
    }
    Ok(findings)
}

/// The writes of one worker.
struct Worker<'a> {
    plan: &'a Plan,
    worker: u32,
    last: u64,
}

impl Worker<'_> {
    fn check(&self, findings: &mut Findings) {
        let file = if self.plan.method == Method::Rename {
            None
        } else {
            Some(File::open(path(self.plan, self.worker)))
        };
        // The last write of each place has to be there, or one that was in progress.
        let first =
            if self.plan.method.replaces() { self.last.saturating_sub(self.plan.slots) + 1 } else { 1 };
        for number in first..=self.last {
            findings.judged += 1;
            let slot_of = slot(self.plan, number);
            let found = match &file {
                Some(Ok(file)) => read_block(file, slot_of * self.plan.block.0, self.plan),
                Some(Err(error)) => Err(io::Error::from(error.kind())),
                None => File::open(slot_path(self.plan, self.worker, slot_of))
                    .and_then(|file| read_block(&file, 0, self.plan)),
            };
            self.judge(number, found, findings);
        }
    }

    fn judge(&self, number: u64, found: io::Result<Option<Vec<u8>>>, findings: &mut Findings) {
        let identity = Identity { worker: self.worker, number };
        let mut lose = |kind| lose(findings, identity, kind, || self.place(number));
        let block = match found {
            Ok(Some(block)) => block,
            Ok(None) => return lose(LossKind::Missing),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return lose(LossKind::Missing),
            Err(_) => return lose(LossKind::Unreadable),
        };
        match read(&block, self.plan.run) {
            BlockState::Whole(other) if other == identity || self.replaces(other, number) => {}
            BlockState::Torn(first) if self.is_partly_replaced(number, first, &block) => {
                findings.torn_in_progress += 1;
            }
            BlockState::Torn(_) => lose(LossKind::Torn),
            BlockState::Whole(other) if self.is_older(other, number) => lose(LossKind::Stale),
            BlockState::Whole(_) => lose(LossKind::Misplaced),
            BlockState::Zeros => lose(LossKind::Zeros),
            BlockState::Foreign => lose(LossKind::Foreign),
        }
    }

    /// Whether `other` has its place where write `number` was, and came after all writes that the witness knows: it was in progress, or its
    /// note was lost. A crash can take the notes of many writes.
    fn replaces(&self, other: Identity, number: u64) -> bool {
        other.worker == self.worker
            && other.number > self.last
            && slot(self.plan, other.number) == slot(self.plan, number)
    }

    /// Whether `block`, which begins as the write `first` does, holds parts of two writes of which one was replacing the other, and has lost
    /// nothing that the witness knows. Storage may write the end of a block before its beginning.
    fn is_partly_replaced(&self, number: u64, first: Identity, block: &[u8]) -> bool {
        let is_replaced = |old: u64, new: u64| {
            let [old, new] = [old, new].map(|number| Identity { worker: self.worker, number });
            is_partly_replaced(block, self.plan.run, old, new)
        };
        let (first_is_old, first_is_new) = (first.number == number, self.replaces(first, number));
        // A file was durable before it was renamed.
        self.plan.method != Method::Rename
            && first.worker == self.worker
            && (first_is_old || first_is_new)
            && (is_replaced(first.number, first.number.saturating_add(self.plan.slots))
                || first_is_new && is_replaced(first.number.saturating_sub(self.plan.slots), first.number))
    }

    /// Whether `other` was in the place of write `number` before it.
    fn is_older(&self, other: Identity, number: u64) -> bool {
        other.worker == self.worker
            && other.number < number
            && (other.number == 0 || slot(self.plan, other.number) == slot(self.plan, number))
    }

    fn place(&self, number: u64) -> String {
        let slot_of = slot(self.plan, number);
        match self.plan.method {
            Method::Rename => slot_path(self.plan, self.worker, slot_of).display().to_string(),
            _ => format!("{} at {}", path(self.plan, self.worker).display(), slot_of * self.plan.block.0),
        }
    }
}

/// The block there; `None` where the file ends before its end.
fn read_block(file: &File, offset: u64, plan: &Plan) -> io::Result<Option<Vec<u8>>> {
    let mut block = vec![0; usize::try_from(plan.block.0).unwrap_or(usize::MAX)];
    match file.read_exact_at(&mut block, offset) {
        Ok(()) => Ok(Some(block)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes the run's own files.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io).
pub fn remove(plan: &Plan) -> Result<()> {
    crate::files::remove(plan)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use iolite_model::Bytes;
    use iolite_model::acknowledged::RunKey;

    use super::*;
    use crate::files::{Writer, prepare};
    use crate::record::fill;

    /// A worker with 10 acknowledged writes in 4 places: 7 to 10 are there.
    fn written(directory: &Path, method: Method) -> Acknowledged {
        let place = directory.display().to_string();
        let plan = Plan { run: RunKey([3; 16]), method, block: Bytes(4096), workers: 1, slots: 4, place };
        prepare(&plan).unwrap();
        let mut writer = Writer::open(&plan, 0).unwrap();
        (1..=10).for_each(|number| writer.write(number).unwrap());
        Acknowledged { plan, last: BTreeMap::from([(0, 10)]), ended: false }
    }

    fn block(known: &Acknowledged, worker: u32, number: u64) -> Vec<u8> {
        let mut block = vec![0; 4096];
        fill(&mut block, known.plan.run, Identity { worker, number });
        block
    }

    /// What is found when this is in the place of write 9 (the first of four).
    fn found(replacement: &dyn Fn(&Acknowledged) -> Vec<u8>) -> Findings {
        let directory = tempfile::tempdir().unwrap();
        let known = written(directory.path(), Method::Overwrite);
        let file = File::options().write(true).open(path(&known.plan, 0)).unwrap();
        file.write_all_at(&replacement(&known), 0).unwrap();
        check(&known).unwrap()
    }

    #[test]
    fn all_that_was_acknowledged_is_there() {
        for method in Method::FILES {
            let directory = tempfile::tempdir().unwrap();
            let known = written(directory.path(), method);
            let findings = check(&known).unwrap();
            let judged = if method == Method::Append { 10 } else { 4 };
            assert_eq!(
                (findings.judged, findings.lost, findings.acknowledged),
                (judged, 0, 10),
                "{method:?}"
            );
            remove(&known.plan).unwrap();
            assert_eq!(check(&known).unwrap().losses[0].kind, LossKind::Missing);
            assert_eq!(check(&known).unwrap().lost, judged);
        }
    }

    #[test]
    fn each_kind_of_loss_is_recognized() {
        let lost = |replacement: &dyn Fn(&Acknowledged) -> Vec<u8>| {
            let findings = found(replacement);
            assert_eq!((findings.lost, findings.judged), (1, 4), "{findings:?}");
            assert_eq!(findings.losses[0].number, 9);
            findings.losses[0].kind
        };
        assert_eq!(lost(&|_| vec![0; 4096]), LossKind::Zeros);
        assert_eq!(lost(&|known| block(known, 0, 5)), LossKind::Stale);
        assert_eq!(lost(&|known| block(known, 0, 0)), LossKind::Stale);
        assert_eq!(lost(&|known| block(known, 0, 10)), LossKind::Misplaced);
        assert_eq!(lost(&|known| block(known, 1, 9)), LossKind::Misplaced);
        assert_eq!(lost(&|_| vec![7; 4096]), LossKind::Foreign);
        assert_eq!(
            lost(&|known| [&block(known, 0, 9)[..2048], &block(known, 0, 5)[2048..]].concat()),
            LossKind::Torn
        );
    }

    #[test]
    fn writes_whose_notes_were_lost_are_no_losses() {
        for method in Method::FILES {
            let directory = tempfile::tempdir().unwrap();
            let mut known = written(directory.path(), method);
            // The disk has writes 7 to 10.
            for last in 1..10 {
                known.last = BTreeMap::from([(0, last)]);
                assert_eq!(check(&known).unwrap().lost, 0, "{method:?}, {last} known");
            }
            // One that is known and not there is one.
            known.last = BTreeMap::from([(0, 11)]);
            assert_eq!(check(&known).unwrap().lost, 1, "{method:?}");
        }
        let directory = tempfile::tempdir().unwrap();
        let mut known = written(directory.path(), Method::Dsync);
        known.last = BTreeMap::from([(0, 5)]);
        let file = File::options().write(true).open(path(&known.plan, 0)).unwrap();
        let torn = |first: u64, then: u64| {
            let parts = [&block(&known, 0, first)[..512], &block(&known, 0, then)[512..]];
            file.write_all_at(&parts.concat(), 0).unwrap();
            let findings = check(&known).unwrap();
            (findings.lost, findings.torn_in_progress)
        };
        // Writes 1, 5, 9 and 13 have the same place.
        for (first, then) in [(9, 13), (13, 9), (5, 9), (9, 5)] {
            assert_eq!(torn(first, then), (0, 1), "{first} {then}");
        }
        for (first, then) in [(5, 1), (1, 5), (13, 5), (9, 10), (10, 9)] {
            assert_eq!(torn(first, then), (1, 0), "{first} {then}");
        }
        // The number of the write in the header, changed to one that would be later.
        let mut flipped = block(&known, 0, 5);
        flipped[35] ^= 1 << 6;
        file.write_all_at(&flipped, 0).unwrap();
        assert_eq!(check(&known).unwrap().losses[0].kind, LossKind::Torn);
    }

    #[test]
    fn a_renamed_file_is_never_torn() {
        let directory = tempfile::tempdir().unwrap();
        let known = written(directory.path(), Method::Rename);
        let torn = [&block(&known, 0, 11)[..512], &block(&known, 0, 7)[512..]].concat();
        std::fs::write(slot_path(&known.plan, 0, 2), torn).unwrap();
        assert_eq!(check(&known).unwrap().losses[0].kind, LossKind::Torn);
    }

    #[test]
    fn a_write_in_progress_may_be_there_and_torn_and_is_no_loss() {
        // Write 11 would go to the place of write 7, the third.
        let directory = tempfile::tempdir().unwrap();
        let known = written(directory.path(), Method::Overwrite);
        let file = File::options().write(true).open(path(&known.plan, 0)).unwrap();
        let (old, new) = (block(&known, 0, 7), block(&known, 0, 11));
        file.write_all_at(&new, 2 * 4096).unwrap();
        assert_eq!(check(&known).unwrap().lost, 0);
        let found = |parts: [&[u8]; 3]| {
            file.write_all_at(&parts.concat(), 2 * 4096).unwrap();
            let findings = check(&known).unwrap();
            (findings.lost, findings.torn_in_progress)
        };
        assert_eq!(found([&new[..512], &old[512..1024], &old[1024..]]), (0, 1));
        // The end, or the middle, was written first.
        assert_eq!(found([&old[..512], &new[512..1024], &new[1024..]]), (0, 1));
        assert_eq!(found([&old[..512], &new[512..1024], &old[1024..]]), (0, 1));
        // What is of neither is no write in progress.
        assert_eq!(found([&old[..512], &block(&known, 0, 3)[512..1024], &new[1024..]]), (1, 0));
        assert_eq!(found([&old[..512], &[0; 512], &old[1024..]]), (1, 0));
    }

    #[test]
    fn a_file_that_ends_early_has_lost_what_was_behind() {
        let directory = tempfile::tempdir().unwrap();
        let known = written(directory.path(), Method::Append);
        File::options().write(true).open(path(&known.plan, 0)).unwrap().set_len(7 * 4096 + 100).unwrap();
        let findings = check(&known).unwrap();
        assert_eq!(findings.lost, 3);
        assert!(findings.losses.iter().all(|loss| loss.kind == LossKind::Missing));
        std::fs::remove_dir_all(directory.path()).unwrap();
        assert!(check(&known).unwrap_err().to_string().contains("--directory"));
    }
}
