//! Reading flexible bodies: what is wrong with a model is told with its names and sizes.

use bellcrank_model::bodies::{Body, Coordinates};
use bellcrank_model::read::{read_model, read_text};
use bellcrank_model::testing::{assemble, values};
use bellcrank_model::{Piece, Point};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn message(text: &str) -> String {
    match read_text(&format!("{FOLDER}/model.toml"), text, &[]) {
        Ok(_) => "none".into(),
        Err(report) => report.to_string(),
    }
}

fn beam(from: &str, to: &str) -> String {
    let text = "model = { plane = \"xy\" }\n[body.rod.beam]\nfrom = [0, 0]\nto = [1, 0]\nmass = 1\nyoungs_modulus = 1e9\narea = 1e-4\nsecond_moment = 1e-9\n";
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn mistakes_in_beams_are_named() {
    let joint =
        "second_moment = 1e-9\n[joint.j]\ntype = \"revolute\"\nbetween = [\"ground\", \"rod\"]\nat = [1.5, 0]\n";
    let cases = [
        (
            "second_moment = 1e-9",
            "second_moment = 0",
            "`second_moment` of `beam` of body `rod` must be positive, found 0",
        ),
        ("youngs_modulus = 1e9", "youngs_modulus = -1", "youngs_modulus"),
        ("area = 1e-4\n", "", "`beam` of body `rod` needs `area` or a `section`"),
        ("mass = 1\n", "", "body `rod` needs `mass`"),
        ("mass = 1\n", "mass = 1\ndensity = 3\n", "body `rod` has its mass twice"),
        ("to = [1, 0]", "to = [0, 0]", "the beam of body `rod` has no length"),
        ("mass = 1\n", "mass = 1\ntorsion = 1\n", "`torsion` is for beams in space"),
        ("mass = 1\n", "mass = 1\naxial = 0\nbending = 0\n", "body `rod` has 0 modes; a flexible body has 1 to 58"),
        (
            "mass = 1\n",
            "mass = 1\nbending = 90\n",
            "`bending` of body `rod` must be a whole number from 0 to 58, found 90",
        ),
        ("mass = 1\n", "mass = 1\ndeflection = [1, 2]\n", "has 2 numbers, but there are 3 modes"),
        ("mass = 1\n", "mass = 1\ndamping = 0.1\nrayleigh = [1, 2]\n", "has both `damping` and `rayleigh`"),
        ("second_moment = 1e-9\n", joint, "joint `j` is beyond the ends of the beam `rod`, at x = 1.500000 m of it"),
        ("[body.rod.beam]", "[body.rod]\ninertia = 1\n[body.rod.beam]", "body `rod` has both `beam` and `inertia`"),
    ];
    for (from, to, expected) in cases {
        let found = message(&beam(from, to));
        assert!(found.contains(expected), "{expected}\nin\n{found}");
    }
    assert_eq!(message(&beam("mass = 1", "mass = 1")), "none");
}

#[test]
fn mistakes_in_modal_files_are_named() {
    let strip =
        |file: &str, rest: &str| message(&format!("model = {{}}\n[body.s]\nmodal = {{ file = \"{file}\" }}\n{rest}"));
    let cases = [
        (strip("strap.modal", ""), "`strap.modal` is not in the model's folder, in `modal` of body `s`"),
        (strip("../README.md", ""), "`../README.md` leaves the model's folder"),
        (strip("slider-crank.toml", ""), "expected `bellcrank-modal`, found `[model]`"),
        (
            strip("strip.modal", "[probe.p]\nbody = \"s\"\nat = [0.3, 0, 0]\n"),
            "probe `p` is at [0.300000, 0.000000, 0.000000] of `s`, where no node is",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected), "{expected}\nin\n{found}");
    }
    assert!(strip("strap.modal", "").contains("did you mean `strip.modal`?"));
    let near = strip("strip.modal", "[probe.p]\nbody = \"s\"\nat = [0.3, 0, 0]\n");
    assert!(near.contains("the nearest of its 9 nodes is `F` at [0.312500, 0.000000, 0.000000]"), "{near}");
    assert_eq!(strip("strip.modal", ""), "none");
}

#[test]
fn the_examples_assemble_and_a_beam_agrees_with_the_same_modes_from_a_file() {
    for name in ["flexible-rod", "flexible-crank", "modal-strip"] {
        let read = read_model(&format!("{FOLDER}/{name}.toml"), &[]).unwrap_or_else(|e| panic!("{e}"));
        let s = read.model.compile();
        let mut p = Point::at(&s.initial_state(), s.layout());
        assert!(assemble(&s, &mut p) < 1e-12, "{name}");
        assert!(values(&s, Piece::Force, &p).iter().all(|f| f.is_finite()));
    }
    let text = "model = {}\n[body.s]\nmodal = { file = \"strip.modal\" }\n[body.b.beam]\nfrom = [0, 0, 0]\nto = [0.5, 0, 0]\n\
                up = [0, 1, 0]\ndensity = 2700\nyoungs_modulus = 70e9\nsection = { width = 0.004, height = 0.04 }\nends = \"clamped\"\n\
                axial = 0\nbending = [0, 2]\ntorsion = 0\n";
    let model = read_text(&format!("{FOLDER}/m.toml"), text, &[]).unwrap_or_else(|e| panic!("{e}")).model;
    let [Body::Flexible(file), Body::Flexible(beam)] = [&model.bodies[0].body, &model.bodies[1].body] else { panic!() };
    let (file, beam) = (file.structure(), beam.structure());
    assert!((file.mass - beam.mass).abs() < 1e-5 && file.count() == 2);
    for k in [0, 3] {
        assert!(
            (file.stiffness[k] / beam.stiffness[k] - 1.0).abs() < 1e-6,
            "{} {}",
            file.stiffness[k],
            beam.stiffness[k]
        );
        // nine lumps: to a percent for the first mode, a few for the second
        assert!(
            (file.modal_mass[k] / beam.modal_mass[k] - 1.0).abs() < 0.05,
            "{:?} {:?}",
            file.modal_mass,
            beam.modal_mass
        );
    }
    assert_eq!(model.bodies.iter().map(|b| bellcrank_width(&b.body)).collect::<Vec<_>>(), [8, 8]);
}

fn bellcrank_width(body: &Body) -> usize {
    match body {
        Body::Flexible(f) => f.width(),
        _ => 0,
    }
}
