//! Memory of large models, counted: bytes at the peak from the text of a file to the end of a run, per body.

use bellcrank_model::read::read_text;
use bellcrank_model::{System, scene};
use bellcrank_results::{Folder, json};
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{Coordinates, MethodName, Options};
use bellcrank_solve::record::{Recorder, Silent};
use bellcrank_solve::run::{Simulation, Status};
use std::alloc::{GlobalAlloc, Layout};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// One test at a time: what others allocate would be counted too.
static ALONE: Mutex<()> = Mutex::new(());

/// Counts what is alive, on all threads, with eight bytes more for each piece, in units of sixteen, as allocators take them.
struct Counting;

fn taken(size: usize) -> usize {
    (size + 8).next_multiple_of(16).max(32)
}

fn add(size: usize) {
    let live = LIVE.fetch_add(taken(size), Relaxed) + taken(size);
    PEAK.fetch_max(live, Relaxed);
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { std::alloc::System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        LIVE.fetch_sub(taken(layout.size()), Relaxed);
        unsafe { std::alloc::System.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // the system moves pages of large pieces and copies small ones: the old one counts no more
        LIVE.fetch_sub(taken(layout.size()), Relaxed);
        add(size);
        unsafe { std::alloc::System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A ladder of m squares in the plane: 3m + 1 rods, pinned.
fn ladder(m: usize) -> String {
    let mut out = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    let body = |out: &mut String, name: String, x: f64, y: f64| {
        writeln!(out, "body.{name} = {{ mass = 1, inertia = 0.08333333333333333, at = [{x:?}, {y:?}] }}").unwrap();
    };
    for i in 0..=m {
        let x = i as f64;
        body(&mut out, format!("v{i}"), x, -0.5);
        if i < m {
            body(&mut out, format!("t{i}"), x + 0.5, 0.0);
            body(&mut out, format!("b{i}"), x + 0.5, -1.0);
        }
    }
    let mut pins = 0;
    let mut pin = |out: &mut String, a: String, b: String, x: usize, y: i32| {
        pins += 1;
        let joint = "type = \"revolute\", between";
        writeln!(out, "joint.p{pins} = {{ {joint} = [\"{a}\", \"{b}\"], at = [{x}, {y}] }}").unwrap();
    };
    pin(&mut out, "ground".into(), "v0".into(), 0, 0);
    for i in 0..=m {
        for (rail, y) in [("t", 0), ("b", -1)] {
            if i > 0 {
                pin(&mut out, format!("{rail}{}", i - 1), format!("v{i}"), i, y);
            }
            if i < m {
                pin(&mut out, format!("v{i}"), format!("{rail}{i}"), i, y);
            }
        }
    }
    out
}

/// What a stage leaves and the most it needs, in bytes per body.
struct Stage {
    left: f64,
    peak: f64,
}

/// Bytes at the peak of a run of a few steps, stage by stage: the file, the solver, the run.
fn stages(m: usize, options: Options, recorded: bool) -> [Stage; 3] {
    let text = ladder(m);
    let bodies = (3 * m + 1) as f64;
    let before = LIVE.load(Relaxed);
    let mut last = before;
    let mut stage = || {
        let (live, peak) = (LIVE.load(Relaxed), PEAK.load(Relaxed));
        let stage = Stage { left: (live as f64 - last as f64) / bodies, peak: (peak - before) as f64 / bodies };
        last = live;
        PEAK.store(live, Relaxed);
        stage
    };
    PEAK.store(before, Relaxed);
    let system: Arc<System> = Arc::new(read_text("ladder.toml", &text, &[]).expect("reads").model.into_system());
    let file = stage();
    let mut simulation = Simulation::new(system.clone(), options).expect("starts");
    let solver = stage();
    let dir = std::env::temp_dir().join(format!("bellcrank-memory-{}", std::process::id()));
    let mut folder = Folder::new(&dir).with_scene(move |out| scene::write(&system.model, out));
    let recorder: &mut dyn Recorder = if recorded { &mut folder } else { &mut Silent };
    let summary = simulation.run(recorder);
    assert_eq!(summary.status, Status::Finished);
    assert!(summary.statistics.steps > 0 && summary.last.len() > 12 * 3 * m);
    let mut text = Vec::new();
    json::write(&json::run(&summary), json::FinalValues::of(&summary), &mut text).expect("is written");
    assert!(text.len() > 100 * m);
    let run = stage();
    let _ = std::fs::remove_dir_all(dir);
    [file, solver, run]
}

/// The runs people make of it, and the MiB that 10⁵ bodies may take. `si2` takes more where it needs the factors of the whole
/// matrix, as close to singular positions: that is not in its bound.
fn runs() -> [(&'static str, Options, f64); 3] {
    let (until, sample) = (2e-3, Some(1e-3));
    let fixed = Options {
        method: MethodName::GeneralizedAlpha,
        formulation: Some(FormulationKind::Index3),
        step: Some(1e-3),
        until,
        sample,
        ..Options::default()
    };
    [
        ("auto", Options { until, sample, ..Options::default() }, 900.0),
        ("fixed steps on index3", fixed.clone(), 930.0),
        ("fixed steps on si2", Options { formulation: Some(FormulationKind::Si2), ..fixed }, 960.0),
    ]
}

const MIB: f64 = (1u64 << 20) as f64;

/// Bytes at the peak of everything with so many bodies, as the line through two sizes tells: buffers do not grow with them.
fn foreseen(bodies: f64, options: &Options, recorded: bool) -> f64 {
    // recorded ones are as wide as tables whose rows wait in a file
    let [small, large] = (if recorded { [900, 1400] } else { [300, 600] }).map(|m| {
        let peak = stages(m, options.clone(), recorded).iter().fold(0.0f64, |most, s| most.max(s.peak));
        let n = (3 * m + 1) as f64;
        (n, n * peak)
    });
    small.1 + (bodies - small.0) * (large.1 - small.1) / (large.0 - small.0)
}

#[test]
fn a_ladder_of_a_hundred_thousand_bodies_fits_into_a_gibibyte() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, options, most) in runs() {
        // what recording adds does not depend on the method
        for recorded in [false, true].into_iter().filter(|recorded| !recorded || name == "auto") {
            let bytes = foreseen(1e5, &options, recorded);
            println!("{name}, recorded {recorded}: {:.0} MiB", bytes / MIB);
            assert!(bytes < most * MIB, "{name}: {:.0} MiB, recorded: {recorded}", bytes / MIB);
        }
    }
}

/// Where the two halves of a long ladder meet, pivots are as small as the ladder is long: no reason for the whole matrix.
#[test]
fn stabilized_steps_of_a_long_ladder_get_by_with_two_systems() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, options, most) =
        runs().into_iter().find(|r| r.1.formulation == Some(FormulationKind::Si2)).expect("is there");
    let m = 3000;
    let peak = stages(m, options.clone(), false).iter().fold(0.0f64, |most, s| most.max(s.peak));
    assert!(1e5 * peak < most * MIB, "{peak:.0} bytes per body");
    let text = ladder(m);
    let system: Arc<System> = Arc::new(read_text("ladder.toml", &text, &[]).expect("reads").model.into_system());
    let mut simulation = Simulation::new(system, options).expect("starts");
    let summary = simulation.run(&mut Silent);
    let solver = summary.solver.unwrap_or_default();
    assert!(solver.starts_with("two KKT systems of half the size"), "{solver}");
    // what was given back is made anew
    let again = simulation.run(&mut Silent);
    assert_eq!(again.status, Status::Finished);
    assert!(summary.drift.velocity < 1e-9, "{:?}", summary.drift);
}

/// An open chain of rods in the plane.
fn chain(n: usize) -> String {
    let mut out = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for i in 0..n {
        let before = if i == 0 { "ground".to_string() } else { format!("b{}", i - 1) };
        writeln!(out, "body.b{i} = {{ mass = 1, inertia = 0.0833, at = [{i}.5, 0] }}").unwrap();
        writeln!(out, "joint.j{i} = {{ type = \"revolute\", between = [\"{before}\", \"b{i}\"], at = [{i}, 0] }}")
            .unwrap();
    }
    out
}

/// A matrix, had one been formed, would be full: twice the bodies would take four times the memory.
#[test]
fn an_open_chain_in_relative_coordinates_takes_memory_in_proportion() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options { coordinates: Coordinates::Relative, until: 1e-3, ..Options::default() };
    let [small, large] = [2000, 4000].map(|n| {
        let text = chain(n);
        let before = LIVE.load(Relaxed);
        PEAK.store(before, Relaxed);
        let system: Arc<System> = Arc::new(read_text("chain.toml", &text, &[]).expect("reads").model.into_system());
        let summary = Simulation::new(system, options.clone()).expect("starts").run(&mut Silent);
        assert_eq!(summary.status, Status::Finished);
        assert!(summary.solver.is_some_and(|s| s.starts_with("recursion")));
        // from 2000 joints on the matrix of an implicit method would be too large
        assert!(summary.choices.iter().any(|c| c.starts_with("explicit to the end")), "{:?}", summary.choices);
        (PEAK.load(Relaxed) - before) as f64 / n as f64
    });
    println!("{small:.0} and {large:.0} bytes per body");
    assert!(large < 1.1 * small, "{small:.0} and {large:.0} bytes per body");
}

#[test]
fn a_matrix_that_would_be_too_large_is_refused_before_it_is_formed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let auto = Options { coordinates: Coordinates::Relative, until: 1e-3, ..Options::default() };
    let bdf = Options { method: MethodName::Bdf, ..auto.clone() };
    let ggl = Options { formulation: Some(FormulationKind::Ggl), ..auto.clone() };
    for (text, options, why, help) in [
        (ladder(1000), &auto, "loops", "use `coordinates: cartesian`"),
        (chain(3000), &bdf, "bdf", "which is explicit"),
        (chain(3000), &ggl, "bdf", "which is explicit"),
    ] {
        let system: Arc<System> = Arc::new(read_text("large.toml", &text, &[]).expect("reads").model.into_system());
        let before = LIVE.load(Relaxed);
        PEAK.store(before, Relaxed);
        let refused = Simulation::new(system, options.clone()).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(refused.contains(why) && refused.contains("blocks") && refused.contains(help), "{refused}");
        let peak = (PEAK.load(Relaxed) - before) as f64;
        assert!(peak < 50.0 * MIB, "{:.0} MiB", peak / MIB);
    }
}

/// The table of the book: `cargo test --release -p bellcrank-results --test memory -- --ignored --nocapture`.
#[test]
#[ignore = "prints a table, and needs minutes"]
fn table() {
    for (name, options, _) in runs() {
        for m in [333, 3333, 33_333] {
            for recorded in [false, true] {
                let [file, solver, run] = stages(m, options.clone(), recorded);
                println!(
                    "{name}, {} bodies, recorded {recorded}: file {:.0} (peak {:.0}), solver {:.0} (peak {:.0}), run {:.0} (peak {:.0})",
                    3 * m + 1,
                    file.left,
                    file.peak,
                    solver.left,
                    solver.peak,
                    run.left,
                    run.peak
                );
            }
        }
    }
}
