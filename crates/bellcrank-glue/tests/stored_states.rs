//! States of a glued run: saved in memory, stored in files, refused when they are damaged.

mod machines;

use bellcrank_glue::{
    Checkpoints, Coordinator, Coupling, GlueError, GlueOptions, GluedProgress, GluedSimulation, GluedStatus,
    INTERFACE_FILE, Levels,
};
use bellcrank_solve::choices::MethodName;
use bellcrank_solve::record::Memory;
use machines::{DOUBLE_FOUR_BAR, FOUR_BAR, SPATIAL, join, own, system, values};
use std::path::{Path, PathBuf};

/// An empty folder of one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn what_was_saved_is_run_again_to_the_bit() {
    let system = system(SPATIAL);
    let options = GlueOptions { window: 2e-3, ..GlueOptions::default() };
    let mut c = join(&system, &["socket"], options, &[]);
    c.run(0.02, &mut |_| Ok(())).unwrap();
    c.save().unwrap();
    c.run(0.06, &mut |_| Ok(())).unwrap();
    let first = values(&mut c);
    c.restore().unwrap();
    assert!((c.time() - 0.02).abs() < 1e-15);
    c.run(0.06, &mut |_| Ok(())).unwrap();
    assert_eq!(first, values(&mut c));
}

#[test]
fn a_stored_state_is_run_again_to_the_bit_by_fresh_parts() {
    let folder = folder("stored-parts");
    let solvers = [own(MethodName::Dopri5), own(MethodName::Bdf)];
    for (coupling, rtol) in [(Coupling::Stabilized, None), (Coupling::Position, None), (Coupling::Windows, Some(1e-5))]
    {
        for (text, at) in [(SPATIAL, &["socket"][..]), (FOUR_BAR, &["b", "d"])] {
            let system = system(text);
            let tolerances = Levels::all(if coupling == Coupling::Windows { 1e-7 } else { 1e-10 });
            let options = GlueOptions { coupling, rtol, tolerances, window: 2e-3, ..GlueOptions::default() };
            let mut first = join(&system, at, options, &solvers);
            first
                .run(0.06, &mut |c| if c.windows() == 9 { c.keep(&folder, "nine", &[7, 8]) } else { Ok(()) })
                .unwrap_or_else(|e| panic!("{e}"));
            let mut second = join(&system, at, options, &solvers);
            assert_eq!(second.recover(&folder).unwrap(), [7, 8]);
            assert_eq!(second.windows(), 9);
            second.run(0.06, &mut |_| Ok(())).unwrap();
            assert_eq!(first.windows(), second.windows(), "{coupling:?} {at:?}");
            assert_eq!(values(&mut first), values(&mut second), "{coupling:?} {at:?}");
        }
    }
    // another assembly is refused
    let options = GlueOptions { window: 2e-3, ..GlueOptions::default() };
    let mut other = join(&system(DOUBLE_FOUR_BAR), &["e", "f"], options, &[]);
    assert!(other.recover(&folder).unwrap_err().to_string().contains("another assembly"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Files of all parts and of the interface: cut anywhere, or with any byte changed, they are refused by name.
#[test]
fn damaged_states_are_refused_by_name() {
    let folder = folder("damaged-states");
    for (coupling, name) in [(Coupling::Stabilized, "stabilized"), (Coupling::Windows, "windows")] {
        let options = GlueOptions { coupling, window: 2e-3, ..GlueOptions::default() };
        let new = || join(&system(FOUR_BAR), &["b", "d"], options, &[own(MethodName::Dopri5)]);
        let mut run = new();
        run.run(4e-3, &mut |_| Ok(())).unwrap();
        let folder = folder.join(name);
        run.keep(&folder, "two", &[]).unwrap();
        let mut again = new();
        let files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
        assert_eq!(files.len(), 3, "{files:?}");
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let mut refused = |changed: &[u8], expected: &[&str], what: &str| {
                std::fs::write(&file, changed).unwrap();
                let why = again.recover(&folder).unwrap_err().to_string();
                assert!(expected.iter().any(|e| why.contains(e)), "{what} of {}: {why}", file.display());
            };
            // all of the header, and a sample of the rest
            let places = (0..bytes.len()).filter(|at| *at < 64 || at % 7 == 0);
            for at in places.clone() {
                refused(&bytes[..at], &["is not a stored state", "is damaged"], "the first bytes");
            }
            for at in places {
                let mut changed = bytes.clone();
                changed[at] ^= 0x10;
                refused(&changed, &["is not a stored state", "is damaged", "of the format"], "a changed byte");
            }
            std::fs::write(&file, &bytes).unwrap();
        }
        again.recover(&folder).unwrap();
        run.run(1e-2, &mut |_| Ok(())).unwrap();
        again.run(1e-2, &mut |_| Ok(())).unwrap();
        assert_eq!(values(&mut run), values(&mut again));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A state of parts in step is not one of parts with their own solvers.
#[test]
fn states_of_another_solver_are_refused_by_name() {
    let folder = folder("other-solver");
    let new = |coupling| {
        let options = GlueOptions { coupling, window: 2e-3, ..GlueOptions::default() };
        join(&system(FOUR_BAR), &["b"], options, &[own(MethodName::Dopri5)])
    };
    new(Coupling::Stabilized).keep(&folder, "start", &[]).unwrap();
    let why = new(Coupling::Windows).recover(&folder).unwrap_err().to_string();
    assert!(why.contains("holds a state of a part in step, not a state of a part with its own solver"), "{why}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Fails after some windows.
struct Stops(u64);

impl GluedProgress for Stops {
    fn window(&mut self, run: &Coordinator) {
        assert!(run.windows() < self.0, "stopped on purpose");
    }
}

/// At equal intervals, and the end of every window.
#[test]
fn a_resumed_run_records_the_frames_of_one_that_was_never_stopped() {
    resumed_frames_are_those_of(Some(0.01), 7);
    resumed_frames_are_those_of(None, 31);
}

fn resumed_frames_are_those_of(sample: Option<f64>, rows: usize) {
    let options = GlueOptions { window: 2e-3, ..GlueOptions::default() };
    let new = |folder: Option<&Path>, resume| {
        let run = GluedSimulation::new("four-bar", join(&system(FOUR_BAR), &["b", "d"], options, &[]), 0.06, sample);
        match folder {
            Some(folder) => {
                let checkpoints =
                    Checkpoints { folder: folder.into(), every: 4, run: "run".into(), parts: String::new() };
                run.with_checkpoints(checkpoints, resume)
            }
            None => run,
        }
    };
    let mut straight = Memory::default();
    let summary = new(None, false).run(&mut straight, &mut ());
    assert_eq!((&summary.status, summary.counts.windows, summary.t), (&GluedStatus::Finished, 30, 0.06));
    assert_eq!(straight.times.len(), rows);
    let folder = folder(&format!("resumed-{rows}"));
    let stopped = std::panic::catch_unwind(|| new(Some(&folder), false).run(&mut Memory::default(), &mut Stops(18)));
    assert!(stopped.is_err() && folder.join(INTERFACE_FILE).exists());
    let mut resumed = Memory::default();
    let again = new(Some(&folder), true).run(&mut resumed, &mut ());
    assert_eq!(again.status, GluedStatus::Finished);
    assert_eq!(again.counts.exchanges, summary.counts.exchanges);
    assert_eq!(resumed.times, straight.times);
    (0..resumed.times.len()).for_each(|k| assert_eq!(resumed.row(k), straight.row(k)));
    // a file of frames that does not belong to the checkpoint
    std::fs::write(folder.join("frames"), b"short").unwrap();
    let refused = new(Some(&folder), true).run(&mut Memory::default(), &mut ());
    assert!(refused.error.is_some_and(|e| e.contains("do not belong together")));
    let nowhere = new(Some(Path::new("/nowhere")), true).run(&mut Memory::default(), &mut ());
    assert!(
        matches!(nowhere.status, GluedStatus::Failed(e) if matches!(&e, bellcrank_glue::GluedRunError::Glue(GlueError::Unfit(_))))
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A blow of 4 ms in a run of 2 s.
const BLOW: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.upper = { rod = { from = [0, 0], to = [0.8, -0.6], mass = 2 } }
body.lower = { rod = { from = [0.8, -0.6], to = [1.6, 0], mass = 1 } }
joint.a = { type = "revolute", between = ["ground", "upper"], at = [0, 0] }
joint.b = { type = "revolute", between = ["upper", "lower"], at = [0.8, -0.6] }
force.blow = { type = "force", body = "lower", at = [1.2, -0.3], force = ["800*exp(-((t - 0.8053)/0.001)^2)", 0] }
"#;

#[test]
fn every_window_of_a_glued_run_is_seen_and_thinned_rows_keep_the_extremes_of_all_channels() {
    let run = |sample| {
        let options = GlueOptions { window: 5e-4, ..GlueOptions::default() };
        let coordinator = join(&system(BLOW), &["b"], options, &[]);
        let mut memory = Memory::default();
        let summary = GluedSimulation::new("blow", coordinator, 2.0, sample).run(&mut memory, &mut ());
        assert_eq!(summary.status, GluedStatus::Finished);
        memory
    };
    let extremes = |memory: &Memory, k: usize| {
        let of = (0..memory.times.len()).map(|row| memory.row(row)[k]);
        of.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], x| [a.min(x), b.max(x)])
    };
    let (all, thinned, coarse) = (run(Some(5e-4)), run(None), run(Some(0.01)));
    let channels = all.header.channels.len();
    assert_eq!((all.times.len(), coarse.times.len()), (4001, 201));
    assert!(thinned.times.len() <= 2000 + 2 * channels, "{} rows", thinned.times.len());
    assert!(thinned.times.is_sorted_by(|a, b| a < b));
    for k in 0..channels {
        assert_eq!(extremes(&thinned, k), extremes(&all, k), "{}", all.header.channels[k].name);
    }
    // the blow is between two of the two hundred samples: its peak is not in them
    let k = all.header.channels.iter().position(|c| c.name.ends_with("b.fx")).expect("the force at the cut");
    let largest = |memory| extremes(memory, k).into_iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(largest(&thinned) > 1.5 * largest(&coarse), "{} {}", largest(&thinned), largest(&coarse));
}
