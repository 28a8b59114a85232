//! The part's side of a run, without a network: what each request does.

use crate::offer::PartOffer;
use crate::store::StateStore;
use crate::wire::{
    Attempt, Begin, Channel, Correct, Done, Motions, Refusal, Reply, ReplyKind, Request, RequestKind, Stamp, Start,
    Started, Values, hex, sized,
};
use bellcrank_glue::{PartError, Subdomain, WIDTH, Window};
use bellcrank_model::snapshot;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Why nothing can be asked of a run that was only greeted.
const UNSOLVED: &str = "the run has no solver yet: it begins with Start";

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct RunProgress {
    t: f64,
    windows: u64,
}

/// One run of a part.
pub struct Session {
    offer: Arc<PartOffer>,
    store: Arc<dyn StateStore>,
    part: Option<Box<dyn Subdomain>>,
    shown: Vec<bool>,
    progress: RunProgress,
    kept: Option<RunProgress>,
    tried: Option<(Stamp, f64)>,
    /// The sequence of the last request that committed: one that is worked on again does not commit again.
    committed_by: u64,
    /// Stops the work on an attempt.
    interrupt: Arc<AtomicBool>,
}

impl Session {
    /// A run that has no solver yet.
    pub fn new(offer: Arc<PartOffer>, store: Arc<dyn StateStore>) -> Session {
        let progress = RunProgress { t: offer.part.state.t, windows: 0 };
        let interrupt = Arc::default();
        Session {
            offer,
            store,
            part: None,
            shown: Vec::new(),
            progress,
            kept: None,
            tried: None,
            committed_by: 0,
            interrupt,
        }
    }

    /// While this is set, attempts are given up, and may be repeated as if they had never been made.
    pub fn interrupt(&self) -> Arc<AtomicBool> {
        self.interrupt.clone()
    }

    /// Number of committed windows.
    pub fn windows(&self) -> u64 {
        self.progress.windows
    }

    /// Whether it has a solver.
    pub(crate) fn is_started(&self) -> bool {
        self.part.is_some()
    }

    /// Works on a request.
    pub fn work(&mut self, request: &Request) -> Reply {
        let started = Instant::now();
        let what = self.act(request).unwrap_or_else(ReplyKind::Refusal);
        Reply { sequence: request.sequence, nanoseconds: started.elapsed().as_nanos() as u64, what: Some(what) }
    }

    fn part(&mut self) -> Result<&mut Box<dyn Subdomain>, Refusal> {
        self.part.as_mut().ok_or_else(|| Refusal::because(UNSOLVED))
    }

    fn act(&mut self, request: &Request) -> Result<ReplyKind, Refusal> {
        if let Some(stamp) = request.commit.filter(|_| request.sequence == 0 || request.sequence != self.committed_by) {
            self.commit(stamp)?;
            self.committed_by = request.sequence;
        }
        match &request.what {
            None | Some(RequestKind::Leave(_)) => Ok(ReplyKind::Done(Done {})),
            Some(RequestKind::Hello(_)) => Err(Refusal::because("the run has been greeted already")),
            Some(RequestKind::Start(start)) => self.start(start),
            Some(RequestKind::Begin(Begin { loads })) => {
                sized("loads", loads, WIDTH * self.offer.motions.len())?;
                self.tried = None;
                let response = self.part()?.begin(loads).map_err(reason)?;
                Ok(ReplyKind::Motions(Motions::from(&response)))
            }
            Some(RequestKind::Attempt(attempt)) => self.attempt(attempt),
            Some(RequestKind::Correct(correct)) => self.correct(correct),
            Some(RequestKind::Save(save)) => {
                self.save(&save.id)?;
                Ok(ReplyKind::Done(Done {}))
            }
            Some(RequestKind::Restore(restore)) => {
                self.restore(&restore.id)?;
                Ok(ReplyKind::Done(Done {}))
            }
            Some(RequestKind::Soften(_)) => {
                self.tried = None;
                self.part()?.soften().map_err(reason)?;
                Ok(ReplyKind::Done(Done {}))
            }
            Some(RequestKind::Observe(_)) => {
                let mut values = Vec::new();
                self.part()?.observe(&mut values).map_err(reason)?;
                let shown = values.into_iter().zip(&self.shown).filter(|(_, shown)| **shown);
                Ok(ReplyKind::Values(Values { values: shown.map(|(x, _)| x).collect() }))
            }
        }
    }

    fn start(&mut self, start: &Start) -> Result<ReplyKind, Refusal> {
        if self.part.is_some() {
            return Err(Refusal::because("the run has a solver already"));
        }
        let mut part = self.offer.part.clone().start(&start.solver()?).map_err(reason)?;
        part.interrupt_by(self.interrupt.clone());
        let channels = part.channels();
        self.shown = channels.iter().map(|c| self.offer.shows(&c.name)).collect();
        let shown = channels.iter().zip(&self.shown).filter(|(_, shown)| **shown);
        let channels = shown.map(|(c, _)| Channel::from(c)).collect();
        let in_step = part.description().in_step;
        self.part = Some(part);
        Ok(ReplyKind::Started(Started { in_step, channels }))
    }

    fn attempt(&mut self, a: &Attempt) -> Result<ReplyKind, Refusal> {
        let (stamp, n) = (Stamp { window: a.window, iteration: a.iteration }, WIDTH * self.offer.motions.len());
        let in_step = self.part()?.description().in_step;
        let window = self.window(stamp, a.from, a.to, "number of the attempt")?;
        sized("loads", &a.loads, n)?;
        if in_step || !a.shifts.is_empty() {
            sized("shifts", &a.shifts, n)?;
        }
        let response = self.part()?.attempt(&window, &a.loads, &a.shifts, a.admittance).map_err(reason)?;
        self.tried = Some((stamp, a.to));
        Ok(ReplyKind::Motions(Motions::from(&response)))
    }

    fn correct(&mut self, c: &Correct) -> Result<ReplyKind, Refusal> {
        let (stamp, n) = (Stamp { window: c.window, iteration: c.iteration }, WIDTH * self.offer.motions.len());
        let window = self.window(stamp, c.from, c.to, "number of the correction")?;
        sized("loads", &c.loads, n)?;
        sized("shifts", &c.shifts, n)?;
        let corrected = self.part()?.correct(&window, c.correction()?, &c.loads, &c.shifts).map_err(reason)?;
        self.tried = Some((stamp, c.to));
        Ok(ReplyKind::Motions(Motions::from(corrected)))
    }

    /// The window that is to be tried, if it begins where the part stands; `what` is its number in messages.
    fn window(&self, stamp: Stamp, from: f64, to: f64, what: &str) -> Result<Window, Refusal> {
        let progress = self.progress;
        if self.part.is_none() {
            return Err(Refusal::because(UNSOLVED));
        }
        if stamp.window != progress.windows {
            return Err(Refusal::of("number of the window", progress.windows, stamp.window));
        }
        if from.to_bits() != progress.t.to_bits() {
            return Err(Refusal::of("start of the window", format!("{:?} s", progress.t), format!("{from:?} s")));
        }
        if !(to.is_finite() && to > from) {
            return Err(Refusal::of("end of the window", format!("after {from:?} s"), format!("{to:?} s")));
        }
        let before = self.tried.map_or(0, |(stamp, _)| stamp.iteration);
        if stamp.iteration <= before {
            return Err(Refusal::of(what, format!("more than {before}"), stamp.iteration));
        }
        Ok(Window { number: stamp.window, from, to })
    }

    fn commit(&mut self, stamp: Stamp) -> Result<(), Refusal> {
        let words = |s: Stamp| format!("attempt {} of window {}", s.iteration, s.window);
        match self.tried {
            Some((tried, to)) if tried == stamp => {
                self.part()?.commit().map_err(reason)?;
                (self.progress, self.tried) = (RunProgress { t: to, windows: stamp.window + 1 }, None);
                Ok(())
            }
            Some((tried, _)) => Err(Refusal::of("what is to be committed", words(tried), words(stamp))),
            None => Err(Refusal::of("what is to be committed", "nothing, because nothing was tried", words(stamp))),
        }
    }

    fn save(&mut self, id: &str) -> Result<(), Refusal> {
        let (progress, store) = (self.progress, self.store.clone());
        let part = self.part()?;
        if id.is_empty() {
            part.save().map_err(reason)?;
            self.kept = Some(progress);
            return Ok(());
        }
        check_name(id)?;
        let state = part.state().map_err(reason)?;
        let bytes = snapshot::encode(STORED, &StoredRun { progress, model: self.offer.model.clone(), state });
        store.write(id, &bytes).map_err(|e| Refusal::because(format!("the state could not be stored: {}", e.kind())))
    }

    fn restore(&mut self, id: &str) -> Result<(), Refusal> {
        let (kept, store, model) = (self.kept, self.store.clone(), self.offer.model.clone());
        let part = self.part()?;
        if id.is_empty() {
            let progress = kept.ok_or_else(|| Refusal::because("no state was saved in memory"))?;
            part.restore().map_err(reason)?;
            (self.progress, self.tried) = (progress, None);
            return Ok(());
        }
        check_name(id)?;
        let bytes =
            store.read(id).map_err(|e| Refusal::because(format!("there is no stored state `{id}`: {}", e.kind())))?;
        let found: StoredRun = snapshot::decode(STORED, &bytes)
            .map_err(|why| Refusal::because(format!("the stored state `{id}` {why}")))?;
        if found.model != model {
            return Err(Refusal::of(
                "the model has changed since the state was stored",
                hex(&found.model),
                hex(&model),
            ));
        }
        part.set_state(&found.state).map_err(reason)?;
        (self.progress, self.tried) = (found.progress, None);
        Ok(())
    }
}

/// The kind of a stored run, in messages.
const STORED: &str = "run of a part";

/// A state of a run as it is stored.
#[derive(serde::Serialize, serde::Deserialize)]
struct StoredRun {
    progress: RunProgress,
    model: Vec<u8>,
    state: Vec<u8>,
}

/// Refuses names of states that are unfit as names of files.
fn check_name(id: &str) -> Result<(), Refusal> {
    let good = id.len() <= 80 && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let shown = || format!("{:?}", id.chars().take(80).collect::<String>());
    if good { Ok(()) } else { Err(Refusal::of("name of a state", "at most 80 of a-z, A-Z, 0-9 and -", shown())) }
}

/// The reason without the name of the part, which the coordinator adds.
fn reason(e: PartError) -> Refusal {
    Refusal::because(e.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_states_are_no_paths() {
        for good in ["a", "0f-12", &"x".repeat(80)] {
            assert!(check_name(good).is_ok());
        }
        for bad in ["../a", "a/b", "a.b", "a b", "\0", "ä", &"x".repeat(81)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
