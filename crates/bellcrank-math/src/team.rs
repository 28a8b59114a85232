//! Threads that share short pieces of work, down to some microseconds.
//!
//! Who works is decided outside, by [`Team::lead`]; what is computed does not depend on it. Pieces write to places of their
//! own, sums are taken over pieces of a fixed size, and without a team all is done by the one who asks.

use std::cell::{RefCell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread::{self, JoinHandle, Thread};

/// Most threads of a team.
pub const MOST: usize = 16;

/// How often is looked for work without a pause: some ten microseconds, more than what passes between most pieces. A pause takes longer than
/// word of a piece.
const EAGER: usize = 10_000;

/// How often before a thread lets others go first: about 0.1 ms.
const PATIENCE: usize = EAGER + 2000;

/// And how often before it goes to sleep, from which it takes long to wake: some ms, more than what one thread does alone in a
/// step.
const DROWSY: usize = PATIENCE + 8000;

thread_local! {
    static LED: RefCell<Option<Arc<Crew>>> = const { RefCell::new(None) };
}

/// Threads that wait for work.
pub struct Team {
    crew: Arc<Crew>,
    threads: Vec<JoinHandle<()>>,
}

/// What is to be done, by the number of the one who does it.
type Task = *const (dyn Fn(usize) + Sync);

struct Crew {
    size: usize,
    call: Call,
    /// Those who have not finished the task.
    left: Apart<AtomicUsize>,
    over: AtomicBool,
    broken: AtomicBool,
    /// How many sleep, and what wakes them.
    asleep: AtomicUsize,
    sleepers: UnsafeCell<Vec<Thread>>,
}

/// Word of a task, in one line of a cache.
#[repr(align(64))]
struct Call {
    /// Rises with every task.
    round: AtomicUsize,
    task: UnsafeCell<Option<Task>>,
}

/// What shares no line with anything else.
#[repr(align(64))]
struct Apart<T>(T);

/// Waits between two looks at something: how long depends on how often was looked. True if it is time to sleep.
fn wait(looked: usize) -> bool {
    match looked {
        ..EAGER => {}
        EAGER..PATIENCE => std::hint::spin_loop(),
        PATIENCE..DROWSY => thread::yield_now(),
        _ => return true,
    }
    false
}

// SAFETY: `task` is written while all others wait, before `round` rises, and read after; `sleepers` is written before the
// first round, and used by the leader alone.
unsafe impl Send for Crew {}
unsafe impl Sync for Crew {}

impl Team {
    /// A team of so many, the one who leads it among them.
    pub fn of(size: usize) -> Team {
        let size = size.clamp(1, MOST);
        let crew = Arc::new(Crew {
            size,
            call: Call { round: AtomicUsize::new(0), task: UnsafeCell::new(None) },
            left: Apart(AtomicUsize::new(0)),
            asleep: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            sleepers: UnsafeCell::new(Vec::new()),
        });
        let join = |k: usize| {
            let crew = crew.clone();
            thread::Builder::new().name(format!("team {k}")).spawn(move || crew.follow(k)).ok()
        };
        let threads: Vec<JoinHandle<()>> = (1..size).map_while(join).collect();
        let complete = threads.len() + 1 == size;
        // SAFETY: nobody looks at it before the first round.
        unsafe { *crew.sleepers.get() = threads.iter().map(|t| t.thread().clone()).collect() };
        match complete {
            true => Team { crew, threads },
            false => {
                // the system grants no threads: one works alone
                drop(Team { crew, threads });
                Team::of(1)
            }
        }
    }

    /// Its size.
    pub fn size(&self) -> usize {
        self.crew.size
    }

    /// Does something with the help of the team.
    pub fn lead<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Before(Option<Arc<Crew>>);
        impl Drop for Before {
            fn drop(&mut self) {
                LED.set(self.0.take());
            }
        }
        let helpful = (self.crew.size > 1).then(|| self.crew.clone());
        let _before = Before(LED.replace(helpful));
        work()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.crew.over.store(true, SeqCst);
        self.threads.iter().for_each(|t| t.thread().unpark());
        self.threads.drain(..).for_each(|t| drop(t.join()));
    }
}

impl Crew {
    /// Waits for tasks and does share k of them.
    fn follow(&self, k: usize) {
        let mut done = 0;
        loop {
            let mut looked = 0;
            while self.call.round.load(Acquire) == done {
                looked += 1;
                let sleepy = wait(looked);
                if looked >= EAGER && self.over.load(Acquire) {
                    return;
                }
                if sleepy {
                    self.asleep.fetch_add(1, SeqCst);
                    // who leads looks for sleepers after the round has risen
                    if self.call.round.load(SeqCst) == done && !self.over.load(SeqCst) {
                        thread::park();
                    }
                    self.asleep.fetch_sub(1, SeqCst);
                }
            }
            done += 1;
            // SAFETY: the leader keeps the task alive until `left` is zero.
            if let Some(task) = unsafe { *self.call.task.get() }
                && catch_unwind(AssertUnwindSafe(|| unsafe { (*task)(k) })).is_err()
            {
                self.broken.store(true, Release);
            }
            self.left.0.fetch_sub(1, Release);
        }
    }

    /// Does a task together; returns when all have done their share.
    fn together(&self, task: &(dyn Fn(usize) + Sync)) {
        let erased: *const (dyn Fn(usize) + Sync + '_) = task;
        // SAFETY: all others wait, and none of them uses the task after this call has returned.
        unsafe {
            *self.call.task.get() = Some(std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Task>(erased))
        };
        self.left.0.store(self.size - 1, Relaxed);
        self.call.round.fetch_add(1, SeqCst);
        if self.asleep.load(SeqCst) > 0 {
            // SAFETY: written before the first round.
            unsafe { &*self.sleepers.get() }.iter().for_each(Thread::unpark);
        }
        let own = catch_unwind(AssertUnwindSafe(|| task(0)));
        let mut looked = 0;
        while self.left.0.load(Acquire) > 0 {
            looked = (looked + 1).min(PATIENCE);
            wait(looked);
        }
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!self.broken.swap(false, AcqRel), "a thread of the team has failed");
    }
}

/// A place that one thread at a time takes from.
struct Slot<T>(UnsafeCell<Option<T>>);

// SAFETY: slot k is filled before the task begins, and emptied by thread k alone.
unsafe impl<T: Send> Sync for Slot<T> {}

/// Divides 0..n among the team: `piece` hands out what belongs to a range, the ranges in ascending order, and `work` is done
/// on all pieces at the same time. Less than `least` per thread is not divided.
#[inline]
pub fn divided<T: Send>(n: usize, least: usize, mut piece: impl FnMut(Range<usize>) -> T, work: impl Fn(T) + Sync) {
    // small models come here a thousand times in a step's time
    if n < 2 * least {
        return work(piece(0..n));
    }
    // while it works, who leads has no team: pieces are not divided further
    let Some(crew) = LED.take() else { return work(piece(0..n)) };
    let hands = crew.size.min(n / least.max(1));
    let mut slots: [Slot<T>; MOST] = std::array::from_fn(|_| Slot(UnsafeCell::new(None)));
    for (k, slot) in slots.iter_mut().enumerate().take(hands) {
        *slot.0.get_mut() = Some(piece(n * k / hands..n * (k + 1) / hands));
    }
    let guarded = catch_unwind(AssertUnwindSafe(|| {
        crew.together(&|k| {
            // SAFETY: thread k alone takes from slot k.
            if let Some(piece) = unsafe { &mut *slots[k].0.get() }.take() {
                work(piece);
            }
        })
    }));
    LED.set(Some(crew));
    if let Err(panic) = guarded {
        resume_unwind(panic);
    }
}

/// Does something with every item, all at the same time where there are enough hands.
pub fn each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Sync) {
    let mut rest = items;
    divided(rest.len(), 1, |range| cut(&mut rest, range.len()), |items: &mut [T]| items.iter_mut().for_each(&work));
}

/// Fewer numbers than this are not worth a thread.
const LEAST: usize = 1000;

/// So many numbers of each of some ten arrays stay in the nearest cache.
const NEAR: usize = 512;

/// Fills arrays of one length: `work` gets a range of their indices, and the arrays within it. Ranges are short, so that
/// one loop after the other within `work` finds its numbers at hand.
pub fn fill<const K: usize>(arrays: [&mut [f64]; K], work: impl Fn(Range<usize>, [&mut [f64]; K]) + Sync) {
    fill_both((arrays, work), ([], |_, []| ()));
}

/// Fills two groups of arrays in one go, each by work of its own. The arrays of a group are of one length.
pub fn fill_both<const K: usize, const L: usize>(
    (first, fill_first): ([&mut [f64]; K], impl Fn(Range<usize>, [&mut [f64]; K]) + Sync),
    (second, fill_second): ([&mut [f64]; L], impl Fn(Range<usize>, [&mut [f64]; L]) + Sync),
) {
    let (mut first, mut second) = (Group::of(first), Group::of(second));
    let (of_first, of_second) = (first.range.end, second.range.end);
    let n = of_first.max(of_second);
    divided(
        n,
        LEAST,
        |range| (first.cut(of_first * range.end / n.max(1)), second.cut(of_second * range.end / n.max(1))),
        |(first, second)| {
            first.fill(&fill_first);
            second.fill(&fill_second);
        },
    );
}

/// A range of arrays.
struct Group<'a, const K: usize> {
    range: Range<usize>,
    arrays: [&'a mut [f64]; K],
}

impl<'a, const K: usize> Group<'a, K> {
    fn of(arrays: [&'a mut [f64]; K]) -> Self {
        Group { range: 0..arrays.iter().map(|array| array.len()).min().unwrap_or(0), arrays }
    }

    /// Takes what lies before an index.
    #[inline]
    fn cut(&mut self, end: usize) -> Self {
        let range = self.range.start..end;
        self.range.start = end;
        Group { arrays: self.arrays.each_mut().map(|array| cut(array, range.len())), range }
    }

    /// Range by range, with the widest registers that the processor has.
    fn fill(self, work: &impl Fn(Range<usize>, [&mut [f64]; K])) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has them.
            return unsafe { self.fill_wide(work) };
        }
        self.fill_near(work);
    }

    /// Compiled for registers of four numbers, but not to round once where others round twice.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_wide(self, work: &impl Fn(Range<usize>, [&mut [f64]; K])) {
        self.fill_near(work);
    }

    #[inline(always)]
    fn fill_near(mut self, work: &impl Fn(Range<usize>, [&mut [f64]; K])) {
        while !self.range.is_empty() {
            let near = self.cut(self.range.end.min(self.range.start + NEAR));
            work(near.range, near.arrays);
        }
    }
}

/// to ← from, which is as long.
pub fn copy(from: &[f64], to: &mut Vec<f64>) {
    to.resize(from.len(), 0.0);
    fill([to], |range, [to]| to.copy_from_slice(&from[range]));
}

/// A long array is reduced in so many ranges.
const RANGES: usize = 16;

/// What `part` gives for ranges of 0..n, combined in their order. The ranges do not depend on who works.
pub fn reduced<T: Copy + Default + Send>(
    n: usize,
    part: impl Fn(Range<usize>) -> T + Sync,
    combine: impl FnMut(T, T) -> T,
) -> T {
    if n < 2 * LEAST {
        return part(0..n);
    }
    let mut found = [T::default(); RANGES];
    let mut rest = &mut found[..];
    divided(
        RANGES,
        1,
        |range| (range.clone(), cut(&mut rest, range.len())),
        |(range, found)| range.zip(found).for_each(|(k, x)| *x = part(n * k / RANGES..n * (k + 1) / RANGES)),
    );
    found.into_iter().reduce(combine).unwrap_or_default()
}

/// The largest magnitude.
pub fn largest(x: &[f64]) -> f64 {
    // in lanes: no comparison waits for the one before
    let of = |range: Range<usize>| {
        let mut most = [0.0f64; 4];
        let (lanes, rest) = x[range].as_chunks::<4>();
        for lane in lanes {
            most.iter_mut().zip(lane).for_each(|(m, x)| *m = m.max(x.abs()));
        }
        most.iter().chain(rest).fold(0.0, |m: f64, x| m.max(x.abs()))
    };
    reduced(x.len(), of, f64::max)
}

/// Takes the first n of a slice.
#[inline]
pub fn cut<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(n);
    *rest = tail;
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(n: usize) -> Vec<f64> {
        let mut out = vec![0.0; n];
        let mut rest = &mut out[..];
        divided(
            n,
            10,
            |range| (range.start, cut(&mut rest, range.len())),
            |(first, out)| out.iter_mut().enumerate().for_each(|(i, x)| *x = ((first + i) as f64).powi(2)),
        );
        out
    }

    #[test]
    fn a_team_does_what_one_does_alone() {
        let alone = squares(1000);
        for size in [1, 2, 3, 8, 100] {
            let team = Team::of(size);
            // many short tasks, and some after a sleep
            for round in 0..300 {
                if round % 100 == 99 {
                    thread::sleep(std::time::Duration::from_millis(2));
                }
                assert_eq!(team.lead(|| squares(1000)), alone);
            }
            assert_eq!(team.lead(|| squares(3)), [0.0, 1.0, 4.0]);
        }
    }

    #[test]
    fn sums_do_not_depend_on_who_works() {
        for n in [0, 1, 999, 12345] {
            let of = || reduced(n, |range| range.map(|i| 1.0 / (i + 1) as f64).sum::<f64>(), |a, b| a + b);
            let alone = of();
            assert!((alone - (1..=n).rev().map(|i| 1.0 / i as f64).sum::<f64>()).abs() < 1e-12);
            assert!([2, 3, 16].into_iter().all(|size| Team::of(size).lead(of) == alone));
            let from: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let mut to = Vec::new();
            Team::of(2).lead(|| copy(&from, &mut to));
            assert_eq!(to, from);
            to.iter_mut().step_by(2).for_each(|x| *x = -*x);
            assert_eq!(largest(&to), n.saturating_sub(1) as f64);
        }
    }

    #[test]
    fn groups_of_different_lengths_are_filled_in_one_go() {
        for (n, m) in [(0, 0), (5000, 1), (3000, 4001), (0, 2500), (700, 300)] {
            let of = || {
                let (mut a, mut b, mut c) = (vec![0.0; n], vec![0.0; n], vec![0.0; m]);
                let number = |out: &mut [f64], range: Range<usize>| range.zip(out).for_each(|(i, x)| *x += i as f64);
                fill_both(
                    ([&mut a, &mut b], |range, [a, b]| {
                        number(a, range.clone());
                        number(b, range);
                    }),
                    ([&mut c], |range, [c]| number(c, range)),
                );
                [a, b, c]
            };
            let counted = [n, n, m].map(|n| (0..n).map(|i| i as f64).collect::<Vec<_>>());
            assert!([1, 2, 3, 16].into_iter().all(|size| Team::of(size).lead(of) == counted));
        }
    }

    #[test]
    fn pieces_of_pieces_are_done_by_one() {
        let team = Team::of(2);
        let mut items = [0; 5];
        team.lead(|| each(&mut items, |item| each(std::slice::from_mut(item), |x| *x += 1)));
        assert_eq!(items, [1; 5]);
    }

    #[test]
    fn a_failure_reaches_the_leader_and_the_team_works_on() {
        let team = Team::of(2);
        for bad in [0, 1] {
            let mut items = [0, 1];
            let failed = catch_unwind(AssertUnwindSafe(|| {
                team.lead(|| each(&mut items, |item| assert!(*item != bad, "on purpose")));
            }));
            assert!(failed.is_err());
            assert_eq!(team.lead(|| squares(100)), squares(100));
        }
    }
}
