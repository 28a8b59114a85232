use super::*;
use crate::read::read_text;
use serde_json::{Value, json};

fn of(text: &str) -> Value {
    let model = read_text("m.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).model;
    let (mut text, typed, scene) = (Vec::new(), Scene::of(&model), scene(&model));
    write(&model, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), scene.to_string());
    assert_eq!(serde_json::to_string(&typed).unwrap(), scene.to_string());
    assert_eq!(serde_json::from_value::<Scene>(scene.clone()).unwrap(), typed);
    scene
}

#[test]
fn a_planar_model_keeps_names_places_and_axes() {
    let v = of(r#"
        [model]
        name = "<b>\u202e"
        plane = "xy"
        gravity = [0, -9.81]
        [body.crank]
        rod = { from = [0, 0], to = [0, 2], mass = 1 }
        [body.block]
        mass = 1
        inertia = 1
        at = [3, 0]
        [joint.pin]
        type = "revolute"
        between = ["ground", "crank"]
        at = [0, 0]
        [joint.slide]
        type = "prismatic"
        between = ["ground", "block"]
        at = [3, 0]
        axis = [0, 1]
        [force.spring]
        type = "spring-damper"
        between = ["crank", "block"]
        at = [[0, 2], [3, 0]]
        stiffness = 0
        damping = 2
        [force.push]
        type = "force"
        body = "block"
        force = ["2 + t", "t"]
        [probe.tip]
        body = "crank"
        at = [0, 2]
    "#);
    assert_eq!((&v["version"], &v["model"], &v["space"]), (&json!(1), &json!("<b>\u{202e}"), &json!("plane")));
    assert_eq!(v["bodies"][0]["shape"], json!({"type": "rod", "length": 2.0, "radius": 0.0}));
    assert_eq!(v["bodies"][1]["shape"]["type"], "unknown");
    let near = |a: &Value, b: [f64; 3]| (0..3).all(|i| (a[i].as_f64().unwrap() - b[i]).abs() < 1e-15);
    let pin = &v["joints"][0];
    assert_eq!((&pin["between"], &pin["motions"]), (&json!([null, 0]), &json!(["angle"])));
    assert!(near(&pin["on"][1], [-1.0, 0.0, 0.0]), "{pin}"); // along x of the rod, from its middle
    assert!(near(&v["joints"][1]["axis"][0], [0.0, 1.0, 0.0]), "{v}");
    let (damper, push) = (&v["forces"][0], &v["forces"][1]);
    assert_eq!((&damper["spring"], &damper["damper"]), (&json!(false), &json!(true)));
    assert_eq!(push["load"]["force"], json!([2.0, 0.0, 0.0]));
    assert_eq!((&v["probes"][0]["name"], &v["probes"][0]["body"]), (&json!("tip"), &json!(0)));
    assert!(near(&v["probes"][0]["on"], [1.0, 0.0, 0.0]));
}

/// What is alike is one solid; a visual without a colour has that of its body, which is in the scene once.
#[test]
fn looks_of_bodies_visuals_and_the_ground_are_in_the_scene() {
    let v = of(r##"
        [body.a]
        mass = 1
        sphere = { radius = 0.5 }
        colour = "#C02644"
        opacity = 0.25
        [body.b]
        mass = 1
        hidden = true
        [visual.one]
        body = "a"
        box = { size = [1, 1, 1] }
        [visual.two]
        body = "a"
        at = [3, 0, 0]
        box = { size = [1, 1, 1] }
        [visual.three]
        body = "a"
        sphere = { radius = 0.1 }
        colour = "red"
        [visual.never]
        body = "a"
        sphere = { radius = 0.1 }
        hidden = true
        [visual.floor]
        body = "ground"
        box = { size = [9, 9, 0.1] }
        opacity = 0.5
    "##);
    let (a, b) = (&v["bodies"][0], &v["bodies"][1]);
    assert_eq!((&a["colour"], &a["opacity"], a.get("hidden")), (&json!("#c02644"), &json!(0.25), None));
    assert_eq!((b.get("colour"), &b["hidden"], b.get("solids")), (None, &json!(true), None));
    let solids: Vec<SceneSolid> = serde_json::from_value(a["solids"].clone()).unwrap();
    let told: Vec<_> = solids.iter().map(|s| (s.corners().len(), s.appearance.colour.map(|c| c.to_string()))).collect();
    assert_eq!(told[0], (24, None));
    assert_eq!((told.len(), &told[1].1), (2, &Some("#d62728".into())));
    assert_eq!((&v["ground"][0]["opacity"], v["ground"].as_array().map(Vec::len)), (&json!(0.5), Some(1)));
}

#[test]
fn ropes_tyres_and_rollers_tell_their_radii() {
    let v = of(r#"
        [model]
        plane = "xy"
        [body.block]
        cylinder = { radius = 0.1, length = 0.05, mass = 40 }
        at = [0, -2]
        [body.load]
        mass = 1
        at = [0.3, -1]
        [body.wheel]
        cylinder = { radius = 0.3, length = 0.1, mass = 9 }
        at = [5, 0.3]
        [force.rope]
        type = "rope"
        bodies = ["ground", "block", "ground", "load"]
        at = [[-0.1, 0], [0, -2], [0.2, 0], [0.3, -1]]
        radii = [0.1, 0.1]
        stiffness = 1
        [force.tyre]
        type = "tyre"
        between = ["ground", "wheel"]
        stiffness = 1e5
        friction = 1
        slip_stiffness = 1e4
    "#);
    // the block hangs to the left of the rope that comes down and goes up again, the fixed pulley is to its right
    assert_eq!(v["forces"][0]["radii"], json!([0.0, 0.1, -0.1, 0.0]));
    let tyre = &v["forces"][1];
    assert_eq!((&tyre["radii"], &tyre["axis"][1]), (&json!([0.0, 0.3]), &json!([0.0, 0.0, 1.0])));
}

#[test]
fn springs_are_told_from_dampers_in_space() {
    let v = of(r#"
        [body.a]
        mass = 1
        sphere = { radius = 0.5 }
        [force.line]
        type = "spring-damper"
        between = ["ground", "a"]
        at = [[0, 0, 1], [0, 0, 0]]
        stiffness = 3
        [force.twist]
        type = "torsional-spring-damper"
        between = ["ground", "a"]
        axis = [1, 0, 0]
        stiffness = 3
    "#);
    for f in v["forces"].as_array().unwrap() {
        assert_eq!((&f["spring"], &f["damper"]), (&json!(true), &json!(false)), "{f}");
    }
    assert_eq!(v["forces"][1]["axis"][0], json!([1.0, 0.0, 0.0]));
    assert_eq!((&v["space"], &v["bodies"][0]["kind"]), (&json!("space"), &json!("rigid")));
}

#[test]
fn flexible_bodies_tell_how_their_modes_move_them() {
    let v = of(r#"
        model = { plane = "xy" }
        [body.rod.beam]
        from = [1, 0]
        to = [3, 0]
        mass = 1
        youngs_modulus = 1e9
        section = { radius = 0.01 }
        axial = 1
        bending = 1
        [joint.pin]
        type = "revolute"
        between = ["ground", "rod"]
        at = [2, 0]
        [probe.tip]
        body = "rod"
        at = [3, 0.5]
    "#);
    let rod = &v["bodies"][0];
    assert_eq!((&rod["kind"], &rod["flexible"]["line"]), (&json!("flexible"), &json!(true)));
    let nodes = rod["flexible"]["nodes"].as_array().unwrap();
    let last = nodes.len() - 1;
    assert_eq!(nodes[last], json!([2.0, 0.0, 0.0]));
    let modes = &rod["flexible"]["modes"];
    assert_eq!((&modes[0]["channel"], &modes[1]["channel"]), (&json!("rod.mode1"), &json!("rod.mode2")));
    assert_eq!(modes[0]["shape"][last], json!([1.0, 0.0, 0.0]));
    assert!((modes[1]["shape"][last / 2][1].as_f64().unwrap() - 1.0).abs() < 1e-12);
    let bend = &v["joints"][0]["bend"];
    assert_eq!(bend[0], Value::Null);
    assert!((bend[1][1][1].as_f64().unwrap() - 1.0).abs() < 1e-12, "{bend}");
    // half a metre beside the end, which turns by −π/L: the arm moves forward
    let arm = &v["probes"][0]["bend"][0][1];
    assert!((arm[0].as_f64().unwrap() - 0.25 * std::f64::consts::PI).abs() < 1e-12, "{arm}");
}
