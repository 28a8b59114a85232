//! What is said of studies that cannot be run.

use bellcrank_model::read::Template;
use bellcrank_study::Study;

const MODEL: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
parameter.length = 1.0
body.bob = { mass = 1, at = ["length", 0] }
joint.rod = { type = "distance", between = ["ground", "bob"], at = [[0, 0], ["length", 0]] }
"#;

/// What is said of a study of the pendulum.
fn told(study: &str) -> String {
    let models = Box::new(Template::parse("pendulum.toml", MODEL).expect("a model"));
    let text = format!("{study}\ncolumn.low = \"bob.y.min\"\n");
    Study::parse("study.toml", &text, Some(models)).err().expect("a study that cannot be run").to_string()
}

#[test]
fn too_many_samples_are_counted_without_a_sign_before_them() {
    let told = told("study.samples = 1000000000000\nvary.length = { distribution = \"uniform\", from = 1, to = 2 }");
    assert!(told.contains("the study has 1000000000000 points"), "{told}");
    assert!(told.contains("^ 1000000000000 samples"), "{told}");
}

#[test]
fn values_that_are_no_finite_numbers_are_named() {
    let told = told("study = {}\nvary.length = [1, nan, inf]");
    assert!(told.contains("is NaN, and runs need finite numbers") && told.contains("is inf"), "{told}");
}

#[test]
fn a_seed_that_is_a_word_is_no_whole_number() {
    let told = told(
        "study = { samples = 3, seed = \"seven\" }\nvary.length = { distribution = \"uniform\", from = 1, to = 2 }",
    );
    assert!(told.contains("`seed` of [study] must be a whole number, found `seven`"), "{told}");
    assert!(!told.contains("[parameter]"), "{told}");
}

#[test]
fn an_empty_list_two_axes_of_one_name_and_misspelt_words_are_named() {
    let empty = told("study = {}\nvary.length = []");
    assert!(empty.contains("the variation of `length` has no values"), "{empty}");
    let twice = told("study = {}\nvary.length = [1]\nvary.\"parameter.length\" = [2]");
    assert!(twice.contains("`parameter.length` is varied twice"), "{twice}");
    let word = told(
        "study = { samples = 3, sampling = \"sobl\" }\nvary.length = { distribution = \"unifrm\", from = 1, to = 2 }",
    );
    assert!(word.contains("did you mean \"sobol\"?"), "{word}");
    let unknown = told("study = {}\nvary.lenght = [1]");
    assert!(unknown.contains("did you mean `length`?"), "{unknown}");
}
