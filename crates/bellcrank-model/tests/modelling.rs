//! Ways to write a model: numbers with units, orientations by angles.

use bellcrank_math::{Mat3, Quat, Vec3};
use bellcrank_model::model::Model;
use bellcrank_model::read::read_text;
use bellcrank_model::testing::values;
use bellcrank_model::{Piece, Point};

fn model(text: &str) -> Model {
    match read_text("m.toml", text, &[]) {
        Ok(read) => read.model,
        Err(report) => panic!("{report}"),
    }
}

fn refusal(text: &str) -> String {
    match read_text("m.toml", text, &[]) {
        Ok(_) => panic!("read without an error:\n{text}"),
        Err(report) => report.to_string(),
    }
}

/// One machine twice, in units and in plain numbers: not a bit differs.
#[test]
fn units_are_another_way_to_write_the_same_numbers() {
    let machine = |[gravity, x, mass, inertia, angle, k, c, load, rate, limit]: [&str; 10]| {
        format!(
            "[model]\nplane = 'xy'\ngravity = [0, {gravity}]\n[parameter]\nstroke = {x}\n[input.u]\nstart = {load}\n\
             [body.arm]\nmass = {mass}\ninertia = {inertia}\nat = ['stroke', {x}]\nangle = {angle}\n\
             [joint.pin]\ntype = 'revolute'\nbetween = ['ground', 'arm']\nat = [0, 0]\n\
             [force.s]\ntype = 'spring-damper'\nbetween = ['ground', 'arm']\nat = [[{x}, 1], ['stroke', {x}]]\nstiffness = {k}\n\
             damping = {c}\n[force.l]\ntype = 'force'\nbody = 'arm'\nforce = [{load}, 'u']\n\
             [force.a]\ntype = 'joint-actuator'\njoint = 'pin'\neffort = 1\nlimits = {limit}\n[start]\npin = {{ rate = {rate} }}\n"
        )
    };
    let units = [
        "'-9.81 m/s²'",
        "'120 mm'",
        "'850 g'",
        "'12 kg mm^2'",
        "'90 deg'",
        "'5 kN/m'",
        "'2 N s/mm'",
        "'1.5 kN'",
        "'60 rpm'",
        "['-3 N m', '3 Nm']",
    ];
    let turn = format!("{:?}", 60.0 * (2.0 * std::f64::consts::PI / 60.0));
    let plain = ["-9.81", "0.12", "0.85", "12e-6", "1.5707963267948966", "5e3", "2e3", "1.5e3", &turn, "[-3, 3]"];
    let [a, b] = [units, plain].map(|values| format!("{:?}", bodies_and_start(&model(&machine(values)))));
    assert_eq!(a, b);
    // the unit of an input and of a parameter is known from its number
    let read = read_text("m.toml", &machine(units), &[]).map_err(|r| r.to_string()).unwrap();
    assert_eq!((read.model.inputs[0].unit, read.parameters.list()[0].unit.as_str()), ("N", "m"));
}

fn bodies_and_start(m: &Model) -> impl std::fmt::Debug {
    let bodies: Vec<_> = m.bodies.iter().map(|b| (b.at, b.angle, format!("{:?}", b.body))).collect();
    let start: Vec<_> = m.start.iter().map(|s| (s.value, s.rate)).collect();
    (m.gravity, bodies, start, m.inputs[0].start, forces_at_start(m))
}

fn forces_at_start(m: &Model) -> Vec<f64> {
    let system = m.compile();
    values(&system, Piece::Force, &Point::at(&system.initial_state(), system.layout()))
}

#[test]
fn units_work_in_expressions_and_settings() {
    let body = "[model]\nplane = 'xy'\n[body.a]\nmass = '2*250 g'\ninertia = 1\nat = ['w/2 - 3 mm', '-(5 mm)^2']\n";
    let read = read_text("m.toml", &format!("{body}[parameter]\nw = '2 cm'\n[solve]\nuntil = '300 ms'\n"), &[]);
    let read = read.map_err(|r| r.to_string()).unwrap();
    let at = read.model.bodies[0].at;
    assert!((at[0] - 0.007).abs() < 1e-17 && (at[1] + 25e-6).abs() < 1e-19, "{at:?}");
    // a space takes the `/` out of the unit
    let text = "[model]\nplane = 'xy'\n[parameter]\nm = 4\n[body.a]\nmass = '8 kg / m'\ninertia = '1 kg m²'\n";
    assert!(format!("{:?}", model(text).bodies[0].body).contains("mass: 2.0"), "{:?}", model(text).bodies[0].body);
    let both = text.replace("8 kg / m", "2*8 kg/m");
    assert!(refusal(&both).contains("also a name in the model"));
}

/// R = R₁R₂R₃ about the body's own axes, for all twelve orders, against turns about fixed axes in the reverse order.
#[test]
fn angles_turn_about_the_axes_of_the_body_in_the_order_that_is_written() {
    let about = |axis: Vec3, angle: f64| Quat::exp(axis * angle).matrix();
    let angles = [0.4, -0.7, 1.1f64];
    for order in ["xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz"] {
        let text = format!(
            "[body.a]\nmass = 1\ninertia = [1, 2, 2.5]\norientation = {{ order = '{order}', angles = [0.4, -0.7, 1.1] }}\n"
        );
        let found = model(&text).bodies[0].rotation.matrix();
        // fixed axes, the last turn first: the same rotation by another road
        let mut world = Mat3::IDENTITY;
        for (letter, angle) in order.chars().zip(angles).collect::<Vec<_>>().into_iter().rev() {
            let axis = match letter {
                'x' => Vec3::X,
                'y' => Vec3::Y,
                _ => Vec3::Z,
            };
            world = about(axis, angle) * world;
        }
        let difference = found - world;
        assert!((0..3).all(|i| difference.row(i).norm() < 1e-14), "{order}: {difference:?}");
    }
    let degrees = "[body.a]\nmass = 1\ninertia = [1, 2, 2.5]\norientation = { order = 'zyx', angles = ['90 deg', 0, '90 deg'] }\n";
    let r = model(degrees).bodies[0].rotation.matrix();
    assert!((r * Vec3::Y - Vec3::Z).norm() < 1e-15 && (r * Vec3::X - Vec3::Y).norm() < 1e-15);
    assert!(refusal(&degrees.replace("zyx", "zzx")).contains("it is one of xyz"));
    assert!(refusal(&degrees.replace("'90 deg', 0", "'90 mm', 0")).contains("is in rad, found a number in mm"));
}

/// A chain that is repeated, and the same written out: not a bit differs, names included.
#[test]
fn a_repeated_chain_is_the_one_written_out() {
    let head = "[model]\nplane = 'xy'\ngravity = [0, -9.81]\n[parameter]\nn = 12\npitch = 0.25\n";
    let repeated = format!(
        "{head}[body.'link{{i}}']\nrepeat = 'n'\nmass = '0.1*{{i}}'\ninertia = 0.01\nat = ['({{i}} - 1/2)*pitch', 0]\n\
         [joint.first]\ntype = 'revolute'\nbetween = ['ground', 'link1']\nat = [0, 0]\n\
         [joint.pin]\nrepeat = 'n - 1'\ntype = 'revolute'\nbetween = ['link{{i}}', 'link{{i+1}}']\nat = ['{{i}}*pitch', 0]\n\
         [force.s]\nrepeat = 'n'\ntype = 'force'\nbody = 'link{{n+1-i}}'\nforce = ['sin({{i}}*t)', '-2*link{{i}}.vy']\n\
         [start.'pin{{2*i}}']\nrepeat = 3\nrate = '{{i}}/10'\n"
    );
    let mut written = head.to_string();
    for i in 1..=12 {
        written += &format!("[body.link{i}]\nmass = '0.1*{i}'\ninertia = 0.01\nat = ['({i} - 1/2)*pitch', 0]\n");
    }
    written += "[joint.first]\ntype = 'revolute'\nbetween = ['ground', 'link1']\nat = [0, 0]\n";
    for i in 1..12 {
        let (a, b) = (i, i + 1);
        written +=
            &format!("[joint.pin{i}]\ntype = 'revolute'\nbetween = ['link{a}', 'link{b}']\nat = ['{i}*pitch', 0]\n");
    }
    for i in 1..=12 {
        let b = 13 - i;
        written +=
            &format!("[force.s{i}]\ntype = 'force'\nbody = 'link{b}'\nforce = ['sin({i}*t)', '-2*link{i}.vy']\n");
    }
    written += "[start]\n";
    (1..=3).for_each(|i| written += &format!("pin{} = {{ rate = '{i}/10' }}\n", 2 * i));
    let [a, b] = [&repeated, &written].map(|text| model(text));
    let names = |m: &Model| -> Vec<String> {
        let joints = m.joints.iter().map(|j| j.name.clone());
        m.bodies.iter().map(|b| b.name.clone()).chain(joints).chain(m.forces.iter().map(|f| f.name.clone())).collect()
    };
    assert_eq!(names(&a), names(&b));
    let starts = |m: &Model| format!("{:?}", m.start);
    assert_eq!(starts(&a), starts(&b));
    assert_eq!(a.compile().initial_state(), b.compile().initial_state());
    assert_eq!(forces_at_start(&a), forces_at_start(&b));
}

#[test]
fn a_net_has_two_indices_and_nothing_is_fine() {
    let net = "[model]\nplane = 'xy'\n[parameter]\nm = 4\n[body.'k{i}_{j}']\nrepeat = [3, 'm']\nmass = 1\nat = ['{i}', '{j}*0.5']\n\
        [joint.'row{i}_{j}']\nrepeat = [3, 'm - 1']\ntype = 'distance'\nbetween = ['k{i}_{j}', 'k{i}_{j+1}']\n\
        at = [['{i}', '{j}*0.5'], ['{i}', '({j} + 1)*0.5']]\n[probe.none]\nrepeat = 0\nbody = 'nobody'\n";
    let found = model(net);
    assert_eq!((found.bodies.len(), found.joints.len(), found.probes.len()), (12, 9, 0));
    let last = found.bodies.last().map(|b| (b.name.as_str(), b.at)).unwrap();
    assert_eq!(last, ("k3_4", Vec3::new(3.0, 2.0, 0.0)));
    // a name without braces gets its indices behind it
    let found = model("[model]\nplane = 'xy'\n[body.k]\nrepeat = [2, 2]\nmass = 1\n[body.m2]\nrepeat = 1\nmass = 1\n");
    let names: Vec<&str> = found.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["k1_1", "k1_2", "k2_1", "k2_2", "m2_1"]);
}

/// A table in two variables is exact where the function is of degree two, and its slopes go into the matrix.
#[test]
fn expressions_look_into_tables() {
    let text = "[model]\nplane = 'xy'\n[table.map]\nx = [0, 1, '3 m', 4]\ny = [-1, 0, 2]\n\
        values = [[1, 1, 1, 1], [0, 1, 9, 16], ['0', 3, 19, 33]]\n[table.line]\nx = [0, 2, 4]\nvalues = [0, 4, 16]\n\
        [body.a]\nmass = 'line(3)'\ninertia = 'map(2, 0)'\nat = [0.5, 0.5]\nvelocity = [0.3, 0]\n\
        [force.f]\ntype = 'force'\nbody = 'a'\nforce = ['map(a.x, a.vx)', 'line(t + 1)']\n";
    let m = model(text);
    assert!(format!("{:?}", m.bodies[0].body).contains("mass: 9.0"), "{:?}", m.bodies[0].body);
    let system = m.compile();
    let mut point = Point::at(&system.initial_state(), system.layout());
    point.t = 1.0;
    let force = values(&system, Piece::Force, &point);
    let square = "[model]\nplane = 'xy'\n[table.f]\nx = [0, 1, 4]\ny = [0, 1, 3]\nvalues = [[0, 1, 16], [2, 3, 18], [18, 19, 34]]\n\
        [body.a]\nmass = 1\ninertia = 1\nat = [0.5, 0.7]\n[force.f]\ntype = 'force'\nbody = 'a'\nforce = ['f(a.x, a.y)', 0]\n";
    // x² + 2 y²
    let found = forces_at_start(&model(square))[0];
    assert!((found - (0.25 + 2.0 * 0.49)).abs() < 1e-14, "{found}");
    assert!((force[1] - 4.0).abs() < 1e-13, "{force:?}");
    let told = |change: [&str; 2]| refusal(&square.replace(change[0], change[1]));
    assert!(told(["f(a.x, a.y)", "f(a.x)"]).contains("table `f` takes 2 arguments, found 1"));
    assert!(told(["x = [0, 1, 4]", "x = [0, 4, 1]"]).contains("which must increase"));
    assert!(told(["[0, 1, 16], ", ""]).contains("2 rows of values for 3 values of `y`"));
    assert!(told(["[0, 1, 16]", "[0, 1]"]).contains("2 values in row 1 for 3 values of `x`"));
    assert!(told(["table.f]", "table.sin]"]).contains("this is a function of expressions"));
}
