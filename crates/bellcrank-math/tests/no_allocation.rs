//! The numeric phases allocate nothing.

mod samples;

use bellcrank_math::linear::{block_lu::BlockLu, dense::DenseLu, solver, solver::LinearSolver};
use bellcrank_math::random::Random;
use samples::{Form, Sample};
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

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn factor_and_solve_allocate_nothing() {
    let mut redundant = Sample::ladder(10);
    redundant.joints.push(redundant.joints[9].clone());
    for sample in [Sample::ladder(30), redundant, Sample::net(7)] {
        for form in [Form::Index3, Form::Ggl] {
            let a = sample.matrix(form, 10.0, &mut Random::new(1));
            let b = vec![1.0; a.pattern().dimension()];
            let mut dense = DenseLu::new();
            dense.analyze(a.pattern()).unwrap();
            let backends: [Box<dyn LinearSolver>; 3] =
                [Box::new(BlockLu::for_pattern(a.pattern()).unwrap()), Box::new(dense), solver::choose(a.pattern())];
            for mut solver in backends {
                let mut x = b.clone();
                let before = ALLOCATIONS.get();
                for _ in 0..3 {
                    solver.factor(&a).unwrap();
                    solver.solve(&mut x).unwrap();
                }
                assert_eq!(ALLOCATIONS.get(), before, "{}", solver.name());
            }
        }
    }
}
