//! The runs of a server, and how much it takes on.

use crate::client::RunId;
use crate::filter::OnceFilter;
use crate::locks::lock;
use crate::offer::PartOffer;
use crate::session::Session;
use crate::store::StateStore;
use crate::wire::{Hello, PROTOCOL, Refusal, Reply, Request, UNITS, hex};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Runs at the same time.
    pub runs: usize,
    /// Bytes of one message.
    pub message: usize,
    /// Messages per second of one stream.
    pub rate: f64,
    /// A run without a link is forgotten after this time, and a link without a request is closed.
    pub linger: Duration,
    /// A run without a link is given up after this time if others wait; work on its request is stopped in any case.
    pub grace: Duration,
    /// Time for one request.
    pub call: Duration,
    /// A connection that carries no run is closed after this time.
    pub idle: Duration,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            runs: 64,
            message: 16 << 20,
            rate: 20_000.0,
            linger: Duration::from_secs(600),
            grace: Duration::from_secs(3),
            call: Duration::from_secs(600),
            idle: Duration::from_secs(15),
        }
    }
}

/// Limits the rate of messages: a stream that sends too many has to wait.
pub struct RateLimit {
    /// Per second.
    rate: f64,
    /// The time by which all messages so far are due.
    due: Duration,
}

impl RateLimit {
    /// A rate per second; a burst may have the messages of a tenth of a second.
    pub fn new(rate: f64) -> RateLimit {
        RateLimit { rate, due: Duration::ZERO }
    }

    /// How long a message that arrives now has to wait.
    pub fn delay(&mut self, now: Duration) -> Duration {
        self.due = self.due.max(now) + Duration::from_secs_f64(1.0 / self.rate);
        self.due.saturating_sub(now + Duration::from_millis(100))
    }
}

/// The place of one run at a server.
pub struct RunSlot {
    /// The run itself.
    pub session: Mutex<Session>,
    /// Admits each request once.
    pub filter: Mutex<OnceFilter>,
    /// Stops the work on its request.
    pub interrupt: Arc<AtomicBool>,
    /// The number of the newest stream, to which it belongs.
    stream: AtomicU64,
    /// The time of its last sign of life.
    touched: Mutex<Duration>,
    /// Since when it has been without a link, if it is.
    left: Mutex<Option<Duration>>,
    /// Whether it is no longer one of the runs of the server.
    given_up: AtomicBool,
}

impl RunSlot {
    /// Hands it to a new stream; returns the number of that stream.
    pub fn take_over(&self) -> u64 {
        let mut left = lock(&self.left);
        *left = None;
        self.stream.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// A stream ended: if no other has taken over, the run is without a link.
    pub fn left(&self, stream: u64, now: Duration) {
        let mut left = lock(&self.left);
        if self.belongs_to(stream) {
            *left = Some(now);
        }
    }

    /// For how long it has been without a link, if it is.
    pub fn without_link(&self, now: Duration) -> Option<Duration> {
        lock(&self.left).map(|since| now.saturating_sub(since))
    }

    /// Whether nobody waits for its work any more.
    pub fn is_abandoned(&self, now: Duration, grace: Duration) -> bool {
        self.given_up.load(Ordering::SeqCst) || self.without_link(now).is_some_and(|time| time >= grace)
    }

    fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
        self.interrupt.store(true, Ordering::SeqCst);
    }

    /// Whether a stream is still the newest.
    pub fn belongs_to(&self, stream: u64) -> bool {
        self.stream.load(Ordering::SeqCst) == stream
    }

    /// Records a sign of life.
    pub fn touch(&self, now: Duration) {
        *lock(&self.touched) = now;
    }
}

/// All runs of a server.
pub struct RunRegistry {
    /// The part that is served.
    pub offer: Arc<PartOffer>,
    /// Its limits.
    pub limits: ServerLimits,
    store: Arc<dyn StateStore>,
    slots: Mutex<HashMap<RunId, Arc<RunSlot>>>,
    at_work: AtomicUsize,
}

impl RunRegistry {
    /// A server without runs.
    pub fn new(offer: Arc<PartOffer>, store: Arc<dyn StateStore>, limits: ServerLimits) -> RunRegistry {
        RunRegistry { offer, limits, store, slots: Mutex::default(), at_work: AtomicUsize::new(0) }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        lock(&self.slots).len()
    }

    /// Number of requests that are being worked on.
    pub fn at_work(&self) -> usize {
        self.at_work.load(Ordering::SeqCst)
    }

    /// Works on a request; the number of those that do so is [`RunRegistry::at_work`].
    pub(crate) fn work(&self, slot: &RunSlot, request: &Request) -> Reply {
        /// One of those at work, also if the work fails.
        struct One<'a>(&'a AtomicUsize);
        impl Drop for One<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.at_work.fetch_add(1, Ordering::SeqCst);
        let _one = One(&self.at_work);
        lock(&slot.session).work(request)
    }

    /// Greets a run; a known one goes on where it was.
    pub fn hello(&self, hello: &Hello, now: Duration) -> Result<(RunId, Arc<RunSlot>, Reply), Refusal> {
        if hello.protocol != PROTOCOL {
            return Err(Refusal::of("version of the protocol", PROTOCOL, hello.protocol));
        }
        if hello.units != UNITS {
            return Err(Refusal::of("units", UNITS, format!("{:?}", hello.units)));
        }
        let Ok(run) = RunId::try_from(&hello.run[..]) else {
            return Err(Refusal::of("bytes of the name of a run", 16, hello.run.len()));
        };
        if !hello.model.is_empty() && hello.model != self.offer.model {
            return Err(Refusal::of("hash of the model", hex(&hello.model), hex(&self.offer.model)));
        }
        if hello.next == 0 {
            return Err(Refusal::of("sequence of the next request", "1 or more", 0));
        }
        self.sweep(now);
        let mut slots = lock(&self.slots);
        let count = slots.len();
        let slot = match slots.get(&run).cloned() {
            Some(slot) => slot,
            None if count >= self.limits.runs && !self.make_room(&mut slots, now) => {
                return Err(Refusal::of("too many runs", format!("at most {}", self.limits.runs), count + 1));
            }
            None => {
                let session = Session::new(self.offer.clone(), self.store.clone());
                let slot = Arc::new(RunSlot {
                    interrupt: session.interrupt(),
                    session: Mutex::new(session),
                    filter: Mutex::new(OnceFilter::expecting(hello.next)),
                    stream: AtomicU64::new(0),
                    touched: Mutex::new(now),
                    left: Mutex::default(),
                    given_up: AtomicBool::new(false),
                });
                slots.insert(run, slot.clone());
                slot
            }
        };
        drop(slots);
        slot.touch(now);
        // a session at work has a solver
        let started = slot.session.try_lock().map_or(true, |s| s.is_started());
        Ok((run, slot, self.offer.welcome(started)))
    }

    /// Gives up the run that has been without a link for longest, if it has been so for long enough.
    fn make_room(&self, slots: &mut HashMap<RunId, Arc<RunSlot>>, now: Duration) -> bool {
        let longest = slots.iter().filter_map(|(run, slot)| Some((slot.without_link(now)?, *run))).max();
        let Some((_, run)) = longest.filter(|(time, _)| *time >= self.limits.grace) else { return false };
        slots.remove(&run).inspect(|slot| slot.give_up());
        true
    }

    /// How long a new run has to wait for its place: while all are taken, until the first that nobody holds may be given up.
    /// Nothing if it need not wait, or if waiting is no use.
    pub fn wait(&self, hello: &Hello, now: Duration) -> Option<Duration> {
        let slots = lock(&self.slots);
        let known = RunId::try_from(&hello.run[..]).is_ok_and(|run| slots.contains_key(&run));
        if known || slots.len() < self.limits.runs {
            return None;
        }
        let longest = slots.values().filter_map(|slot| slot.without_link(now)).max()?;
        Some(self.limits.grace.saturating_sub(longest)).filter(|wait| !wait.is_zero())
    }

    /// Forgets a run.
    pub fn leave(&self, run: &RunId) {
        lock(&self.slots).remove(run).inspect(|slot| slot.give_up());
    }

    /// Forgets runs that have been without a link for too long.
    pub fn sweep(&self, now: Duration) {
        lock(&self.slots).retain(|_, slot| {
            let stays = now.saturating_sub(*lock(&slot.touched)) < self.limits.linger;
            if !stays {
                slot.give_up();
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_sends_too_much_has_to_wait() {
        let mut limit = RateLimit::new(1000.0);
        let second = Duration::from_secs(1);
        let waits: Vec<Duration> = (0..1000).map(|_| limit.delay(second)).collect();
        assert_eq!(waits[99], Duration::ZERO);
        assert!(waits[101] > Duration::ZERO);
        // a second's worth at once: nine tenths of a second, less the burst
        assert!((waits[999].as_secs_f64() - 0.9).abs() < 1e-6, "{:?}", waits[999]);
        assert_eq!(limit.delay(10 * second), Duration::ZERO);
    }
}
