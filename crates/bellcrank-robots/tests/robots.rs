//! Robot files of our own writing: physics by hand, what is told, and files that mean harm.

use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::testing::{derivative, values};
use bellcrank_model::{Piece, Point, Relative, Slopes, System, Unknown};
use bellcrank_robots::{Base, RobotOptions, Robots, parse};

fn robot(name: &str, text: &str, options: &RobotOptions) -> Robots {
    parse(name, text, options).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(name: &str, text: &str) -> String {
    parse(name, text, &RobotOptions::default()).err().map_or_else(|| panic!("accepted:\n{text}"), |e| e.to_string())
}

fn system(robot: &Robots) -> System {
    robot.read(&[]).unwrap_or_else(|e| panic!("{e}\n{}", robot.model.to_toml())).model.into_system()
}

fn relative(s: &System) -> Relative {
    s.relative(&Point::at(&s.initial_state(), s.layout()))
}

/// Mass matrix and forces in joint coordinates at given values of them.
fn equations(r: &Relative, q: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut state = r.initial_state();
    state.q.copy_from_slice(q);
    r.settle(&mut state, &mut r.workspace());
    let p = Point::at(&state, r.layout());
    let mass = derivative(r, Piece::MassAccel, Unknown::V, Slopes { v: 1.0, ..Slopes::default() }, &p);
    (mass, values(r, Piece::Force, &p))
}

/// A link of URDF with its mass at a point, and moments of inertia.
fn link(name: &str, mass: f64, at: [f64; 3], moments: [f64; 3]) -> String {
    let ([x, y, z], [a, b, c]) = (at, moments);
    format!(
        "<link name=\"{name}\"><inertial><origin xyz=\"{x} {y} {z}\"/><mass value=\"{mass}\"/>\
         <inertia ixx=\"{a}\" iyy=\"{b}\" izz=\"{c}\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\n"
    )
}

fn joint(name: &str, kind: &str, [parent, child]: [&str; 2], xyz: &str, axis: &str, more: &str) -> String {
    format!(
        "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/>\
         <origin xyz=\"{xyz}\" rpy=\"0 0 0\"/><axis xyz=\"{axis}\"/>{more}</joint>\n"
    )
}

fn urdf(body: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<robot name=\"sample\">\n{body}</robot>\n")
}

/// A pendulum about y with a weight that is fixed to it.
fn pendulum() -> String {
    urdf(&[
        "<link name=\"base\"/>\n".to_string(),
        link("arm", 2.0, [0.0, 0.0, -0.5], [0.2, 0.3, 0.1]),
        link("weight", 3.0, [0.0, 0.0, 0.0], [0.01, 0.02, 0.03]),
        joint("shoulder", "revolute", ["base", "arm"], "0 0 1", "0 2 0", "<limit lower=\"-1\" upper=\"1\" effort=\"5\" velocity=\"1\"/><dynamics damping=\"0.4\" friction=\"0.2\"/>"),
        joint("mount", "fixed", ["arm", "weight"], "0.1 0 -0.8", "0 0 0", ""),
    ].concat())
}

#[test]
fn fixed_joints_are_merged_and_weigh_as_one_body() {
    let options = RobotOptions { friction: false, ..RobotOptions::default() };
    let sample = robot("sample.urdf", &pendulum(), &options);
    let s = system(&sample);
    assert_eq!((s.model.bodies.len(), s.model.joints.len()), (1, 1));
    let r = relative(&s);
    // about the joint: central moments and masses times squared distances
    let inertia = 0.3 + 2.0 * 0.25 + 0.02 + 3.0 * (0.01 + 0.64);
    for q in [0.0, 0.7, -2.0] {
        let (mass, force) = equations(&r, &[q]);
        assert!((mass[0][0] - inertia).abs() < 1e-14, "{} {inertia}", mass[0][0]);
        // the weights turn about y: their moment is −g (m₁ x₁ + m₂ x₂) with x the way along x
        let x = |x: f64, z: f64| x * q.cos() + z * q.sin();
        let torque = 9.81 * (2.0 * x(0.0, -0.5) + 3.0 * x(0.1, -0.8));
        assert!((force[0] - torque).abs() < 1e-13, "{} {torque}", force[0]);
    }
    assert!(sample.told.notes.iter().any(|n| n.contains("`base` is fixed")), "{:?}", sample.told);
    assert!(sample.told.left_out.iter().any(|l| l.what == "the limits" && l.names == ["shoulder"]));
    assert!(sample.told.left_out.iter().any(|l| l.what == "the friction" && l.names == ["shoulder"]));
}

#[test]
fn limits_friction_and_inputs_become_forces_where_they_are_wanted() {
    let options = RobotOptions { stops: Some(1e4), inputs: true, ..RobotOptions::default() };
    let s = system(&robot("sample.urdf", &pendulum(), &options));
    let kinds: Vec<&str> = s.model.forces.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, ["joint-friction", "stop", "joint-actuator"]);
    assert_eq!(s.model.inputs[0].name, "tau_shoulder");
    let outside = pendulum().replace("lower=\"-1\"", "lower=\"0.3\"");
    let started = robot("sample.urdf", &outside, &options);
    assert!(started.model.to_toml().contains("[start]\nshoulder = { angle = 0.3 }"), "{}", started.model.to_toml());
}

#[test]
fn a_free_base_moves_and_falls() {
    let options = RobotOptions { base: Some(Base::Free), friction: false, ..RobotOptions::default() };
    let text = pendulum().replace("<link name=\"base\"/>\n", &link("base", 4.0, [0.0; 3], [0.1, 0.1, 0.1]));
    let s = system(&robot("sample.urdf", &text, &options));
    let r = relative(&s);
    assert_eq!((s.model.bodies.len(), r.layout().n()), (2, 7));
    let mut p = Point::at(&r.initial_state(), r.layout());
    r.recursion(&mut p, &mut r.workspace()).unwrap();
    // in free fall the joint feels nothing
    assert!(p.vdot.iter().map(|a| a.abs()).filter(|a| *a > 1e-9).all(|a| (a - 9.81).abs() < 1e-9), "{:?}", p.vdot);
}

#[test]
fn coordinates_that_mimic_others_are_tied() {
    let text = urdf(
        &[
            "<link name=\"hand\"/>\n".to_string(),
            link("left", 0.1, [0.0; 3], [1e-4; 3]),
            link("right", 0.1, [0.0; 3], [1e-4; 3]),
            joint("slide", "prismatic", ["hand", "left"], "0 0.1 0", "0 1 0", ""),
            joint(
                "other",
                "prismatic",
                ["hand", "right"],
                "0 -0.1 0",
                "0 -1 0",
                "<mimic joint=\"slide\" multiplier=\"0.5\" offset=\"0.01\"/>",
            ),
            joint("stray", "fixed", ["hand", "left2"], "0 0 0", "0 0 1", "<mimic joint=\"none\"/>"),
            "<link name=\"left2\"/>\n".to_string(),
        ]
        .concat(),
    );
    let sample = robot("sample.urdf", &text, &RobotOptions::default());
    let s = system(&sample);
    assert_eq!(s.model.joints.iter().filter(|j| j.kind == "tie").count(), 1);
    let p = Point::at(&s.initial_state(), s.layout());
    let last = s.layout().m() - 1;
    // as drawn, x₂ − 0.5 x₁ − 0.01
    assert!((values(&s, Piece::Position, &p)[last] + 0.01).abs() < 1e-15);
    assert!(sample.told.left_out.iter().any(|l| l.what == "the <mimic>" && l.names == ["stray"]));
}

#[test]
fn bodies_and_joints_get_names_of_their_own() {
    let text = urdf(
        &[
            "<link name=\"base\"/>\n".to_string(),
            link("gripper", 1.0, [0.0, 0.0, 0.1], [0.1; 3]),
            link("ground", 1.0, [0.0, 0.0, 0.1], [0.1; 3]),
            joint("gripper", "continuous", ["base", "gripper"], "0 0 0", "1 0 0", ""),
            joint("j", "continuous", ["gripper", "ground"], "0 0 1", "1 0 0", ""),
        ]
        .concat(),
    );
    let sample = robot("sample.urdf", &text, &RobotOptions::default());
    let s = system(&sample);
    let names: Vec<&str> =
        s.model.bodies.iter().map(|b| b.name.as_str()).chain(s.model.joints.iter().map(|j| j.name.as_str())).collect();
    assert_eq!(names, ["gripper", "ground_link", "gripper_joint", "j"]);
    assert!(sample.told.notes.iter().any(|n| n.contains("`gripper_joint`")), "{:?}", sample.told.notes);
}

#[test]
fn unphysical_bodies_are_refused_by_name_or_repaired_and_told() {
    let with = |arm: String| {
        pendulum()
            .replace(&link("arm", 2.0, [0.0, 0.0, -0.5], [0.2, 0.3, 0.1]), &arm)
            .replace(&link("weight", 3.0, [0.0, 0.0, 0.0], [0.01, 0.02, 0.03]), "<link name=\"weight\"/>\n")
    };
    let indefinite = with(link("arm", 2.0, [0.0, 0.0, -0.5], [0.2, -0.3, 0.1]));
    let message = refused("sample.urdf", &indefinite);
    assert!(
        message.contains("the inertia of link `arm` with what is fixed to it is not positive definite"),
        "{message}"
    );
    assert!(message.contains("sample.urdf:4:1"), "{message}");
    let repair = RobotOptions { repair: true, ..RobotOptions::default() };
    let repaired = robot("sample.urdf", &indefinite, &repair);
    assert!(
        repaired.told.notes.iter().any(|n| n.starts_with("repaired: the principal moments")),
        "{:?}",
        repaired.told
    );
    system(&repaired);
    let weightless = with("<link name=\"arm\"/>\n".to_string());
    let message = refused("sample.urdf", &weightless);
    assert!(message.contains("joint `shoulder` moves nothing that has mass"), "{message}");
    assert!(refused("sample.urdf", &with(link("arm", -2.0, [0.0; 3], [0.1; 3]))).contains("the mass -2 kg"));
}

#[test]
fn hostile_files_are_refused_with_their_place() {
    let bomb = "<!DOCTYPE r [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]>\n<robot name=\"&b;\"/>";
    let outside =
        "<!DOCTYPE r [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><robot name=\"r\"><link name=\"&x;\"/></robot>";
    for text in [bomb, outside] {
        let message = refused("bad.urdf", text);
        assert!(
            message.contains("document types and entities are not read") && message.contains("bad.urdf:1:"),
            "{message}"
        );
    }
    let circle = urdf(
        &[
            link("a", 1.0, [0.0; 3], [1.0; 3]),
            link("b", 1.0, [0.0; 3], [1.0; 3]),
            joint("ab", "continuous", ["a", "b"], "0 0 0", "1 0 0", ""),
            joint("ba", "continuous", ["b", "a"], "0 0 0", "1 0 0", ""),
        ]
        .concat(),
    );
    let two = urdf(&[link("a", 1.0, [0.0; 3], [1.0; 3]), link("a", 1.0, [0.0; 3], [1.0; 3])].concat());
    let cases = [
        (circle, "hangs on itself"),
        (pendulum().replace("child link=\"weight\"", "child link=\"hammer\""), "its links are arm, base, weight"),
        (urdf("<xacro:property name=\"x\" value=\"1\"/>"), "`xacro FILE > robot.urdf` makes a robot file of it"),
        (two, "link `a` is there twice"),
        (pendulum().replace("value=\"2\"", "value=\"NaN\""), "is `NaN`, not numbers"),
        (pendulum().replace("value=\"2\"", "value=\"inf\""), "is `inf`, not numbers"),
        (pendulum().replace("axis xyz=\"0 2 0\"", "axis xyz=\"0 0 0\""), "the axis of joint `shoulder` is zero"),
        (pendulum().replace("parent link=\"base\"", "parent link=\"bass\""), "did you mean `base`?"),
        (pendulum().replace("type=\"revolute\"", "type=\"spherical\""), "`spherical`, which URDF does not know"),
        (pendulum().replace("</robot>", ""), "this is no XML file"),
        (pendulum().replace("xyz=\"0 0 1\"", "xyz=\"0 0\""), "has 2 numbers, and needs 3"),
        ("<html/>".to_string(), "<html> is no robot file"),
        (urdf("<link name=\"alone\"/>"), "has nothing that moves"),
        (urdf(""), "has no links"),
        (pendulum().replace("child link=\"weight\"", "child link=\"arm\""), "is the child of two joints"),
    ];
    for (text, told) in cases {
        let message = refused("bad.urdf", &text);
        assert!(message.contains(told), "{told}:\n{message}");
    }
}

/// Actuators are often named as their joints, and forces, bodies and joints share their channels' names.
#[test]
fn actuators_may_have_the_names_of_joints_and_bodies() {
    let text = r#"<mujoco model="names"><worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="1 0 0"/>
      <body name="hand"><joint name="twist"/><geom size="0.1" pos="0 1 0"/></body></body></worldbody>
      <actuator><motor name="hinge" joint="hinge" gear="2"/><position name="hand" joint="twist" kp="3"/></actuator></mujoco>"#;
    let s = system(&robot("names.xml", text, &RobotOptions::default()));
    let names: Vec<&str> = s.model.forces.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["hinge_force", "hand_force", "hand_feedback"]);
    let inputs: Vec<&str> = s.model.inputs.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(inputs, ["hinge_input", "hand_input"]);
}

/// A fault of a link is told once: joints to it say nothing about it. Two roots are a base each, which is told.
#[test]
fn faults_of_urdf_are_told_once_and_two_roots_are_told() {
    let message = refused("bad.urdf", &pendulum().replace("value=\"2\"", "value=\"1,5\""));
    assert!(message.contains("is `1,5`, not numbers") && !message.contains("is no link of the file"), "{message}");
    let two = pendulum().replace("<link name=\"base\"/>", "<link name=\"base\"/><link name=\"lone\"/>");
    let told = robot("two.urdf", &two, &RobotOptions::default()).told;
    let note = "the file has 2 links that no joint carries, and each is a base: base, lone";
    assert!(told.notes.iter().any(|n| n == note), "{told:?}");
}

#[test]
fn hostile_mjcf_files_are_refused_with_their_place() {
    let file = |body: &str| format!("<mujoco><worldbody>\n{body}\n</worldbody></mujoco>");
    let body = |name: &str, joint: &str, geom: &str| format!("<body name=\"{name}\">{joint}<geom {geom}/></body>");
    let (hinge, ball) = ("<joint name=\"pin\" axis=\"0 0 1\"/>", "size=\"0.1\"");
    let cases = [
        (
            "<!DOCTYPE m [<!ENTITY a \"aaaa\">]><mujoco model=\"&a;\"/>".into(),
            "document types and entities are not read",
        ),
        (file(&body("a", hinge, "size=\"nan\"")), "is `nan`, not numbers"),
        (file(&body("a", hinge, "size=\"0.1\" mass=\"inf\"")), "is `inf`, not numbers"),
        (file(&body("a", &hinge.replace("0 0 1", "0 0 0"), ball)), "the axis of joint `pin` is zero"),
        (file(&[body("a", hinge, ball), body("a", "", ball)].concat()), "body `a` is there twice"),
        (file(&[body("a", hinge, ball), body("b", hinge, ball)].concat()), "joint `pin` is there twice"),
        (file(&body("a", hinge, "size=\"0.1\" mass=\"0\"")), "joint `pin` moves nothing that has mass"),
        (file("<body name=\"a\"><composite/></body>"), "<composite> is not read"),
    ];
    for (text, told) in cases {
        let message = refused("bad.xml", &text);
        assert!(message.contains(told) && message.contains("bad.xml:"), "{told}:\n{message}");
    }
}

#[test]
fn hostile_sdf_files_are_refused_with_their_place() {
    let link = |name: &str, mass: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass>{mass}</mass><inertia><ixx>1</ixx></inertia></inertial></link>\n"
        )
    };
    let joint = |kind: &str, parent: &str, child: &str, axis: &str| {
        format!(
            "<joint name=\"pin\" type=\"{kind}\"><parent>{parent}</parent><child>{child}</child><axis><xyz>{axis}</xyz></axis></joint>\n"
        )
    };
    let pin = joint("revolute", "world", "a", "0 1 0");
    let file = |body: &[String]| format!("<sdf version=\"1.6\"><model name=\"m\">\n{}</model></sdf>", body.concat());
    let cases = [
        (
            "<!DOCTYPE s [<!ENTITY a \"aaaa\">]><sdf><model name=\"&a;\"/></sdf>".into(),
            "document types and entities are not read",
        ),
        (file(&[link("a", "nan"), pin.clone()]), "<mass> is `nan`"),
        (file(&[link("a", "inf"), pin.clone()]), "<mass> is `inf`"),
        (file(&[link("a", "1"), link("a", "1"), pin.clone()]), "link `a` is there twice"),
        (file(&[link("a", "1"), joint("revolute", "world", "a", "0 0 0")]), "the axis of <joint> `pin` is zero"),
        (file(&[link("a", "1"), joint("elastic", "world", "a", "0 1 0")]), "joint `pin` has the type `elastic`"),
        (
            file(&[link("a", "1"), joint("revolute", "world", "b", "0 1 0")]),
            "the child `b` of <joint> `pin` is no link",
        ),
        (file(&[link("a", "1"), joint("revolute", "a", "a", "0 1 0")]), "joint `pin` joins a link to itself"),
    ];
    for (text, told) in cases {
        let message = refused("bad.sdf", &text);
        assert!(message.contains(told) && message.contains("bad.sdf:"), "{told}:\n{message}");
    }
}

#[test]
fn a_file_in_which_nothing_moves_is_held_in_place_and_told() {
    let text = "<mujoco><worldbody><body name=\"milk\"><geom type=\"box\" size=\"0.1 0.1 0.2\"/>\
                <body name=\"cap\" pos=\"0 0 0.2\"><geom size=\"0.02\"/></body></body></worldbody></mujoco>";
    let found = robot("milk.xml", text, &RobotOptions::default());
    assert!(found.told.notes.iter().any(|n| n.starts_with("nothing in the file moves")), "{:?}", found.told.notes);
    let s = system(&found);
    assert_eq!((s.model.bodies.len(), s.model.joints.len()), (1, 1));
    let spring = "<mujoco><worldbody><body><joint name=\"j\" type=\"ball\" springdamper=\"1 1\"/><geom size=\"0.1\"/></body></worldbody></mujoco>";
    let told = robot("spring.xml", spring, &RobotOptions::default()).told;
    assert!(told.left_out.iter().any(|l| l.what == "`springdamper`" && l.names == ["j"]), "{:?}", told.left_out);
}

#[test]
fn a_chain_of_a_hundred_thousand_links_is_read() {
    let n = 100_000;
    let mut text = String::from("<link name=\"l0\"/>\n");
    for k in 1..=n {
        text += &link(&format!("l{k}"), 1.0, [0.0, 0.0, -0.5], [0.1; 3]);
        text +=
            &joint(&format!("j{k}"), "continuous", [&format!("l{}", k - 1), &format!("l{k}")], "0 0 -1", "0 1 0", "");
    }
    let sample = robot("chain.urdf", &urdf(&text), &RobotOptions::default());
    assert!(sample.model.to_toml().contains(&format!("[joint.j{n}]")));
}

const MJCF: &str = r#"<mujoco model="sample">
  <compiler angle="degree"/>
  <option gravity="0 0 -10"/>
  <default>
    <joint armature="0.5" damping="0.1"/>
    <default class="slow"><joint armature="0.7"/><position kp="20"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 2" euler="0 90 0" childclass="slow">
      <joint name="first" axis="0 1 0" pos="0 0 0" range="-90 90"/>
      <joint name="second" class="main" axis="1 0 0" stiffness="3" springref="30"/>
      <geom type="capsule" fromto="0 0 0 1 0 0" size="0.1" mass="2"/>
      <body name="lower" pos="1 0 0">
        <joint name="third" type="slide" axis="1 0 0" ref="0.2"/>
        <geom type="box" size="0.1 0.2 0.3" pos="0.3 0 0" density="500"/>
        <site name="tip" pos="0.5 0 0"/>
      </body>
    </body>
    <body name="ball" pos="3 0 0"><freejoint/><geom size="0.2"/></body>
  </worldbody>
  <equality><joint joint1="third" joint2="second" polycoef="0.05 0.5 0 0 0"/></equality>
  <tendon><fixed name="cord"><joint joint="first" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="push" joint="third" gear="3"/>
    <position name="servo" joint="first" class="slow" forcerange="-5 5"/>
    <general name="odd" joint="second" gainprm="4" biastype="affine" biasprm="1 -6 -2"/>
    <muscle name="flesh" joint="second"/>
  </actuator>
</mujoco>"#;

#[test]
fn mjcf_has_armature_springs_defaults_geoms_and_actuators() {
    let sample = robot("sample.xml", MJCF, &RobotOptions::default());
    let text = sample.model.to_toml();
    let s = system(&sample);
    assert_eq!(s.model.gravity, Vec3::new(0.0, 0.0, -10.0));
    let bodies: Vec<&str> = s.model.bodies.iter().filter(|b| b.is_shown()).map(|b| b.name.as_str()).collect();
    assert_eq!(bodies, ["upper_1", "upper", "lower", "ball"]);
    let armatures: Vec<f64> = s.model.bodies.iter().filter_map(|b| b.body.as_rotor()).map(|r| r.inertia()).collect();
    assert_eq!(armatures, [0.7, 0.5, 0.7]);
    let mass = |k: usize| s.model.bodies[k].body.coordinates().mass();
    assert_eq!((mass(0), mass(1)), (0.0, 2.0));
    assert!(
        (mass(2) - 500.0 * 0.048).abs() < 1e-12
            && (mass(3) - 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.008).abs() < 1e-12
    );
    // `lower` is where the turned `upper` puts it: x of the body looks down
    assert!((s.model.bodies[2].at - Vec3::new(0.0, 0.0, 2.0 - 1.3)).norm() < 1e-12, "{:?}", s.model.bodies[2].at);
    let kinds =
        |kind: &str| s.model.forces.iter().filter(|f| f.kind == kind).map(|f| f.name.as_str()).collect::<Vec<_>>();
    assert_eq!(kinds("joint-spring"), ["second_spring", "odd_feedback"]);
    assert_eq!(kinds("joint-actuator"), ["push", "odd"]);
    assert_eq!(kinds("pid"), ["servo"]);
    assert!(text.contains("effort = \"3.0 * push\"") && text.contains("effort = \"4.0 * odd + 1.0\""), "{text}");
    assert!(text.contains("rest = 0.5235987755982988"), "{text}");
    assert!(text.contains("ratio = 0.5\noffset = 0.05"), "{text}");
    for (what, name) in [("<tendon>", "cord"), ("the actuator", "flesh"), ("contact", "ball"), ("the limits", "first")]
    {
        let found = sample.told.left_out.iter().any(|l| l.what == what && l.names.iter().any(|n| n == name));
        assert!(found, "{what} {name}: {:?}", sample.told.left_out);
    }
}

#[test]
fn joints_of_one_body_turn_one_after_the_other_and_armature_counts() {
    let text = r#"<mujoco><worldbody><body name="b">
        <joint name="x" axis="1 0 0" armature="0.3"/><joint name="y" axis="0 1 0"/>
        <inertial pos="0 0 -1" mass="2" diaginertia="0.1 0.2 0.3"/></body></worldbody></mujoco>"#;
    let s = system(&robot("two.xml", text, &RobotOptions::default()));
    let r = relative(&s);
    let q = [0.4, -0.9];
    let (mass, force) = equations(&r, &q);
    // M = Σ Jᵀ: by hand, with the axes x and R_x y
    let turn = |axis: Vec3, a: f64| bellcrank_math::rotation::exp(axis * a);
    let rotation = turn(Vec3::X, q[0]) * turn(Vec3::Y, q[1]);
    let axes = [Vec3::X, turn(Vec3::X, q[0]) * Vec3::Y];
    let arm = rotation * Vec3::new(0.0, 0.0, -1.0);
    let inertia =
        rotation * Mat3::diagonal(Vec3::new(0.1, 0.2, 0.3)) * rotation.transpose() - arm.tilde() * arm.tilde() * 2.0;
    for i in 0..2 {
        for j in 0..2 {
            let exact = axes[i].dot(inertia * axes[j]) + if i == 0 && j == 0 { 0.3 } else { 0.0 };
            assert!((mass[i][j] - exact).abs() < 1e-13, "{i} {j}: {} {exact}", mass[i][j]);
        }
        let torque = axes[i].dot(arm.cross(Vec3::new(0.0, 0.0, -2.0 * 9.81)));
        assert!((force[i] - torque).abs() < 1e-12, "{i}: {} {torque}", force[i]);
    }
}

const SDF: &str = r#"<sdf version="1.6"><model name="four-bar">
  <link name="crank"><pose>0 0 0.5 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <link name="coupler"><pose>1 0 1 0 0 0</pose><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.2</izz></inertia></inertial></link>
  <link name="rocker"><pose>2 0 0.5 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <joint name="A" type="revolute"><parent>world</parent><child>crank</child><pose>0 0 -0.5 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint>
  <joint name="B" type="revolute"><parent>crank</parent><child>coupler</child><pose>-1 0 0 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint>
  <joint name="D" type="revolute"><parent>world</parent><child>rocker</child><pose>0 0 -0.5 0 0 0</pose><axis><xyz>0 1 0</xyz>
    <dynamics><damping>0.2</damping><spring_stiffness>4</spring_stiffness><spring_reference>0.1</spring_reference></dynamics></axis></joint>
  <joint name="C" type="ball"><parent>rocker</parent><child>coupler</child><pose>1 0 0 0 0 0</pose></joint>
</model></sdf>"#;

#[test]
fn sdf_joints_that_close_loops_stay_equations() {
    let sample = robot("four-bar.sdf", SDF, &RobotOptions::default());
    let s = system(&sample);
    assert_eq!((s.model.bodies.len(), s.model.joints.len()), (3, 4));
    assert_eq!(s.model.joints[3].tree, Some(false));
    let r = relative(&s);
    assert_eq!(r.size(), (3, 3));
    let p = Point::at(&r.initial_state(), r.layout());
    assert!(values(&r, Piece::Position, &p).iter().all(|g| g.abs() < 1e-15), "closed as drawn");
    let kinds: Vec<&str> = s.model.forces.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, ["joint-friction", "joint-spring"]);
}

#[test]
fn the_same_arm_in_three_formats_has_the_same_equations() {
    let urdf = urdf(
        &[
            "<link name=\"base\"/>\n".to_string(),
            link("one", 2.0, [0.1, 0.0, -0.5], [0.2, 0.3, 0.1]),
            link("two", 1.0, [0.0, 0.2, -0.3], [0.02, 0.03, 0.01]),
            joint("a", "continuous", ["base", "one"], "0 0 1", "0 1 0", ""),
            joint("b", "prismatic", ["one", "two"], "0 0 -1", "1 0 1", ""),
        ]
        .concat(),
    );
    let mjcf = r#"<mujoco><worldbody><body name="one" pos="0 0 1"><joint name="a" axis="0 1 0"/>
      <inertial pos="0.1 0 -0.5" mass="2" diaginertia="0.2 0.3 0.1"/>
      <body name="two" pos="0 0 -1"><joint name="b" type="slide" axis="1 0 1"/>
      <inertial pos="0 0.2 -0.3" mass="1" diaginertia="0.02 0.03 0.01"/></body></body></worldbody></mujoco>"#;
    let inertial = |at: &str, m: f64, [x, y, z]: [f64; 3]| {
        format!(
            "<inertial><pose>{at} 0 0 0</pose><mass>{m}</mass><inertia><ixx>{x}</ixx><iyy>{y}</iyy><izz>{z}</izz></inertia></inertial>"
        )
    };
    let sdf = format!(
        "<sdf version=\"1.6\"><model name=\"arm\"><link name=\"one\"><pose>0 0 1 0 0 0</pose>{}</link>\
        <link name=\"two\"><pose>0 0 0 0 0 0</pose>{}</link>\
        <joint name=\"a\" type=\"revolute\"><parent>world</parent><child>one</child><axis><xyz>0 1 0</xyz></axis></joint>\
        <joint name=\"b\" type=\"prismatic\"><parent>one</parent><child>two</child><axis><xyz>1 0 1</xyz></axis></joint></model></sdf>",
        inertial("0.1 0 -0.5", 2.0, [0.2, 0.3, 0.1]),
        inertial("0 0.2 -0.3", 1.0, [0.02, 0.03, 0.01])
    );
    let all = [("arm.urdf", urdf.as_str()), ("arm.xml", mjcf), ("arm.sdf", &sdf)].map(|(name, text)| {
        let s = system(&robot(name, text, &RobotOptions::default()));
        let r = relative(&s);
        equations(&r, &[0.7, 0.3])
    });
    for (mass, force) in &all[1..] {
        for i in 0..2 {
            assert!((force[i] - all[0].1[i]).abs() < 1e-13);
            (0..2).for_each(|j| assert!((mass[i][j] - all[0].0[i][j]).abs() < 1e-14));
        }
    }
}

#[test]
fn visuals_are_written_and_read_back() {
    let text = pendulum().replace(
        "</inertial></link>\n<link name=\"weight\">",
        "</inertial><visual><origin xyz=\"0 0 -0.5\" rpy=\"0 1.5 0\"/><geometry><cylinder radius=\"0.1\" length=\"1\"/></geometry></visual>\
         <visual><geometry><box size=\"1 2 3\"/></geometry><material name=\"glass\"><color rgba=\"0 0.5 1 0.25\"/></material></visual>\
         <visual><geometry><mesh filename=\"package://none/a.stl\"/></geometry></visual></link>\n<link name=\"weight\">",
    );
    let sample = robot("sample.urdf", &text, &RobotOptions::default());
    assert_eq!(sample.visuals.len(), 2);
    assert!(sample.told.left_out.iter().any(|l| l.what == "the mesh" && l.names == ["arm"]), "{:?}", sample.told);
    let (toml, copies) = sample.to_toml("meshes");
    assert!(copies.is_empty() && toml.starts_with("# Made from sample.urdf.\n# note: "), "{toml}");
    let direct = sample.read(&[]).unwrap_or_else(|e| panic!("{e}"));
    let again = bellcrank_model::read::read_text("sample.toml", &toml, &[]).unwrap_or_else(|e| panic!("{e}"));
    let corners = |r: &bellcrank_model::read::Read| {
        r.model.bodies[0].solids.first().map(|s| s.mesh.corners.clone()).unwrap_or_default()
    };
    let looks =
        |r: &bellcrank_model::read::Read| r.model.bodies[0].solids.iter().map(|s| s.appearance).collect::<Vec<_>>();
    assert_eq!(looks(&direct), looks(&again));
    let glass = looks(&direct)[1];
    assert_eq!((glass.colour.map(|c| c.to_string()), glass.opacity), (Some("#0080ff".into()), Some(0.25)));
    let (a, b) = (corners(&direct), corners(&again));
    assert!(a.len() > 300 && a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn loops_beside_a_tree_are_closed() {
    let folder = std::env::temp_dir().join(format!("bellcrank-loops-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = urdf(
        &[
            "<link name=\"base\"/>\n".to_string(),
            link("crank", 1.0, [0.0, 0.0, 0.5], [0.1; 3]),
            link("coupler", 2.0, [1.0, 0.0, 0.0], [0.2; 3]),
            link("rocker", 1.0, [0.0, 0.0, 0.5], [0.1; 3]),
            joint("A", "continuous", ["base", "crank"], "0 0 0", "0 1 0", ""),
            joint("B", "continuous", ["crank", "coupler"], "0 0 1", "0 1 0", ""),
            joint("D", "continuous", ["base", "rocker"], "2 0 0", "0 1 0", ""),
        ]
        .concat(),
    );
    let file = folder.join("four-bar.urdf");
    std::fs::write(&file, text).unwrap();
    let beside = folder.join("four-bar.loops.toml");
    let write = |at: &str| {
        let text = format!(
            "[loop.C]\ntype = \"revolute\"\nbetween = [\"coupler\", \"rocker\"]\nat = {at}\naxis = [0, 1, 0]\n"
        );
        std::fs::write(&beside, text).unwrap();
    };
    write("[2, 0, 0]");
    let open = || bellcrank_robots::open(&file.to_string_lossy(), &RobotOptions::default());
    let sample = open().unwrap_or_else(|e| panic!("{e}"));
    let s = system(&sample);
    assert_eq!(s.model.joints.iter().map(|j| j.tree).collect::<Vec<_>>(), [None, None, None, Some(false)]);
    let p = Point::at(&s.initial_state(), s.layout());
    assert!(values(&s, Piece::Position, &p).iter().all(|g| g.abs() < 1e-15));
    std::fs::write(&beside, "[loop.C]\ntype = \"revolute\"\nbetween = [\"coupler\", \"roker\"]\n").unwrap();
    let message = open().err().unwrap().to_string();
    assert!(
        message.contains("roker") && message.contains("rocker") && message.contains("four-bar.loops.toml:3"),
        "{message}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

/// MuJoCo's rule: I = 1/(M⁻¹)ᵢᵢ at the zero of all coordinates, k = I/(τ ζ)², d = 2 I/τ.
#[test]
fn springs_that_are_given_by_how_a_joint_settles() {
    let text = r#"<mujoco><compiler angle="radian"/><worldbody>
        <body name="upper"><joint name="a" axis="0 1 0" springdamper="0.2 0.5" armature="0.01"/>
          <inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.1 0.1"/>
          <body name="lower" pos="0 0 -1"><joint name="b" axis="0 1 0" springdamper="0.1 1"/>
            <inertial pos="0 0 -0.5" mass="1" diaginertia="0.05 0.05 0.05"/></body></body></worldbody></mujoco>"#;
    let robot = robot("two.xml", text, &RobotOptions::default());
    // the mass matrix of a double pendulum that hangs straight down
    let (i1, i2, c) = (0.1 + 2.0 * 0.25, 0.05 + 0.25, 0.5);
    let m = [[i1 + 0.01 + 0.05 + 1.5 * 1.5, i2 + c], [i2 + c, i2]];
    let det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    let expected: [(&str, f64, f64, f64); 2] = [("a", det / m[1][1], 0.2, 0.5), ("b", det / m[0][0], 0.1, 1.0)];
    let told = robot.model.to_toml();
    for (name, inertia, time, ratio) in expected {
        let value = |section: &str, key: &str| {
            let after = told.split(&format!("[force.{section}]")).nth(1).unwrap_or_else(|| panic!("{section}: {told}"));
            let line = after.lines().find(|l| l.starts_with(key)).unwrap();
            line.split('=').nth(1).unwrap().trim().parse::<f64>().unwrap()
        };
        let (k, d) = (value(&format!("{name}_spring"), "stiffness"), value(&format!("{name}_friction"), "viscous"));
        assert!((k / (inertia / (time * ratio).powi(2)) - 1.0).abs() < 1e-9, "{name}: {k} {inertia}");
        assert!((d / (2.0 * inertia / time) - 1.0).abs() < 1e-9, "{name}: {d}");
    }
    assert!(!robot.told.left_out.iter().any(|l| format!("{l:?}").contains("springdamper")));
}
