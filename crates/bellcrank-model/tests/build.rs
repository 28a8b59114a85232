//! Models written in code: the types are those of the catalogs, and a model from types is the one from text.

#[path = "build/generate.rs"]
mod generate;

use std::path::Path;

/// The generated files are what the catalogs say; `UPDATE=1 cargo test -p bellcrank-model --test build` writes them anew.
#[test]
fn types_are_those_of_the_catalogs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/build");
    for (file, text) in generate::files() {
        let path = folder.join(file);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "src/build/{file} is not what the catalogs say: UPDATE=1 cargo test -p bellcrank-model --test build writes it"
        );
    }
}

use bellcrank_math::Quat;
use bellcrank_model::build::bodies::{
    Beam, Body, Cuboid, Cylinder, Probe, Rod, Section, Sphere, Start, Table, TablePairs, TableVector,
};
use bellcrank_model::build::{ForceElement, GROUND, JointElement, Model, Orientation, Scalar, forces, joints};
use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::testing::Random;

/// Three bodies in space with two hinges and a slide, on which any element can stand.
fn space() -> Model {
    let mut m = Model::spatial("sample").gravity([0.0, 0.0, -9.81]);
    m.body("a", Body::new().mass(2.0).inertia([0.3, 0.5, 0.6]).at([0.1, 0.2, 0.3]));
    m.body("b", Body::new().mass(1.0).inertia([0.4, 0.5, 0.3]).at([0.9, -0.3, 0.2]));
    m.joint("hinge", joints::Revolute::new(["ground", "a"]).at([0.0, 0.0, 0.0]).axis([0.0, 1.0, 0.0]));
    m.body("c", Body::new().mass(1.5).inertia([0.2, 0.3, 0.25]).at([-0.4, 0.8, 0.1]));
    m.joint("hinge2", joints::Revolute::new(["ground", "c"]).at([-0.4, 0.8, 0.1]).axis([0.0, 1.0, 0.0]));
    m.joint("slide", joints::Prismatic::new(["ground", "b"]).at([0.9, -0.3, 0.2]).axis([1.0, 0.0, 0.0]));
    m
}

/// The same in the plane.
fn plane() -> Model {
    let mut m = Model::planar("sample");
    for (body, joint, x) in [("a", "hinge", 0.0), ("b", "hinge2", 1.0), ("c", "hinge3", 3.0)] {
        m.body(body, Body::new().mass(2.0).inertia(0.3).at([x, 0.0]));
        m.joint(joint, joints::Revolute::new(["ground", body]).at([x, 0.0]));
    }
    m
}

/// The kinds that were built, each read back without a complaint.
#[derive(Default)]
struct Built(Vec<&'static str>);

impl Built {
    fn joint<J: JointElement>(&mut self, joint: J) {
        let mut m = space();
        m.joint("j", joint);
        self.read::<J>(&m, "joint.j");
    }

    fn joint_in_plane<J: JointElement>(&mut self, joint: J) {
        let mut m = plane();
        m.joint("j", joint);
        self.read::<J>(&m, "joint.j");
    }

    fn force_in_plane<F: ForceElement>(&mut self, force: F) {
        let mut m = plane();
        m.force("f", force);
        self.read::<F>(&m, "force.f");
    }

    fn force<F: ForceElement>(&mut self, force: F) {
        let mut m = space();
        m.force("f", force);
        self.read::<F>(&m, "force.f");
    }

    fn read<E: bellcrank_model::build::Element>(&mut self, m: &Model, section: &str) {
        let kind = E::KIND.unwrap();
        assert!(m.to_toml().contains(&format!("[{section}]\ntype = \"{kind}\"\n")), "{}", m.to_toml());
        let read = m.read().unwrap_or_else(|report| panic!("{kind}: {report}"));
        assert!(read.model.joints.len() + read.model.forces.len() == 4, "{kind}");
        self.0.push(kind);
    }
}

#[test]
fn every_joint_can_be_built_from_its_type() {
    let ab = ["a", "b"];
    let at = [0.5, 0.1, 0.2];
    let mut built = Built::default();
    built.joint(joints::Fixed::new(ab).at(at));
    built.joint(joints::Revolute::new(ab).at(at).axis([1.0, 1.0, 0.5]));
    built.joint(joints::Prismatic::new(ab).on([[0.0; 3], [0.1; 3]]).axis([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]));
    built.joint(joints::Cylindrical::new(ab).at(at).axis([1.0, 1.0, 0.5]));
    built.joint(joints::Spherical::new(ab).at(at));
    built.joint(joints::Universal::new(ab).at(at).axis([1.0, 0.0, 0.0]).axis2([0.0, 1.0, 0.0]));
    built.joint(joints::ConstantVelocity::new(ab).at(at).axis([1.0, 0.0, 0.0]).axis2([1.0, 0.1, 0.0]));
    built.joint(joints::Planar::new(ab).at(at).axis([0.0, 0.0, 1.0]));
    built.joint(joints::PointOnLine::new(ab).at(at).axis([1.0, 0.0, 0.0]));
    built.joint(joints::PointOnPlane::new(ab).at(at).axis([1.0, 0.0, 0.0]));
    built.joint(joints::Distance::new(ab).at([[0.1, 0.2, 0.3], [0.9, -0.3, 0.2]]).length(1.0));
    built.joint(joints::Screw::new(ab, 0.01).at(at).axis([1.0, 0.0, 0.0]));
    built.joint(joints::Gear::new(["hinge", "hinge2"], -0.5));
    built.joint(joints::Belt::new(["hinge", "hinge2"], [0.2, 0.5]));
    built.joint(joints::Rack::new(["hinge", "slide"], 0.1));
    built.joint(joints::Tie::new(["hinge", "slide"]).ratio(0.1));
    built.joint(joints::Armature::new("hinge", 0.2));
    built.joint(joints::RollingDisk::new([GROUND, "b".into()], 0.5).at([[0.9, -0.3, -0.3], [0.9, -0.3, 0.2]]));
    built.joint(
        joints::KnifeEdge::new([GROUND, "b".into()]).at([0.9, -0.3, 0.2]).axis([1.0, 0.0, 0.0]).axis2([0.0, 1.0, 0.0]),
    );
    built.joint(joints::Drive::new("hinge").angle("0.3 * sin(t)"));
    built.joint(joints::DrivePoint::new("b", ["0.9 + t", "-0.3", "0.2"]));
    let ellipse = || ["0.4*cos(s)", "0.3*sin(s)", "0.1*sin(2*s)"];
    let at2 = [[0.5, 0.1, 0.2], [0.9, 0.1, 0.2]];
    built.joint(joints::PointOnCurve::new(ab).at(at2).curve(ellipse()).range(["0", "2*pi"]).closed(true));
    built.joint(
        joints::Cam::new(ab)
            .at(at2)
            .points([[0.1, 0.0], [0.0, 0.1], [-0.1, 0.0], [0.0, -0.1]])
            .closed(true)
            .radius(0.02),
    );
    let round = || ["0.4*cos(s)", "0.3*sin(s)"];
    let pair = joints::CurveOnCurve::new(ab).on([[0.0; 2]; 2]).curve(round()).range(["0", "2*pi"]).closed(true);
    built.joint_in_plane(pair.curve2(round()).range2(["0", "2*pi"]).closed2(true));
    let missing: Vec<&str> =
        bellcrank_model::joints::CATALOG.iter().map(|k| k.name).filter(|name| !built.0.contains(name)).collect();
    assert!(missing.is_empty(), "no sample of {missing:?}");
}

#[test]
fn every_force_can_be_built_from_its_type() {
    let ab = ["a", "b"];
    let at = [0.5, 0.1, 0.2];
    let mut built = Built::default();
    let ends = [[0.1, 0.2, 0.3], [0.9, -0.3, 0.2]];
    built.force(forces::SpringDamper::new(ab).at(ends).stiffness(30.0).damping(4.0).length(0.2).tension_only(true));
    built.force(forces::TorsionalSpringDamper::new(ab).axis([1.0, 0.0, 0.0]).curve([[-1.0, -2.0], [1.0, 2.0]]));
    let curves = forces::BushingCurves::new().x([[-1.0, -2.0], [1.0, 2.0]]);
    built.force(forces::Bushing::new(ab).at(at).stiffness([30.0, 20.0, 10.0, 3.0, 2.0, 1.0]).curve(curves));
    built.force(forces::Force::new("b", ["3 + t", "sin(2*t)", "0"]).on([0.1, 0.2, 0.0]).frame("body"));
    built.force(forces::Torque::new("b", [0.0, 1.0, 0.0]));
    built.force(forces::Drag::new("b").cd(1.2).area(3.0).wind([1.0, 0.0, 0.0]));
    built.force(forces::Attraction::new(ab).constant(2.0));
    built.force(forces::JointFriction::new("hinge").coulomb(3.0).static_(4.0));
    built.force(forces::GearMesh::new(["hinge", "hinge2"], -0.5, 100.0).backlash(0.1));
    let round = || ["0.4*cos(s)", "0.3*sin(s)"];
    let pair = forces::CurveContact::new(ab).on([[0.0; 2]; 2]).curve(round()).range(["0", "2*pi"]).closed(true);
    built.force_in_plane(pair.curve2(round()).range2(["0", "2*pi"]).closed2(true).restitution(0.4));
    built.force(forces::JointSpring::new("hinge").stiffness(3.0).damping(0.1).rest(0.2));
    built.force(forces::Stop::new("hinge").lower(-0.2).upper(0.1).stiffness(30.0));
    built.force(forces::Contact::new([GROUND, "b".into()]).normal([0.0, 0.0, 1.0]).radius(0.1).restitution(0.4));
    let tyre = forces::Tyre::new([GROUND, "b".into()]).radius(0.3).stiffness(2e5).road("0.01*sin(x)");
    built.force(tyre.friction(1.0).slip_stiffness([6e4, 5e4]).relaxation([0.2, 0.4]));
    let rope = forces::Rope::new(["a", "ground", "b"], 1e4).at([[0.1, 0.2, 0.3], [0.0, 0.0, 2.0], [0.9, -0.3, 0.2]]);
    built.force(rope.damping(0.1).friction(0.2));
    built.force(forces::JointActuator::new("slide", 2.0 * Scalar::time()).limits([-1.9, 2.0]));
    built.force(forces::Pid::new("hinge", "sin(t)").kp(10.0).ki(3.0).kd(2.0));
    let missing: Vec<&str> =
        bellcrank_model::forces::CATALOG.iter().map(|k| k.name).filter(|name| !built.0.contains(name)).collect();
    assert!(missing.is_empty(), "no sample of {missing:?}");
}

#[test]
fn every_shape_can_be_built_from_its_type() {
    let beam = Beam::new([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 2e11).density(7800).section(Section::new().radius(0.01));
    let shapes = [
        Body::new().rod(Rod::new([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]).radius(0.05).mass(2)),
        Body::new().box_(Cuboid::new([1.0, 2.0, 3.0]).mass(2.0)).orientation(Orientation::turn([1.0, 0.0, 0.0], 0.3)),
        Body::new().sphere(Sphere::new(0.5)).mass("2 * 3").orientation(Quat([1.0, 0.0, 0.0, 0.0])),
        Body::new().cylinder(Cylinder::new(0.5).length(1.0)).mass(1.0).velocity([1.0, 0.0, 0.0]).fixed(true),
        Body::new().beam(beam),
    ];
    for shape in shapes {
        let mut m = Model::spatial("shape");
        let body = m.body("b", shape);
        m.probe("tip", Probe::new(&body).on([0.1, 0.0, 0.0]));
        let read = m.read().unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(read.model.bodies.len(), 1);
    }
}

#[test]
fn states_and_expressions_of_the_state_can_be_built() {
    use bellcrank_model::build::bodies::State;
    let mut m = Model::planar("motor");
    let rotor = m.body("rotor", Body::new().mass(1.0).inertia("2 kg m²"));
    let pin = m.joint("pin", joints::Revolute::new((GROUND, &rotor)).at([0.0, 0.0]));
    let current = m.state("current", State::new().rate("(24 - 3*current - 0.5*pin.rate)/0.01").start("0 A").unit("A"));
    m.force("drive", forces::JointActuator::new(pin, 0.5 * &current));
    let read = m.read().unwrap_or_else(|report| panic!("{report}"));
    assert_eq!((read.model.states.len(), read.model.signals.len()), (1, 2));
    let _smooth = m.state("smooth", State::new().input("pin.angle").numerator([1.0]).denominator([0.01, 0.2, 1.0]));
    assert_eq!(m.read().unwrap_or_else(|report| panic!("{report}")).model.states.len(), 3);
    m.table("square", &[0.0, 1.0, 2.0], &[], &[vec![0.0, 1.0, 4.0]]);
    m.table("plane", &[0.0, 1.0], &[0.0, 2.0], &[vec![0.0, 1.0], vec![2.0, 3.0]]);
    m.body("weight", Body::new().mass("square(1.5) + plane(1, 1)"));
    let weight = m.read().unwrap_or_else(|report| panic!("{report}")).model;
    assert!(format!("{:?}", weight.bodies[1].body).contains("mass: 4.25"), "{:?}", weight.bodies[1].body);
    let frame = Orientation::angles("zyx", ["30 deg", "0", "10 deg"]);
    let mut m = Model::spatial("frame");
    m.body("b", Body::new().mass(1.0).inertia([1.0, 1.0, 1.0]).orientation(frame));
    assert!(m.read().is_ok() && m.to_toml().contains("order = \"zyx\""), "{}", m.to_toml());
}

/// A four-bar linkage from types, and the same from the text that it makes, to the bit.
#[test]
fn a_model_from_types_is_the_one_from_its_text() {
    let mut m = Model::planar("four-bar").gravity([0.0, -9.81]);
    let l = m.parameter("l", 0.8);
    let half = m.parameter("half", &l / 2.0);
    let crank = m.body("crank", Body::new().rod(Rod::new([0.0, 0.0], [Scalar::from(0.0), l.clone()]).mass(1.0)));
    let rocker = m.body("rocker", Body::new().rod(Rod::new([2.0, 0.0], [Scalar::from(2.0), l.clone()]).mass(2.0)));
    let pin = m.joint("pin", joints::Revolute::new((GROUND, &crank)).at([0.0, 0.0]));
    m.joint("far", joints::Revolute::new((GROUND, &rocker)).at([2.0, 0.0]));
    m.joint("coupler", joints::Distance::new((&crank, &rocker)).at([[0.0.into(), l.clone()], [2.0.into(), l.clone()]]));
    m.force("wind", forces::Force::new(&rocker, [Scalar::time().apply("sin"), 2.0 * &half - 1.0]));
    m.start(&pin, Start::new().rate(1.5));
    let built = m.read().unwrap_or_else(|report| panic!("{report}"));
    let again = bellcrank_model::read::read_text("four-bar.toml", &m.to_toml(), &[]).unwrap();
    assert_eq!(built.model.name, "four-bar");
    let (built, again) = (built.model.into_system(), again.model.into_system());
    let state = built.initial_state();
    assert_eq!(state, again.initial_state());
    let force = |system: &bellcrank_model::System| {
        let mut w = system.workspace();
        let point = bellcrank_model::Point::at(&state, system.layout());
        system.realize(&point, &mut w);
        let mut out = vec![0.0; system.layout().n()];
        system.add(1.0, bellcrank_model::Piece::Force, &point, &mut w, &mut out);
        out
    };
    assert_eq!(force(&built), force(&again));
    // 2 · half − 1 = l − 1, beside the weight of 2 kg
    assert!((force(&built)[4] - (0.8 - 1.0 - 2.0 * 9.81)).abs() < 1e-12, "{:?}", force(&built));
}

#[test]
fn numbers_and_names_survive_the_text() {
    let mut random = Random::new(7);
    for name in ["bob", "a b", "say \"x\"", "back\\slash", "räder.φ", "tab\there", "\u{202e}rtl"] {
        let mass = f64::from_bits(random.number().to_bits()).abs() * 10f64.powf(30.0 * random.number());
        let mut m = Model::planar("odd \"name\"");
        m.body(name, Body::new().mass(mass).at([random.number(), -0.0]));
        let read = m.read().unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(read.model.bodies[0].name, name);
        assert_eq!(read.model.name, "odd \"name\"");
        let state = read.model.into_system().initial_state();
        assert!(state.q[1] == 0.0);
    }
}

#[test]
fn mistakes_are_told_with_the_names_of_element_and_key() {
    let told = |m: &Model| m.read().err().expect("a report").to_string();
    let mut m = Model::planar("m");
    m.body("bob", Body::new().mass(f64::NAN));
    assert!(told(&m).contains("`mass` of body `bob`"), "{}", told(&m));
    let mut m = Model::planar("m");
    m.body("bob", Body::new().mass(1.0));
    m.joint("rod", joints::Distance::new(["ground", "bop"]).at([[0.0, 0.0], [1.0, 0.0]]));
    let text = told(&m);
    assert!(text.contains("`bop`") && text.contains("did you mean `bob`"), "{text}");
    m.body("bob", Body::new().mass(2.0));
    assert!(told(&m).contains("bob"), "{}", told(&m));
}

#[test]
fn tables_from_files_are_named_as_in_a_file() {
    let mut m = Model::planar("m");
    m.body("b", Body::new().mass(1.0));
    m.force("one", forces::Force::new("b", TableVector::new("load.csv", ["fx", "fy"]).scale(3.0)));
    m.force("two", forces::SpringDamper::new(["ground", "b"]).curve(TablePairs::new("curve.csv")));
    m.joint("drive", joints::DrivePoint::new("b", [Scalar::from(Table::new("load.csv").column("fx")), 0.0.into()]));
    let text = m.to_toml();
    assert!(text.contains("force = { table = \"load.csv\", columns = [\"fx\", \"fy\"], scale = 3.0 }"), "{text}");
    assert!(text.contains("curve = { table = \"curve.csv\" }"), "{text}");
    assert!(text.contains("position = [{ table = \"load.csv\", column = \"fx\" }, 0.0]"), "{text}");
}

/// Every example, written again from its sections, moves by the same equations.
#[test]
fn a_file_that_is_opened_and_written_reads_back_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let whole = bellcrank_model::read::read_model(&path.to_string_lossy(), &[]).unwrap();
        let again = Model::open(&path, &[]).unwrap();
        let again = again.read().unwrap_or_else(|report| panic!("{}: {report}", path.display()));
        assert_eq!(whole.model.name, again.model.name);
        assert_eq!(whole.settings.0.len(), again.settings.0.len());
        let (whole, again) = (whole.model.into_system(), again.model.into_system());
        assert_eq!(whole.initial_state(), again.initial_state(), "{}", path.display());
        assert_eq!(whole.model.forces.len(), again.model.forces.len());
        seen += 1;
    }
    assert!(seen > 20);
}

#[test]
fn overrides_additions_and_odd_files_survive_being_written() {
    let json = r#"{"$schema": "x", "model": {"plane": "xy"}, "body": {"a b": {"mass": 1}}, "solve": {}}"#;
    let mut m = Model::parse("odd.json", json, &["body.\"a b\".mass=3".to_string()]).unwrap();
    m.add("body", "c", [("mass".to_string(), bellcrank_model::build::value::Value::Number(0.5))]);
    assert_eq!(m.read().unwrap_or_else(|report| panic!("{report}")).model.bodies.len(), 2);
    assert!(m.to_toml().contains("[body.\"a b\"]\nmass = 3\n"), "{}", m.to_toml());
    let wrong = Model::parse("odd.toml", "body = 3\n[joint]\npin = 1", &[]).unwrap();
    assert!(wrong.read().is_err() && wrong.to_toml().starts_with("body = 3\n"), "{}", wrong.to_toml());
    assert!(Model::parse("odd.toml", "[body", &[]).is_err());
}
