//! Models run whole and cut where a cut is hard: the two agree.

mod machines;

use bellcrank_glue::{CutRun, run_cut};
use bellcrank_solve::choices::Options;
use machines::system;

/// A model of this folder, or one of the examples.
fn text(name: &str) -> String {
    let here = env!("CARGO_MANIFEST_DIR");
    let paths = [format!("{here}/tests/models/{name}.toml"), format!("{here}/../../examples/{name}.toml")];
    paths.iter().find_map(|path| std::fs::read_to_string(path).ok()).unwrap_or_else(|| panic!("no model {name}"))
}

fn cut(text: &str, at: &[&str], h: f64, until: f64) -> CutRun {
    let options = Options { step: Some(h), until, ..Options::default() };
    run_cut(&system(text), options, at).unwrap_or_else(|e| panic!("{at:?}: {e}"))
}

/// The largest difference in some unit.
fn off(run: &CutRun, unit: &str) -> f64 {
    run.differences.iter().filter(|d| d.unit == unit).map(|d| d.size).fold(0.0, f64::max)
}

#[test]
fn a_spring_on_a_port_at_its_dead_centre_is_glued_at_any_window() {
    let model = text("dead-centre");
    for (h, until) in [(1e-3, 0.3), (1e-4, 0.3), (2e-5, 0.05)] {
        let run = cut(&model, &["spring"], h, until);
        let counts = &run.summary.counts;
        assert!(off(&run, "m") < 1e-11 && off(&run, "N") < 1e-7, "{h:e}: {:?}", run.differences);
        assert!(counts.exchanges <= 21 * counts.windows / 10, "{h:e}: {counts:?}");
    }
    let model = text("seven-body");
    for h in [1e-4, 3e-5] {
        let run = cut(&model, &["spring"], h, 0.01);
        assert!(off(&run, "m") < 1e-11 && off(&run, "N") < 1e-6, "{h:e}: {:?}", run.differences);
    }
}

#[test]
fn rows_of_a_cut_model_follow_its_windows_unless_intervals_are_given() {
    let system = system(&text("slider-crank"));
    let run = |sample| {
        let options = Options { step: Some(1e-3), until: 0.8, sample, ..Options::default() };
        run_cut(&system, options, &["spring"]).unwrap_or_else(|e| panic!("{e}"))
    };
    let (following, even) = (run(None), run(Some(0.02)));
    assert_eq!((following.glued.times.len(), even.glued.times.len(), even.whole.times.len()), (801, 41, 41));
    // the comparison is at equal intervals, whatever is recorded
    assert_eq!(following.whole.times.len(), 201);
    assert!(off(&following, "m") < 1e-9 && off(&even, "m") < 1e-9, "{:?}", following.differences);
}

#[test]
fn a_part_with_its_own_solver_feels_a_spring_at_its_dead_centre_too() {
    let system = system(&text("dead-centre"));
    let options = Options { rtol: 1e-5, until: 0.3, ..Options::default() };
    let run = run_cut(&system, options, &["spring"]).unwrap_or_else(|e| panic!("{e}"));
    assert!(off(&run, "m") < 1e-4, "{:?}", run.differences);
}

#[test]
fn springs_of_the_examples_are_glued_to_a_nanometre() {
    for (name, at, h, until) in [
        ("slider-crank", "spring", 1e-3, 0.2),
        ("suspension", "strut", 1e-3, 0.1),
        ("quarter-car", "suspension", 1e-3, 0.5),
        ("quarter-car", "tyre", 1e-3, 0.5),
    ] {
        let run = cut(&text(name), &[at], h, until);
        let counts = &run.summary.counts;
        assert!(off(&run, "m") < 1e-9, "{name} {at}: {:?}", run.differences);
        assert!(counts.exchanges <= 21 * counts.windows / 10, "{name} {at}: {counts:?}");
    }
}

#[test]
fn nonholonomic_rows_inside_a_part_are_those_of_the_whole() {
    let run = cut(&text("rolling-disk-with-bob"), &["hinge"], 1e-3, 0.2);
    assert!(off(&run, "m") < 1e-9, "{:?}", run.differences);
    let driven = machines::SPATIAL.to_string() + "motor = { type = \"drive\", joint = \"pin\", rate = \"1 + t\" }\n";
    let run = cut(&driven, &["socket"], 1e-3, 0.2);
    assert!(off(&run, "m") < 1e-9, "{:?}", run.differences);
}

#[test]
fn a_rough_start_is_softened_in_the_parts_where_it_is_in_the_whole() {
    let run = cut(&text("stiff-shafts"), &["mesh"], 1e-3, 0.1);
    assert!(off(&run, "m") < 1e-9 && off(&run, "N") < 1e-3, "{:?}", run.differences);
}

#[test]
fn overconstrained_cuts_take_the_least_loads_and_say_so() {
    for (name, at, h, until, named) in
        [("wishbones", &["lf", "lr"][..], 1e-3, 0.1, "joint `lf`"), ("bennett", &["j1", "j3"], 1e-3, 0.2, "joint `j1`")]
    {
        let run = cut(&text(name), at, h, until);
        let counts = &run.summary.counts;
        assert!(off(&run, "m") < 1e-9, "{name}: {:?}", run.differences);
        assert!(counts.exchanges <= 3 * counts.windows, "{name}: {counts:?}");
        let told = &run.summary.reactions_not_unique;
        assert!(told.iter().any(|n| n == named), "{name}: {told:?}");
    }
}

#[test]
fn ports_that_stand_still_while_the_machine_moves_can_be_joined() {
    // crank and coupler start in line, and nothing beyond them moves
    let run = cut(&text("seven-body"), &["G"], 1e-4, 0.01);
    assert!(off(&run, "m") < 1e-11, "{:?}", run.differences);
}

#[test]
fn reactions_that_are_redundant_inside_a_part_are_told_and_not_compared() {
    let run = cut(&text("wishbones"), &["strut"], 1e-3, 0.05);
    let told = &run.summary.reactions_not_unique;
    assert!(["lf", "lr", "uf", "ur"].iter().all(|j| told.contains(&format!("joint `{j}`"))), "{told:?}");
    assert!(off(&run, "m") < 1e-9 && off(&run, "N") < 1e-2, "{:?}", run.differences);
}
