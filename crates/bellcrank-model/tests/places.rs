//! Where things stand: markers, parts and what they are called, thin rods, point masses.

use bellcrank_math::{Quat, Vec3};
use bellcrank_model::bodies::Body;
use bellcrank_model::model::Model;
use bellcrank_model::read::{read_model, read_text};
use bellcrank_model::testing::values;
use bellcrank_model::{Piece, Point};
use std::path::PathBuf;

fn model(text: &str) -> Model {
    match read_text("m.toml", text, &[]) {
        Ok(read) => read.model,
        Err(report) => panic!("{report}"),
    }
}

fn forces(m: &Model) -> Vec<f64> {
    let system = m.compile();
    values(&system, Piece::Force, &Point::at(&system.initial_state(), system.layout()))
}

fn ends(m: &Model) -> String {
    let joints = m.joints.iter().map(|j| &j.ends);
    format!("{:?}", joints.chain(m.forces.iter().map(|f| &f.ends)).collect::<Vec<_>>())
}

const TWO: &str = "[body.a]\nmass = 1\ninertia = [1, 2, 2.5]\nat = [1, 2, 3]\norientation = { axis = [1, 0, 0], angle = 0.4 }\n\
    [body.b]\nmass = 1\ninertia = [1, 2, 2.5]\nat = [2, 2, 3]\n";

/// A marker in place of a body is the body with the marker's point and axes.
#[test]
fn joints_and_forces_on_markers_stand_where_those_with_points_and_axes_do() {
    let marker = "[marker.m]\nbody = 'a'\nat = [1.5, 2, 3]\norientation = { axis = [0, 1, 0], angle = 'pi/2' }\n";
    // its z axis is x of the world, its x axis −z
    let joint = |keys: &str| {
        format!(
            "[joint.j]\ntype = 'revolute'\n{keys}\n[force.s]\ntype = 'spring-damper'\nstiffness = 10\nlength = 0.3\n"
        )
    };
    let by_marker = format!(
        "{TWO}{marker}[marker.n]\nbody = 'b'\non = [0.1, 0.2, 0.3]\n{}between = ['m', 'n']\n",
        joint("between = ['m', 'b']")
    );
    let by_hand = format!(
        "{TWO}{}between = ['a', 'b']\nat = [[1.5, 2, 3], [2.1, 2.2, 3.3]]\n",
        joint("between = ['a', 'b']\nat = [1.5, 2, 3]\naxis = [1, 0, 0]\naxis2 = [0, 0, -1]")
    );
    let [a, b] = [model(&by_marker), model(&by_hand)];
    for (end, other) in a.joints[0].ends.iter().zip(&b.joints[0].ends) {
        assert!((end.on.point - other.on.point).norm() < 1e-14, "{end:?} {other:?}");
        let off = end.on.axes - other.on.axes;
        assert!((0..3).all(|i| off.row(i).norm() < 1e-14), "{end:?} {other:?}");
    }
    assert!(forces(&a).iter().zip(forces(&b)).all(|(x, y)| (x - y).abs() < 1e-12));
    // a probe has the marker's axes, and a force on one body its point
    let more = format!("{by_marker}[probe.p]\nbody = 'm'\n[force.f]\ntype = 'force'\nbody = 'n'\nforce = [1, 2, 3]\n");
    let m = model(&more);
    let r = Quat::exp(Vec3::X * -0.4).matrix() * Quat::exp(Vec3::Y * std::f64::consts::FRAC_PI_2).matrix();
    let off = m.probes[0].axes - r;
    assert!((0..3).all(|i| off.row(i).norm() < 1e-14));
    assert_eq!(m.forces[1].ends[0].on.point, Vec3::new(0.1, 0.2, 0.3));
}

/// Two markers are the two frames of a joint: the angle in the plane is that between them.
#[test]
fn a_joint_between_two_markers_joins_their_frames() {
    let text = "[model]\nplane = 'xy'\n[body.a]\nmass = 1\ninertia = 1\nangle = 0.3\n[body.b]\nmass = 1\ninertia = 1\nat = [1, 0]\n\
        [marker.m]\nbody = 'a'\non = [0.5, 0]\nangle = 0.2\n[marker.n]\nbody = 'b'\non = [-0.5, 0]\nangle = 0.1\n\
        [joint.pin]\ntype = 'revolute'\nbetween = ['m', 'n']\n";
    let ends = &model(text).joints[0].ends;
    assert_eq!((ends[0].on.point, ends[1].on.point), (Vec3::new(0.5, 0.0, 0.0), Vec3::new(-0.5, 0.0, 0.0)));
    let angle = |k: usize| bellcrank_model::frames::angle_of(&ends[k].on.axes);
    assert!((angle(0) - 0.2).abs() < 1e-15 && (angle(1) - 0.1).abs() < 1e-15);
}

#[test]
fn wrong_markers_are_told() {
    let told = |more: &str| match read_text("m.toml", &format!("{TWO}{more}"), &[]) {
        Ok(_) => panic!("read without an error: {more}"),
        Err(report) => report.to_string(),
    };
    let m = "[marker.m]\nbody = 'a'\n[marker.n]\nbody = 'a'\n";
    assert!(
        told("[marker.m]\nbody = 'c'\n").contains("unknown body `c` in marker `m`"),
        "{}",
        told("[marker.m]\nbody = 'c'\n")
    );
    assert!(told("[marker.a]\nbody = 'b'\n").contains("`a` is the name of a body and of a marker"));
    let both = format!("{m}[joint.j]\ntype = 'spherical'\nbetween = ['m', 'n']\n");
    assert!(told(&both).contains("joint `j` joins two markers on a"), "{}", told(&both));
    let at = format!("{m}[joint.j]\ntype = 'spherical'\nbetween = ['m', 'b']\nat = [0, 0, 0]\n");
    assert!(told(&at).contains("joint `j` has both a marker and `at`"));
    let one = format!("{m}[joint.j]\ntype = 'distance'\nbetween = ['m', 'b']\n");
    assert!(told(&one).contains("has a marker for one of its two points"));
}

/// A part that stands at the origin is its file with longer names: not a bit differs.
#[test]
fn a_part_is_its_file_under_other_names() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("places-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    let part = "[model]\nplane = 'xy'\ngravity = [0, -9.81]\n[parameter]\nn = 3\nk = '200 N/m'\ne = 2\n[input.u]\nstart = 2\n\
        [table.map]\nx = [0, 1]\nvalues = [0, 3]\n[body.'link{i}']\nrepeat = 'n'\nmass = '{i}*e'\ninertia = 0.1\nat = ['{i} - 0.5', '12 mm']\n\
        [joint.'pin{i+1}']\nrepeat = 'n - 1'\ntype = 'revolute'\nbetween = ['link{i}', 'link{i+1}']\nat = ['{i}', 0]\n\
        [joint.pin1]\ntype = 'revolute'\nbetween = ['ground', 'link1']\nat = [0, 0]\n\
        [force.s]\ntype = 'spring-damper'\nbetween = ['ground', 'link2']\nat = [[0, 1], [1.5, 0]]\nstiffness = 'k'\n\
        [force.f]\ntype = 'force'\nbody = 'link3'\nforce = ['u*sin(pi*t) + p', 'map(link1.x)*speed']\n\
        [force.m]\ntype = 'joint-actuator'\njoint = 'pin1'\neffort = { table = 'load.csv', column = 'e' }\n\
        [state.p]\nrate = 'pin1.rate - p'\nstart = 1\n[output.speed]\nvalue = '2*t'\n[start]\npin1 = { rate = 0.5 }\n[solve]\nrtol = 1e-9\n";
    std::fs::write(folder.join("sub/part.toml"), part).unwrap();
    std::fs::write(folder.join("sub/load.csv"), "t,e\n0,1\n1,2\n").unwrap();
    let machine = "[model]\nplane = 'xy'\ngravity = [0, -9.81]\n[include.left]\nfile = 'sub/part.toml'\nset = { k = '2*k' }\n\
        [include.right]\nfile = 'sub/part.toml'\n[parameter]\nk = 100\n[force.across]\ntype = 'spring-damper'\n\
        between = ['left.link1', 'right.link3']\nat = [[0, 0], [1, 1]]\nstiffness = 'right.k'\n";
    std::fs::write(folder.join("machine.toml"), machine).unwrap();
    let open = |name: &str, set: &[String]| {
        read_model(&folder.join(name).to_string_lossy(), set).unwrap_or_else(|report| panic!("{report}"))
    };
    let (alone, whole) = (open("sub/part.toml", &[]), open("machine.toml", &[]));
    let names: Vec<&str> = whole.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["left.link1", "left.link2", "left.link3", "right.link1", "right.link2", "right.link3"]);
    assert_eq!(whole.model.inputs.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["left.u", "right.u"]);
    assert_eq!(whole.files, ["sub/load.csv", "sub/part.toml"]);
    let k = |name: &str| whole.parameters.get(name);
    assert_eq!((k("left.k"), k("right.k"), k("left.e")), (Some(200.0), Some(200.0), Some(2.0)));
    // each part has the loads it has alone
    let (one, mut both) = (forces(&alone.model), whole.model.clone());
    both.forces.retain(|f| f.name != "across");
    let found = forces(&both);
    assert_eq!(one, found[..one.len()]);
    assert_eq!(one, found[one.len()..]);
    assert!(ends(&both).len() > 2 * ends(&alone.model).len() - 10);
    // values of parts are set from outside, and messages point into the file they are in
    let other = open("machine.toml", &["include.right.set.k=50".to_string()]);
    assert_eq!((other.parameters.get("right.k"), other.parameters.get("left.k")), (Some(50.0), Some(200.0)));
    let place = whole.document.place("joint", "left.pin3").unwrap();
    assert!(whole.document.sources.of(place).unwrap().name.ends_with("sub/part.toml"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Without a radius a rod in space is left to its ends.
#[test]
fn a_thin_rod_in_space_needs_no_inertia() {
    let m = model(
        "[body.r]\nrod = { from = [0, 0, 0], to = [0, 0, 2], mass = 3 }\n[joint.j]\ntype = 'spherical'\nbetween = ['ground', 'r']\nat = [0, 0, 0]\n",
    );
    assert!(matches!(m.bodies[0].body, Body::Rod(_)));
    let text = "[body.r]\nrod = { from = [0, 0, 0], to = [0, 0, 2], mass = 3 }\n[joint.j]\ntype = 'revolute'\nbetween = ['ground', 'r']\nat = [0, 0, 0]\n";
    let told = read_text("m.toml", text, &[]).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("needs the spin of `r`") && told.contains("`radius`"), "{told}");
}

/// A bushing without stiffness against turns holds a point mass; its force is k · displacement in the axes of the first body.
#[test]
fn bushings_hold_point_masses() {
    let text = |k: &str| {
        format!(
            "[body.p]\nmass = 2\nat = [0.1, 0.2, 0.3]\n[force.b]\ntype = 'bushing'\nbetween = ['ground', 'p']\n\
             on = [[0, 0, 0], [0, 0, 0]]\nstiffness = {k}\n"
        )
    };
    let found = forces(&model(&text("[10, 20, 30, 0, 0, 0]")));
    assert!(found.iter().zip([-1.0, -4.0, -9.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{found:?}");
    let told = read_text("m.toml", &text("[10, 20, 30, 1, 0, 0]"), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("needs the rotation of `p`, which is a point mass"), "{told}");
}

/// The mass of a mesh of a box against a box, wherever the file has it.
#[test]
fn a_mesh_with_a_density_is_the_solid_it_shows() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("solid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut mesh = bellcrank_model::mesh::Mesh::cuboid(Vec3::new(200.0, 400.0, 600.0));
    mesh.carry(bellcrank_math::Mat3::IDENTITY, Vec3::new(1000.0, 0.0, 0.0));
    let write = |name: &str, corners: &[f32]| {
        let mut text = String::from("solid box\n");
        for t in corners.chunks_exact(9) {
            text += "facet normal 0 0 0\nouter loop\n";
            t.chunks_exact(3).for_each(|p| text += &format!("vertex {} {} {}\n", p[0], p[1], p[2]));
            text += "endloop\nendfacet\n";
        }
        std::fs::write(folder.join(name), text + "endsolid box\n").unwrap();
    };
    write("box.stl", &mesh.corners);
    write("open.stl", &mesh.corners[9..]);
    let read = |body: &str| {
        std::fs::write(folder.join("m.toml"), format!("[body.a]\n{body}\n")).unwrap();
        read_model(&folder.join("m.toml").to_string_lossy(), &[])
    };
    let keys = "orientation = { axis = [0, 0, 1], angle = 'pi/2' }";
    let m = read(&format!("mesh = {{ file = 'box.stl', scale = 0.001, density = 1000 }}\n{keys}"))
        .map_err(|r| r.to_string())
        .unwrap()
        .model;
    assert!((m.bodies[0].at - Vec3::Y).norm() < 1e-6, "{:?}", m.bodies[0].at);
    let Body::Rigid(found) = &m.bodies[0].body else { panic!() };
    let shown = format!("{found:?}");
    let exact = model("[body.a]\nbox = { size = [0.2, 0.4, 0.6], mass = 48 }\n");
    let Body::Rigid(exact) = &exact.bodies[0].body else { panic!() };
    assert!((bellcrank_model::bodies::Coordinates::mass(found) - 48.0).abs() < 1e-3, "{shown}");
    let off = *found.inertia() - *exact.inertia();
    assert!((0..3).all(|i| off.row(i).norm() < 1e-4), "{shown}");
    let told = |body: &str| read(body).map(|_| ()).unwrap_err().to_string();
    assert!(
        told("mesh = { file = 'open.stl', density = 1 }")
            .contains("the mesh `open.stl` of body `a` is not closed: 3 edges")
    );
    assert!(
        told("mass = 1\nmesh = { file = 'box.stl', density = 1 }")
            .contains("has both `mass` and a mesh with a `density`")
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
