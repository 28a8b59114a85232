//! The hand-over of a task from the leader of a team to its threads.
//!
//! The leader writes a pointer to the task, sets `left` to the number of followers, and raises `round`; each follower sees the
//! new round, does its share, and lowers `left`; at zero, the task is done and its pointer dead. Waiting is by polling, first
//! busily, then yielding; followers finally sleep, and the leader wakes them.
//!
//! `tools/loom` explores the interleavings of this file.

use self::sync::{AtomicBool, AtomicUsize, Ordering::*, TaskCell, spin_loop, thread};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};

/// When to poll for work how. A hand-over costs less than one pause instruction, hence the busy polls.
#[cfg(not(all(loom, test)))]
mod tuning {
    /// Polls without a pause: about 10 µs, longer than what lies between most tasks.
    pub const EAGER: usize = 10_000;
    /// Polls until the thread yields instead of pausing: about 0.1 ms in all.
    pub const PATIENT: usize = EAGER + 2000;
    /// Polls until it sleeps, from which waking takes long: some ms, more than the leader works alone within a step.
    pub const DROWSY: usize = PATIENT + 8000;
}

/// One poll, which yields, then sleep: all that matters for the order of events.
#[cfg(all(loom, test))]
mod tuning {
    pub const EAGER: usize = 1;
    pub const PATIENT: usize = 1;
    pub const DROWSY: usize = 2;
}

use tuning::*;

pub use self::sync::thread::JoinHandle;

/// A task, called with the number of the thread.
type Task = *const (dyn Fn(usize) + Sync);

/// What leader and followers share.
pub struct Crew {
    size: usize,
    call: Call,
    /// Followers that have not finished the task.
    left: CacheLine<AtomicUsize>,
    over: AtomicBool,
    broken: AtomicBool,
    /// The number of sleeping followers.
    asleep: AtomicUsize,
    /// The threads of the followers, known before the first round.
    followers: OnceLock<Vec<thread::Thread>>,
}

/// The call to a task, in one cache line.
#[repr(align(64))]
struct Call {
    /// Rises with every task.
    round: AtomicUsize,
    task: TaskCell<Option<Task>>,
}

/// A value that shares its cache line with nothing else.
#[repr(align(64))]
struct CacheLine<T>(T);

// SAFETY: the only member that is not Send and Sync is the task. It is written while all followers wait, before `round` rises,
// and read after; it points to a closure that is Sync and alive until `left` is zero.
unsafe impl Send for Crew {}
// SAFETY: as above.
unsafe impl Sync for Crew {}

/// Waits between two polls, the longer the more there were. True if it is time to sleep.
fn pause(polls: usize) -> bool {
    if polls >= DROWSY {
        return true;
    }
    if polls >= PATIENT {
        thread::yield_now();
    } else if polls >= EAGER {
        spin_loop();
    }
    false
}

impl Crew {
    /// A crew of `size`, the leader included, and the threads of its followers; `None` if the system grants no threads.
    pub fn of(size: usize) -> Option<(Arc<Crew>, Vec<JoinHandle<()>>)> {
        let crew = Arc::new(Crew {
            size,
            call: Call { round: AtomicUsize::new(0), task: TaskCell::new(None) },
            left: CacheLine(AtomicUsize::new(0)),
            over: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            followers: OnceLock::new(),
        });
        let spawn = |k: usize| {
            let crew = crew.clone();
            thread::Builder::new().name(format!("team {k}")).spawn(move || crew.follow(k)).ok()
        };
        let threads: Vec<JoinHandle<()>> = (1..size).map_while(spawn).collect();
        let complete = threads.len() + 1 == size;
        let _ = crew.followers.set(threads.iter().map(|t| t.thread().clone()).collect());
        if complete {
            return Some((crew, threads));
        }
        crew.dismiss(threads);
        None
    }

    /// The number of threads, the leader included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Ends the followers.
    pub fn dismiss(&self, threads: Vec<JoinHandle<()>>) {
        self.over.store(true, SeqCst);
        self.wake();
        threads.into_iter().for_each(|t| drop(t.join()));
    }

    fn wake(&self) {
        self.followers.get().into_iter().flatten().for_each(thread::Thread::unpark);
    }

    /// Waits for tasks, and does share k of each.
    fn follow(&self, k: usize) {
        let mut done = 0;
        loop {
            let mut polls = 0;
            while self.call.round.load(Acquire) == done {
                polls += 1;
                let sleepy = pause(polls);
                if polls >= EAGER && self.over.load(Acquire) {
                    return;
                }
                if sleepy {
                    self.sleep(done);
                }
            }
            done += 1;
            // SAFETY: the leader has written it before this round began, and writes again when `left` is zero.
            let task = unsafe { self.call.task.read() };
            // SAFETY: the leader keeps the task alive until `left` is zero.
            if let Some(task) = task
                && catch_unwind(AssertUnwindSafe(|| unsafe { (*task)(k) })).is_err()
            {
                self.broken.store(true, Release);
            }
            self.left.0.fetch_sub(1, Release);
        }
    }

    /// Sleeps until woken, unless a round after `done` has begun. Either this thread sees the new round, or the leader, who
    /// looks for sleepers after raising it, sees this thread: both accesses are sequentially consistent.
    fn sleep(&self, done: usize) {
        self.asleep.fetch_add(1, SeqCst);
        sync::sequential_fence();
        if self.call.round.load(SeqCst) == done && !self.over.load(SeqCst) {
            thread::park();
        }
        self.asleep.fetch_sub(1, SeqCst);
    }

    /// Does a task together with the followers; returns when all have done their share.
    ///
    /// # Panics
    /// If a share did: with the leader's own panic, or saying that a thread failed.
    pub fn together(&self, task: &(dyn Fn(usize) + Sync)) {
        let erased: *const (dyn Fn(usize) + Sync + '_) = task;
        // SAFETY: the lifetime is erased alone. No follower uses the task after this function has returned.
        let erased = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Task>(erased) };
        // SAFETY: all followers wait for the next round, and read the task after it has begun.
        unsafe { self.call.task.write(Some(erased)) };
        self.left.0.store(self.size - 1, Relaxed);
        self.call.round.fetch_add(1, SeqCst);
        sync::sequential_fence();
        if self.asleep.load(SeqCst) > 0 {
            self.wake();
        }
        let own = catch_unwind(AssertUnwindSafe(|| task(0)));
        let mut polls = 0;
        while self.left.0.load(Acquire) > 0 {
            polls = (polls + 1).min(PATIENT);
            pause(polls);
        }
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!self.broken.swap(false, AcqRel), "a thread of the team has failed");
    }
}

/// The primitives of the standard library.
#[cfg(not(all(loom, test)))]
mod sync {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub use std::thread;

    /// A cell that one thread writes while no other reads.
    pub struct TaskCell<T>(std::cell::UnsafeCell<T>);

    impl<T: Copy> TaskCell<T> {
        pub fn new(value: T) -> Self {
            TaskCell(std::cell::UnsafeCell::new(value))
        }

        /// # Safety
        /// No other thread writes at the same time.
        #[inline]
        pub unsafe fn read(&self) -> T {
            // SAFETY: by the contract.
            unsafe { *self.0.get() }
        }

        /// # Safety
        /// No other thread reads or writes at the same time.
        #[inline]
        pub unsafe fn write(&self, value: T) {
            // SAFETY: by the contract.
            unsafe { *self.0.get() = value };
        }
    }

    /// Nothing: the accesses around it are sequentially consistent.
    #[inline(always)]
    pub fn sequential_fence() {}
}

/// Those of loom, which tries all orders of events and checks every access.
#[cfg(all(loom, test))]
mod sync {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub use loom::thread;

    pub struct TaskCell<T>(loom::cell::UnsafeCell<T>);

    impl<T: Copy> TaskCell<T> {
        pub fn new(value: T) -> Self {
            TaskCell(loom::cell::UnsafeCell::new(value))
        }

        /// # Safety
        /// No other thread writes at the same time; loom checks it.
        pub unsafe fn read(&self) -> T {
            // SAFETY: by the contract.
            self.0.with(|p| unsafe { *p })
        }

        /// # Safety
        /// No other thread reads or writes at the same time; loom checks it.
        pub unsafe fn write(&self, value: T) {
            // SAFETY: by the contract.
            self.0.with_mut(|p| unsafe { *p = value });
        }
    }

    /// Loom takes sequentially consistent accesses for acquire and release; a fence makes up for it.
    pub fn sequential_fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

#[cfg(all(loom, test))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;

    /// Places that one thread each writes without synchronization of its own.
    struct Places(Vec<UnsafeCell<usize>>);

    // SAFETY: every thread writes its own place, and the leader reads when all have finished; loom checks it.
    unsafe impl Sync for Places {}

    fn rounds_are_done_by_all(size: usize, rounds: usize, preemptions: Option<usize>) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = preemptions;
        model.check(move || {
            let (crew, threads) = Crew::of(size).expect("loom grants threads");
            let places = Places((0..size).map(|_| UnsafeCell::new(0)).collect());
            for round in 1..=rounds {
                let places = &places;
                // SAFETY: place k belongs to thread k while the task runs.
                crew.together(&|k| places.0[k].with_mut(|p| unsafe { *p += 1 }));
                // SAFETY: all threads have finished.
                assert!(places.0.iter().all(|place| place.with(|p| unsafe { *p }) == round));
            }
            crew.dismiss(threads);
        });
    }

    #[test]
    fn loom_leader_and_follower() {
        rounds_are_done_by_all(2, 2, Some(3));
    }

    #[test]
    fn loom_leader_and_two_followers() {
        rounds_are_done_by_all(3, 1, Some(2));
    }

    #[test]
    fn loom_dismissal_without_a_task() {
        rounds_are_done_by_all(2, 0, None);
    }
}
