//! How many a server answers at once, and how much memory their answers take.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A browser opens six connections to a server.
const CONNECTIONS: usize = 48;
/// A connection on which nothing was asked for this long makes room for others.
const IDLE: Duration = Duration::from_secs(1);

/// Bytes of all large answers at a time; those beyond wait for their turn.
const SHARES: usize = 192 << 20;
/// Answers of fewer bytes wait for nobody.
const SMALL: usize = 1 << 20;
/// How long an answer waits for its turn.
const TURN: Duration = Duration::from_secs(60);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that is open.
pub(crate) struct Guest {
    stream: TcpStream,
    /// Since when it has been waited for a request.
    idle: Mutex<Option<Instant>>,
}

impl Guest {
    /// It is waited for a request, or a request is being answered.
    pub(crate) fn waits(&self, waits: bool) {
        *lock(&self.idle) = waits.then(Instant::now);
    }

    fn idle(&self) -> Option<Duration> {
        lock(&self.idle).map(|since| since.elapsed())
    }
}

/// The connections that are open.
#[derive(Default)]
pub(crate) struct Guests(Vec<Weak<Guest>>);

impl Guests {
    /// Takes one more; if there are too many, the one that has been idle for longest is closed for it. None if all are at work.
    pub(crate) fn enter(&mut self, stream: &TcpStream) -> Option<Arc<Guest>> {
        self.0.retain(|g| g.strong_count() > 0);
        if self.0.len() >= CONNECTIONS {
            let idle = self.0.iter().filter_map(Weak::upgrade).filter_map(|g| Some((g.idle()?, g)));
            let (_, longest) = idle.max_by_key(|(time, _)| *time).filter(|(time, _)| *time >= IDLE)?;
            let _ = longest.stream.shutdown(Shutdown::Both);
            self.0.retain(|g| !std::ptr::eq(g.as_ptr(), Arc::as_ptr(&longest)));
        }
        let guest = Arc::new(Guest { stream: stream.try_clone().ok()?, idle: Mutex::new(Some(Instant::now())) });
        self.0.push(Arc::downgrade(&guest));
        Some(guest)
    }
}

/// The memory for large answers.
pub(crate) struct Shares {
    free: Mutex<usize>,
    more: Condvar,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares { free: Mutex::new(SHARES), more: Condvar::new() }
    }
}

/// A share of the memory, given back when the answer is sent.
pub(crate) struct Share<'a>(&'a Shares, usize);

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *lock(&self.0.free) += self.1;
        self.0.more.notify_all();
    }
}

impl Shares {
    /// The share for an answer of so many bytes, when its turn comes; none if that takes too long.
    pub(crate) fn take(&self, bytes: usize) -> Option<Share<'_>> {
        if bytes < SMALL {
            return Some(Share(self, 0));
        }
        let bytes = bytes.min(SHARES);
        let free = lock(&self.free);
        let waited = self.more.wait_timeout_while(free, TURN, |free| *free < bytes);
        let (mut free, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && *free < bytes {
            return None;
        }
        *free -= bytes;
        Some(Share(self, bytes))
    }
}
