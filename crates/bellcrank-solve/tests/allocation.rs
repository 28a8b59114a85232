//! Once warm, a step allocates nothing.

mod common;

use bellcrank_solve::FormulationKind::{Ggl, Index1, Index3, Si2};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::record::OnStep;
use bellcrank_solve::run::Simulation;
use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    // of this thread alone: the test harness allocates on others
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    let _ = ALLOCATIONS.try_with(|c| c.set(c.get() + 1));
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        unsafe { System.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_warm_step_allocates_nothing() {
    let cases = [
        (MethodName::GeneralizedAlpha, Some(Index3), Some(1e-3)),
        (MethodName::GeneralizedAlpha, Some(Si2), Some(1e-3)),
        (MethodName::Bdf, Some(Ggl), None),
        (MethodName::Bdf, Some(Index1), None),
        (MethodName::Rk4, None, Some(1e-3)),
        (MethodName::Dopri5, None, None),
        (MethodName::Dop853, None, None),
    ];
    for text in [FOUR_BAR, SPATIAL] {
        let s = system(text);
        for (method, formulation, step) in cases {
            let options = Options { method, formulation, step, until: 6.0, ..Options::default() };
            let mut simulation = Simulation::new(s.clone(), options).expect("starts");
            let (mut steps, mut warm, mut last) = (0, 0, 0);
            simulation.run(&mut OnStep(|_: &AcceptedStep| {
                steps += 1;
                last = ALLOCATIONS.get();
                if steps == 25 {
                    warm = last;
                }
            }));
            assert!(steps > 30, "{} took {steps} steps", method.name());
            // a re-centred rotation chart tells what it moved: one small list now and then
            let allowed = if text == SPATIAL { steps / 4 } else { 0 };
            assert!(
                last - warm <= allowed,
                "{} {formulation:?}: {} allocations in {steps} steps",
                method.name(),
                last - warm
            );
        }
    }
}
