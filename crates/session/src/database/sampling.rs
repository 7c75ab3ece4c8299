//! Samples of the sessions of a database that is observed: begun again where they end while the database goes on.

use std::time::{Duration, Instant};

use iolite_db::{DatabaseUrl, WaitSampler};
use iolite_model::{Concluded, Durability, Nanos, ObservationGap, Warning};
use iolite_oltp::tproc_c;

use super::probes;
use super::waits::{advised, hidden};
use crate::ending::describe;
use crate::error::Result;
use crate::session::Session;

/// How long a server may take to respond to what it is asked.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Time until a server is asked again that did not respond: doubled each time, up to the maximum.
const RETRY: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];
/// Time of reading after which the doubling begins anew.
const STEADY: Duration = Duration::from_secs(5);
/// Time that a server has after the end of its samples, to show whether it is gone altogether.
const GONE: Nanos = Nanos(1_000_000_000);
/// What the gaps are of.
const WAITS: &str = "waits";

/// Times until something that failed is tried again.
#[derive(Debug)]
pub(super) struct Retries(Duration);

impl Retries {
    pub(super) fn new() -> Retries {
        Retries(RETRY[0])
    }

    /// The time after a failure, before which it was read for so long.
    pub(super) fn after(&mut self, read: Duration) -> Duration {
        let time = if read >= STEADY { RETRY[0] } else { self.0 };
        self.0 = (time * 2).min(RETRY[1]);
        time
    }
}

/// Adds a gap; one that follows the last of its kind at once, for the same reason, makes that longer.
pub(super) fn add_gap(gaps: &mut Vec<ObservationGap>, gap: ObservationGap) {
    let last = gaps.iter_mut().rfind(|last| last.what == gap.what);
    match last.filter(|last| last.why == gap.why && gap.from.saturating_sub(last.to) <= Nanos(2 * GONE.0)) {
        Some(last) => last.to = gap.to,
        None => gaps.push(gap),
    }
}

/// The samples of a database's sessions while its counters are read.
pub(super) struct Sampling {
    url: DatabaseUrl,
    interval: Duration,
    sampler: Option<WaitSampler>,
    begun: Instant,
    /// When it was seen that the sampler has ended.
    ended: Option<Nanos>,
    /// Since when there are no samples, why, and when to try again.
    missing: Option<(Nanos, String, Instant)>,
    retries: Retries,
}

impl Sampling {
    /// Begins to sample; the refusal is that of the database where there is one.
    pub(super) fn begin(
        url: DatabaseUrl,
        interval: Duration,
        begun: Result<Option<WaitSampler>>,
        session: &mut Session<'_>,
    ) -> Sampling {
        let mut sampling = Sampling {
            url,
            interval,
            sampler: None,
            begun: Instant::now(),
            ended: None,
            missing: None,
            retries: Retries::new(),
        };
        match begun {
            Ok(sampler) => sampling.watch(session, sampler),
            Err(error) => sampling.miss(session, session.elapsed(), describe(&error)),
        }
        sampling
    }

    fn watch(&mut self, session: &mut Session<'_>, sampler: Option<WaitSampler>) {
        sampler.iter().for_each(|sampler| session.events().watch(probes::waits(sampler.times())));
        (self.sampler, self.begun) = (sampler, Instant::now());
    }

    fn miss(&mut self, session: &mut Session<'_>, since: Nanos, why: String) {
        session.warn(Warning::LeftOut { what: WAITS.into(), why: why.clone() });
        let again = Instant::now() + self.retries.after(self.begun.elapsed());
        self.missing = Some((since, why, again));
    }

    /// Checks whether samples are still taken; where they have ended and the database has not, they are a gap, and begun again.
    pub(super) fn look(&mut self, session: &mut Session<'_>, gaps: &mut Vec<ObservationGap>) {
        if self.sampler.as_ref().is_some_and(WaitSampler::has_ended) {
            let since = *self.ended.get_or_insert_with(|| session.elapsed());
            if session.elapsed().saturating_sub(since) > GONE {
                let failure = self.conclude(session);
                let why = failure.unwrap_or_else(|| "sampling of its sessions has ended".into());
                self.miss(session, since, why);
            }
        }
        let Some((_, _, again)) = &self.missing else { return };
        if Instant::now() < *again {
            return;
        }
        let (url, interval) = (self.url.clone(), self.interval);
        match session.patiently(ANSWER, move || sample(&url, interval)) {
            Ok(Ok(sampler)) => {
                self.end_gap(session, gaps);
                self.watch(session, sampler);
            }
            Ok(Err(_)) | Err(_) => {
                let again = Instant::now() + self.retries.after(Duration::ZERO);
                self.missing.iter_mut().for_each(|missing| missing.2 = again);
            }
        }
    }

    /// Ends the sampler, and records what it has found; why it ended by itself, if it did.
    fn conclude(&mut self, session: &mut Session<'_>) -> Option<String> {
        self.ended = None;
        let sampler = self.sampler.take()?;
        let found = session.patiently(ANSWER, move || sampler.finish()).ok().flatten();
        session.events().unwatch(probes::WAITS);
        let Some(found) = found.map(advised) else {
            let why = "its last sample had no response; the times that sessions spent in each wait are in SQL (probe `waits`)";
            session.warn(Warning::LeftOut { what: "the summary of waits".into(), why: why.into() });
            return None;
        };
        session.conclude(Concluded::of(&found));
        hidden(&found).into_iter().for_each(|warning| session.warn(warning));
        found.failure
    }

    fn end_gap(&mut self, session: &Session<'_>, gaps: &mut Vec<ObservationGap>) {
        if let Some((from, why, _)) = self.missing.take() {
            add_gap(gaps, ObservationGap { from, to: session.elapsed(), what: WAITS.into(), why });
        }
    }

    /// Ends with the database's other readings; why the samples ended, if they did.
    pub(super) fn end(mut self, session: &mut Session<'_>, gaps: &mut Vec<ObservationGap>) -> Option<String> {
        self.end_gap(session, gaps);
        self.conclude(session)
    }
}

/// Begins to sample the sessions of a database anew.
fn sample(url: &DatabaseUrl, interval: Duration) -> Result<Option<WaitSampler>> {
    let reader = tproc_c::open(url, Durability::AsConfigured)?.instance().wait_reader()?;
    Ok(reader.and_then(|reader| WaitSampler::start(reader, interval)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_at_once_is_tried_less_and_less_often() {
        let mut retries = Retries::new();
        let short = Duration::from_millis(100);
        let times: Vec<u128> = (0..8).map(|_| retries.after(short).as_millis()).collect();
        assert_eq!(times, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        assert_eq!(retries.after(STEADY), RETRY[0]);
    }

    #[test]
    fn gaps_that_follow_each_other_are_one() {
        let gap = |from, to, what: &str, why: &str| ObservationGap {
            from: Nanos(from * GONE.0),
            to: Nanos(to * GONE.0),
            what: what.into(),
            why: why.into(),
        };
        let mut gaps = Vec::new();
        for added in [
            gap(1, 3, "waits", "a"),
            gap(4, 5, "waits", "a"),
            gap(5, 6, "waits", "b"),
            gap(9, 10, "waits", "b"),
        ] {
            add_gap(&mut gaps, added);
        }
        add_gap(&mut gaps, gap(10, 11, "counters and waits", "b"));
        let expected = [
            gap(1, 5, "waits", "a"),
            gap(5, 6, "waits", "b"),
            gap(9, 10, "waits", "b"),
            gap(10, 11, "counters and waits", "b"),
        ];
        assert_eq!(gaps, expected);
    }
}
