//! A team of threads that shares short tasks, down to some microseconds.
//!
//! [`Team::lead`] decides who works; results do not depend on it. Every share writes to places of its own, sums are taken over
//! ranges of fixed size, and without a team the caller does everything.

use super::handover::{Crew, JoinHandle};
use crate::numbers;
use std::cell::{RefCell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// The most threads of a team.
pub const MOST_THREADS: usize = 16;

/// Arrays are divided if every thread gets at least this many numbers.
const LEAST: usize = 1000;

/// Numbers of each of some ten arrays that fit the nearest cache together.
const NEAR: usize = 512;

/// The ranges in which a long array is reduced, on any number of threads.
const RANGES: usize = 16;

thread_local! {
    /// The crew that the current thread leads.
    static LED: RefCell<Option<Arc<Crew>>> = const { RefCell::new(None) };
}

/// Threads that wait for tasks.
pub struct Team {
    /// None for a team of one.
    crew: Option<Arc<Crew>>,
    threads: Vec<JoinHandle<()>>,
}

impl Team {
    /// A team of `size` threads, the leader included; of one if the system grants no threads.
    pub fn of(size: usize) -> Team {
        let size = size.clamp(1, MOST_THREADS);
        let crew = if size > 1 { Crew::of(size) } else { None };
        let (crew, threads) = crew.unzip();
        Team { crew, threads: threads.unwrap_or_default() }
    }

    /// The number of threads, the leader included.
    pub fn size(&self) -> usize {
        self.crew.as_ref().map_or(1, |crew| crew.size())
    }

    /// Runs `work` with the help of the team.
    pub fn lead<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Before(Option<Arc<Crew>>);
        impl Drop for Before {
            fn drop(&mut self) {
                LED.set(self.0.take());
            }
        }
        let _before = Before(LED.replace(self.crew.clone()));
        work()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if let Some(crew) = &self.crew {
            crew.dismiss(std::mem::take(&mut self.threads));
        }
    }
}

/// The share of one thread, until it is taken.
struct Slot<T>(UnsafeCell<Option<T>>);

// SAFETY: slot k is filled before the task begins, and emptied by thread k alone.
unsafe impl<T: Send> Sync for Slot<T> {}

/// Divides 0..n among the team: `share` is asked for the data of each range, in ascending order, and `work` is done on all
/// shares in parallel. Ranges are not shorter than `least`.
#[inline]
pub fn divided<T: Send>(n: usize, least: usize, mut share: impl FnMut(Range<usize>) -> T, work: impl Fn(T) + Sync) {
    // before anything else: small models come here a thousand times per step
    if n < 2 * least {
        return work(share(0..n));
    }
    // taken, not borrowed: while it works, the leader has no team, so shares are not divided further
    let Some(crew) = LED.take() else { return work(share(0..n)) };
    let shares = crew.size().min(n / least.max(1));
    let mut slots: [Slot<T>; MOST_THREADS] = std::array::from_fn(|_| Slot(UnsafeCell::new(None)));
    for (k, slot) in slots.iter_mut().enumerate().take(shares) {
        *slot.0.get_mut() = Some(share(n * k / shares..n * (k + 1) / shares));
    }
    let guarded = catch_unwind(AssertUnwindSafe(|| {
        crew.together(&|k| {
            // SAFETY: thread k alone takes from slot k.
            if let Some(share) = unsafe { &mut *slots[k].0.get() }.take() {
                work(share);
            }
        })
    }));
    LED.set(Some(crew));
    if let Err(panic) = guarded {
        resume_unwind(panic);
    }
}

/// Arrays of at most this length are filled at once: to look for threads and wide registers would cost as much.
const FEW: usize = 128;

/// Calls `work` for every item, in parallel where there are threads.
pub fn each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Sync) {
    let mut rest = items;
    divided(rest.len(), 1, |range| cut(&mut rest, range.len()), |items: &mut [T]| items.iter_mut().for_each(&work));
}

/// Fills arrays of equal length: `work` gets a range of indices, and the arrays within it. Ranges are so short that several
/// loops within `work` find their numbers in the cache.
#[inline]
pub fn fill<const K: usize>(arrays: [&mut [f64]; K], work: impl Fn(Range<usize>, [&mut [f64]; K]) + Sync) {
    let n = arrays.iter().map(|array| array.len()).min().unwrap_or(0);
    if n <= FEW {
        return work(0..n, arrays.map(|array| &mut array[..n]));
    }
    fill_both((arrays, work), ([], |_, []| ()));
}

/// Fills two groups of arrays with one hand-over. Within a group, the arrays have equal length.
pub fn fill_both<const K: usize, const L: usize>(
    (first, fill_first): ([&mut [f64]; K], impl Fn(Range<usize>, [&mut [f64]; K]) + Sync),
    (second, fill_second): ([&mut [f64]; L], impl Fn(Range<usize>, [&mut [f64]; L]) + Sync),
) {
    let (mut first, mut second) = (Group::of(first), Group::of(second));
    let (of_first, of_second) = (first.range.end, second.range.end);
    let n = of_first.max(of_second);
    if n <= FEW {
        let (first, second) = (first.cut(of_first), second.cut(of_second));
        fill_first(first.range, first.arrays);
        return fill_second(second.range, second.arrays);
    }
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

/// Arrays within a range of indices.
struct Group<'a, const K: usize> {
    range: Range<usize>,
    arrays: [&'a mut [f64]; K],
}

impl<'a, const K: usize> Group<'a, K> {
    fn of(arrays: [&'a mut [f64]; K]) -> Self {
        Group { range: 0..arrays.iter().map(|array| array.len()).min().unwrap_or(0), arrays }
    }

    /// Splits off what lies before an index.
    #[inline]
    fn cut(&mut self, end: usize) -> Self {
        let range = self.range.start..end;
        self.range.start = end;
        Group { arrays: self.arrays.each_mut().map(|array| cut(array, range.len())), range }
    }

    /// Fills range by range, with the widest registers of the processor.
    fn fill(self, work: &impl Fn(Range<usize>, [&mut [f64]; K])) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { self.fill_wide(work) };
        }
        self.fill_near(work);
    }

    /// Compiled for AVX2, but without FMA: results must not depend on the processor.
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

/// to ← from, resized.
pub fn copy(from: &[f64], to: &mut Vec<f64>) {
    to.resize(from.len(), 0.0);
    fill([to], |range, [to]| to.copy_from_slice(&from[range]));
}

/// The results of `part` for ranges of 0..n, combined in order. The ranges do not depend on the number of threads.
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

/// max |xᵢ|.
pub fn largest(x: &[f64]) -> f64 {
    // four lanes: no comparison waits for the one before
    let of = |range: Range<usize>| {
        let mut most = [0.0f64; 4];
        let (lanes, rest) = x[range].as_chunks::<4>();
        for lane in lanes {
            most.iter_mut().zip(lane).for_each(|(m, x)| *m = if x.abs() > *m { x.abs() } else { *m });
        }
        numbers::largest(most.iter().chain(rest))
    };
    reduced(x.len(), of, f64::max)
}

/// Splits the first n items off a slice.
#[inline]
pub fn cut<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(n);
    *rest = tail;
    head
}

#[cfg(all(test, not(loom)))]
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
        let rounds = if cfg!(miri) { 3 } else { 300 };
        for size in [1, 2, 3, 8, 100] {
            let team = Team::of(size);
            // many short tasks, and some after a sleep
            for round in 0..rounds {
                if round % 100 == 99 {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                assert_eq!(team.lead(|| squares(1000)), alone);
            }
            assert_eq!(team.lead(|| squares(3)), [0.0, 1.0, 4.0]);
        }
    }

    #[test]
    fn sums_do_not_depend_on_the_number_of_threads() {
        for n in [0, 1, 999, if cfg!(miri) { 2345 } else { 12345 }] {
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
    fn shares_are_not_divided_further() {
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
