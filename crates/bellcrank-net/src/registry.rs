//! The runs of a server, and how much it takes on.

use crate::client::RunId;
use crate::filter::OnceFilter;
use crate::offer::PartOffer;
use crate::session::Session;
use crate::store::StateStore;
use crate::wire::{Hello, PROTOCOL, Refusal, Reply, UNITS, hex};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Runs at the same time.
    pub runs: usize,
    /// Bytes of one message.
    pub message: usize,
    /// Messages per second of one stream.
    pub rate: f64,
    /// A run without a link is forgotten after this time.
    pub linger: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { runs: 64, message: 16 << 20, rate: 20_000.0, linger: Duration::from_secs(600) }
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
    /// The number of the newest stream, to which it belongs.
    stream: AtomicU64,
    /// The time of its last sign of life.
    touched: Mutex<Duration>,
}

impl RunSlot {
    /// Hands it to a new stream; returns the number of that stream.
    pub fn take_over(&self) -> u64 {
        self.stream.fetch_add(1, Ordering::SeqCst) + 1
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

/// Locks, also after a holder panicked: a broken session refuses its requests, and all others go on.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All runs of a server.
pub struct RunRegistry {
    /// The part that is served.
    pub offer: Arc<PartOffer>,
    /// Its limits.
    pub limits: Limits,
    store: Arc<dyn StateStore>,
    slots: Mutex<HashMap<RunId, Arc<RunSlot>>>,
}

impl RunRegistry {
    /// A server without runs.
    pub fn new(offer: Arc<PartOffer>, store: Arc<dyn StateStore>, limits: Limits) -> RunRegistry {
        RunRegistry { offer, limits, store, slots: Mutex::default() }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        lock(&self.slots).len()
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
        let slot = match slots.get(&run) {
            Some(slot) => slot.clone(),
            None if count >= self.limits.runs => {
                return Err(Refusal::of("too many runs", format!("at most {}", self.limits.runs), count + 1));
            }
            None => {
                let slot = Arc::new(RunSlot {
                    session: Mutex::new(Session::new(self.offer.clone(), self.store.clone())),
                    filter: Mutex::new(OnceFilter::expecting(hello.next)),
                    stream: AtomicU64::new(0),
                    touched: Mutex::new(now),
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

    /// Forgets a run.
    pub fn leave(&self, run: &RunId) {
        lock(&self.slots).remove(run);
    }

    /// Forgets runs that have been without a link for too long.
    pub fn sweep(&self, now: Duration) {
        lock(&self.slots).retain(|_, slot| now.saturating_sub(*lock(&slot.touched)) < self.limits.linger);
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
