//! Options: one table, one reason and one suggestion for a wrong one wherever it was chosen.

use bellcrank_model::read::read_text;
use bellcrank_solve::choices::{
    CHOICES, ChoiceError, Coordinates, ErrorBudget, ErrorScope, FormulationKind, METHODS, MethodName, Options, Origin,
    PRESETS, Said, Set, Solver, Voice, fields, resolve,
};
use bellcrank_solve::newton::Iteration;

const BODY: &str = "[body.ball]\nmass = 1\n[parameter]\nn = 9\n";

fn in_file(solve: &[(&str, &str)]) -> Result<Options, ChoiceError> {
    let lines: String = solve.iter().map(|(key, value)| format!("{key} = {}\n", toml(value))).collect();
    let read = read_text("m.toml", &format!("{BODY}[solve]\n{lines}"), &[]).expect("reads");
    Options::from_settings(&read.settings)
}

fn toml(value: &str) -> String {
    if value.parse::<f64>().is_ok() { value.to_string() } else { format!("{value:?}") }
}

fn as_arguments(given: &[(&str, &str)]) -> Result<Options, ChoiceError> {
    resolve(&given.iter().map(|(key, value)| Said::argument(*key, *value)).collect::<Vec<_>>())
}

/// What is chosen in words, the same in Rust, and the key that the error is about.
type Wrong = (&'static [(&'static str, &'static str)], fn(&mut Options), &'static str);

const WRONG: &[Wrong] = &[
    (&[("until", "-1")], |o| o.until = -1.0, "until"),
    (&[("rtol", "0")], |o| o.rtol = 0.0, "rtol"),
    (&[("rtol", "1e-20")], |o| o.rtol = 1e-20, "rtol"),
    (&[("atol", "-1")], |o| o.testing.atol = Some(-1.0), "atol"),
    (&[("sample", "1e-12")], |o| o.sample = Some(1e-12), "sample"),
    (&[("step", "-1e-3")], |o| o.step = Some(-1e-3), "step"),
    (&[("method", "rk4")], |o| o.method = MethodName::Rk4, "step"),
    (&[("formulation", "index3")], |o| o.formulation = Some(FormulationKind::Index3), "formulation"),
    (
        &[("method", "dopri5"), ("iteration", "full")],
        |o| (o.method, o.iteration) = (MethodName::Dopri5, Some(Iteration::Full)),
        "iteration",
    ),
    (
        &[("method", "dop853"), ("on", "independent")],
        |o| (o.method, o.testing.scope) = (MethodName::Dop853, ErrorScope::Independent),
        "on",
    ),
    (
        &[("method", "bdf"), ("step", "1e-3"), ("errors", "run")],
        |o| (o.method, o.step, o.testing.budget) = (MethodName::Bdf, Some(1e-3), ErrorBudget::Run),
        "errors",
    ),
    (
        &[("method", "bdf"), ("max_order", "9")],
        |o| (o.method, o.parameters.max_order) = (MethodName::Bdf, 9),
        "max_order",
    ),
    (&[("max_iterations", "0")], |o| o.testing.max_iterations = Some(0), "max_iterations"),
    (&[("rho", "2")], |o| o.parameters.rho = 2.0, "rho"),
    (&[("method", "hht"), ("alpha", "0.1")], |o| (o.method, o.parameters.alpha) = (MethodName::Hht, 0.1), "alpha"),
    (
        &[("method", "gen-alpha"), ("formulation", "add")],
        |o| (o.method, o.formulation) = (MethodName::GeneralizedAlpha, Some(FormulationKind::Additive)),
        "formulation",
    ),
    (&[("threads", "99")], |o| o.resources.threads = Some(99), "threads"),
    (&[("solver", "srm")], |o| o.solver = Solver::Srm, "step"),
    (
        &[("solver", "loop-cg"), ("coordinates", "relative")],
        |o| (o.solver, o.coordinates) = (Solver::LoopCg, Coordinates::Relative),
        "solver",
    ),
];

#[test]
fn a_wrong_option_has_one_reason_and_one_suggestion_in_a_file_as_an_argument_and_in_rust() {
    for (given, set, key) in WRONG {
        let file = in_file(given).unwrap_err();
        let argument = as_arguments(given).unwrap_err();
        let rust = Options::default().with(set).check().unwrap_err();
        assert!(file.key == *key && argument.key == *key && rust.key == *key, "{given:?}: {file:?}");
        assert!(file.why == argument.why && argument.why == rust.why, "{given:?}: {file:?} {argument:?} {rust:?}");
        assert!(file.instead == argument.instead && argument.instead == rust.instead, "{given:?}");
        assert!(!rust.instead.is_empty(), "{given:?} has no suggestion");
        // only the words of the place differ
        assert!(matches!(file.origin, Some(Origin::File(_))), "{given:?}: {file:?}");
        assert_eq!(argument.origin, Some(Origin::Argument));
        assert!(rust.help(Voice::CommandLine).concat().contains("--"), "{given:?}");
        for voice in [Voice::File, Voice::Rust, Voice::Python] {
            let text = rust.reason(voice) + &rust.help(voice).concat();
            assert!(!text.contains("--"), "{text}");
            assert_eq!(rust.reason(voice), rust.reason(Voice::CommandLine));
        }
        assert!(rust.to_string().starts_with(&format!("{key}: ")), "{rust}");
    }
}

#[test]
fn words_and_values_that_are_none_are_told_alike_in_files_and_as_arguments() {
    for (given, reason, near) in [
        (("method", "bfd"), "unknown method `bfd`", Some("bdf")),
        (("method", "leapfrog"), "unknown method `leapfrog`", None),
        (("formulation", "index2"), "unknown formulation `index2`", Some("index3")),
        (("solver", "derect"), "unknown solver `derect`", Some("direct")),
        (("on", "everything"), "unknown error scope `everything`", None),
        (("coordinates", "relativ"), "unknown coordinates `relativ`", Some("relative")),
        (("metod", "bdf"), "unknown option `metod`", Some("method")),
        (("max_order", "2.5"), "`max_order` must be a whole number, found 2.5", None),
        (("method", "3"), "unknown method `3`", None),
    ] {
        let argument = as_arguments(&[given]).unwrap_err();
        assert_eq!((argument.reason(Voice::Python).as_str(), argument.near()), (reason, near));
        let file = in_file(&[given]);
        if given != ("method", "3") {
            assert_eq!(file.unwrap_err().why, argument.why);
        } else {
            assert_eq!(file.unwrap_err().reason(Voice::File), "`method` must be a word, found 3");
        }
    }
    let e = in_file(&[("rtol", "1/m")]).unwrap_err();
    assert!(e.reason(Voice::File).contains("`m`"), "an expression tells what it lacks: {e}");
    assert_eq!(in_file(&[("sample", "1/n")]).unwrap().sample, Some(1.0 / 9.0));
}

#[test]
fn arguments_win_over_the_file_and_what_contradicts_itself_is_refused() {
    let over = |file: &[(&str, &str)], arguments: &[(&str, &str)]| {
        let lines: String = file.iter().map(|(key, value)| format!("{key} = {}\n", toml(value))).collect();
        let read = read_text("m.toml", &format!("{BODY}[solve]\n{lines}"), &[]).expect("reads");
        let arguments: Vec<Said> = arguments.iter().map(|(key, value)| Said::argument(*key, *value)).collect();
        Options::from_arguments(&read.settings, &arguments)
    };
    let file = &[("method", "rk4"), ("step", "1e-3"), ("until", "3")][..];
    assert_eq!(over(file, &[("until", "2")]).unwrap().until, 2.0);
    // a tolerance asks for error control
    let o = over(file, &[("rtol", "1e-8"), ("method", "bdf")]).unwrap();
    assert_eq!((o.step, o.rtol, o.until), (None, 1e-8, 3.0));
    // a preset as an argument replaces what the file says of the same things; what stands beside it wins
    for name in ["preset", "method"] {
        let o = over(&[("method", "hht"), ("iteration", "full"), ("test", "q")], &[(name, "cs")]).unwrap();
        assert_eq!((o.method, o.formulation), (MethodName::Bdf, Some(FormulationKind::Ggl)));
        assert_eq!((o.iteration, o.testing.scope), (Some(Iteration::CoordinateSplit), ErrorScope::Independent));
    }
    let o = over(&[("iteration", "full"), ("formulation", "index3")], &[("preset", "cm"), ("test", "q")]).unwrap();
    assert_eq!((o.iteration, o.formulation), (Some(Iteration::CoordinateModified), Some(FormulationKind::Ggl)));
    assert_eq!(o.testing.test.map(|t| t.name()), Some("q"));
    let o = over(&[("method", "hht-i3")], &[("method", "hht")]).unwrap();
    assert_eq!((o.formulation, o.parameters.max_order), (None, 5), "nothing stays of a method that was replaced");
    // parameters of a method that an argument replaced are the file's own business, others are not
    assert!(over(&[("method", "gen-alpha"), ("rho", "0.9")], &[("method", "bdf")]).is_ok());
    for said in [as_arguments, in_file] {
        let e = said(&[("method", "gen-alpha"), ("alpha", "-0.1")]).unwrap_err();
        assert_eq!(e.reason(Voice::CommandLine), "--alpha is a parameter of hht, not of gen-alpha");
        assert_eq!(e.help(Voice::Python), ["leave `alpha` out, or use `method=\"hht\"`"]);
        let e = said(&[("step", "1e-3"), ("rtol", "1e-6")]).unwrap_err();
        assert_eq!(e.reason(Voice::File), "`step` and `rtol` exclude each other");
        let e = said(&[("method", "hht-i3"), ("formulation", "si2")]).unwrap_err();
        assert_eq!(e.reason(Voice::Rust), "hht-i3 is hht on index3, not on si2");
        let e = said(&[("solver", "recursion"), ("coordinates", "cartesian")]).unwrap_err();
        assert_eq!(e.key, "solver");
    }
}

/// An option is its entry in the table and its use: no other list of options is kept anywhere.
#[test]
fn an_option_is_one_entry_of_the_table() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("has a parent");
    let mut texts = Vec::new();
    for folder in
        ["bellcrank-model/src", "bellcrank-model/src/read", "bellcrank/src/cli/run", "bellcrank-solve/src/choices"]
    {
        for entry in std::fs::read_dir(crates.join(folder)).expect("is there").flatten() {
            if entry.path().is_file() {
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                texts.push((name, std::fs::read_to_string(entry.path()).expect("reads")));
            }
        }
    }
    for choice in CHOICES {
        // words of their own elsewhere: joints have `on`, bodies `coordinates`, rods `from`, FMUs `step`, a summary counts each iteration
        let has_other_meanings =
            ["on", "coordinates", "b", "step", "iteration", "test", "errors", "alpha", "from"].contains(&choice.key);
        let entry = texts.iter().filter(|(name, _)| !has_other_meanings || name.contains("/choices/"));
        let entry = entry.filter(|(_, text)| {
            let text: String = text.split_whitespace().collect::<Vec<_>>().join("");
            ["number", "count", "word", "text", "texts"]
                .iter()
                .any(|kind| text.contains(&format!("{kind}(\"{}\"", choice.key)))
        });
        let entry: Vec<&str> = entry.map(|(name, _)| name.as_str()).collect();
        assert_eq!(entry, ["bellcrank-solve/src/choices/table.rs"], "{}", choice.key);
        if !has_other_meanings {
            let outside = texts.iter().filter(|(name, _)| !name.contains("/choices/"));
            let again: Vec<_> = outside.filter(|(_, text)| text.contains(&format!("\"{}\"", choice.key))).collect();
            assert!(again.is_empty(), "{} is told again in {}", choice.key, again[0].0);
        }
    }
}

#[test]
fn the_table_tells_the_defaults_and_takes_every_word() {
    let d = Options::default();
    for choice in CHOICES {
        assert!(!choice.doc.is_empty() && !choice.default.is_empty(), "{}", choice.key);
        let given = match choice.set {
            Set::Word(..) => {
                assert!(choice.words().len() > 1, "{}", choice.key);
                for word in choice.words() {
                    choice.apply(&mut d.clone(), &(*word).into()).expect("is known");
                }
                continue;
            }
            _ => choice.default,
        };
        // a default that is a number is the one of the struct
        if given.parse::<f64>().is_ok() {
            let mut o = d.clone();
            choice.apply(&mut o, &given.into()).expect("is a number");
            let same = (o.parameters, o.testing, o.until, o.rtol) == (d.parameters, d.testing, d.until, d.rtol);
            assert!(same, "{}", choice.key);
        }
    }
    assert_eq!(fields().len(), CHOICES.len());
}

/// A method is its file and one row; everything that is asked of a method is read from the row.
#[test]
fn a_method_is_one_row() {
    for row in METHODS {
        let o = Options { method: row.method, step: Some(1e-3), ..Options::default() };
        o.check().expect("runs as it is");
        assert_eq!(MethodName::by_name(row.name), Some(row.method));
        assert_eq!(row.method.explicit(), row.formulation == FormulationKind::Index1, "{}", row.name);
        assert_eq!(o.alpha_parameters(row.method).is_some(), ["gen-alpha", "hht", "newmark"].contains(&row.name));
    }
    let orders: Vec<_> = METHODS.iter().filter_map(|row| row.method.order()).collect();
    assert_eq!(orders, [2, 2, 1, 1, 2, 4, 5, 8]);
    for preset in PRESETS {
        Options::named(preset.name).expect("is there").check().expect("runs as it is");
    }
}
