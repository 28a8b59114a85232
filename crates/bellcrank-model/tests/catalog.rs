//! Laws that every body, joint and force must obey: each derivative of each piece against
//! differences at random states, G against ġ, and energy against power.

use bellcrank_math::Quat;
use bellcrank_model::dynamics::{Dynamics, Layout, Targets};
use bellcrank_model::read::read_text;
use bellcrank_model::testing::Random;
use bellcrank_model::{Piece, Point, Slopes, System, Unknown, Workspace};

const PLANE: &str = r#"
model = { plane = "xy", gravity = [0.3, -9.81] }
[body]
a = { mass = 2.0, inertia = 0.3, at = [0.1, 0.2], angle = 0.4 }
b = { mass = 1.0, inertia = 0.2, at = [0.9, -0.3], angle = -1.2 }
p = { mass = 0.5, at = [1.0, 1.0] }
r = { rod = { from = [0, 0], to = [1.2, 0.5], mass = 0.7 }, coordinates = "natural" }
"#;

const SPACE: &str = r#"
model = { gravity = [0.3, -9.81, 0.7] }
[body]
a = { mass = 2.0, inertia = [0.3, 0.5, 0.6], at = [0.1, 0.2, 0.3], orientation = { axis = [1, 2, 3], angle = 0.4 } }
b = { mass = 1.0, inertia = [[0.4, 0.05, 0], [0.05, 0.5, 0.02], [0, 0.02, 0.3]], at = [0.9, -0.3, 0.2] }
p = { mass = 0.5, at = [1.0, 1.0, 0.5] }
r = { rod = { from = [0, 0, 0], to = [1.2, 0.5, -0.3], mass = 0.7 }, coordinates = "natural" }
"#;

/// Elements between bodies of every kind, in the plane and in space.
fn samples() -> Vec<(String, String)> {
    let plane = [
        "[joint.j]\ntype = \"fixed\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"ground\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"r\", \"p\"]\non = [[0.1, 0.2], [0, 0]]",
        "[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"prismatic\"\nbetween = [\"r\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"spherical\"\nbetween = [\"p\", \"b\"]\non = [[0, 0], [0.3, 0.1]]",
        "[joint.j]\ntype = \"distance\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]\nstiffness = 30\ndamping = 4\nlength = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"r\", \"b\"]\nstiffness = 30\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\nstiffness = [[30, 2, 1], [2, 20, 3], [1, 3, 10]]\ndamping = [3, 2, 1]",
        "[force.f]\ntype = \"force\"\nbody = \"r\"\non = [0.1, 0.2]\nforce = [\"3 + t\", \"sin(2*t)\"]",
        "[force.f]\ntype = \"torque\"\nbody = \"r\"\ntorque = \"3 + t\"",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]\ncurve = [[-0.5, -8], [-0.1, -1], [0, 0], [0.3, 9], [0.8, 11]]\ndamping = 4\nlength = 0.9",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\nstiffness = 30\ndamping = 2\nlength = 0.7\ntension_only = true\nengagement = 0.2",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\ncurve = [[-1, -20], [-0.5, -3], [0, 0], [1, 1]]\ndamping = 2\nlength = 1.2\ncompression_only = true\nengagement = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"r\", \"b\"]\ncurve = { table = \"curve.csv\", columns = [\"s\", \"f\"], scale = 2 }\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\nstiffness = [30, 20, 10]\noffset = [0.1, -0.2, 0.3]\npreload = [4, 5, 6]\n[force.f.curve]\ny = [[-1, -10], [0, 0], [0.5, 20], [2, 30]]\nangle = { table = \"curve.csv\", columns = [\"s\", \"f\"] }",
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2]\nforce = [{ table = \"load.csv\", column = \"fx\" }, \"sin(2*t)\"]\nframe = \"body\"",
        "[force.f]\ntype = \"force\"\nbody = \"r\"\nat = [0.3, 0.2]\nforce = { table = \"load.csv\", columns = [\"fx\", \"fy\"], scale = 3, interpolation = \"monotone\" }\nframe = \"body\"",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = { table = \"load.csv\", time = \"time\", column = \"m\" }\nframe = \"body\"",
        "[force.f]\ntype = \"drag\"\nbody = \"r\"\non = [0.1, 0.2]\ncd = 1.2\narea = 3\nwind = [\"2*t\", 0.5]",
        "[force.f]\ntype = \"attraction\"\nbetween = [\"p\", \"r\"]\nconstant = 2",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\nviscous = 2\ncoulomb = 3\nvelocity = 0.4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoordinate = \"position\"\ncoulomb = 3\nvelocity = 0.4\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"r\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*sin(t)\"\nlimits = [-1.9, 2]\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*sin(t)\"\nlag = 0.3\nstart = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"r\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"k.position\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\nlimits = [-20, 15]\nlag = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.k]\ntype = \"prismatic\"\nbetween = [\"b\", \"r\"]\nat = [0.5, 0.1]\naxis = [1, 2]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"r.angle\"\nreference = { table = \"load.csv\", column = \"m\" }\nkp = 10\nkd = 2\nlag = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"j.rate\"\nreference = \"sin(t)\"\nkp = 10\nki = 4\nlimits = [-20, 15]\nwindup = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
    ];
    let space = [
        "[joint.j]\ntype = \"fixed\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"spherical\"\nbetween = [\"a\", \"r\"]\non = [[0.5, 0.1, 0.2], [0.3, 0, 0]]",
        "[joint.j]\ntype = \"distance\"\nbetween = [\"p\", \"b\"]\non = [[0, 0, 0], [0.3, 0.1, 0.2]]",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2, 0], [0.3, 0, 0]]\nstiffness = 30\ndamping = 4\nlength = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"a\", \"b\"]\naxis = [1, 1, 0.5]\nstiffness = 30\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\nstiffness = [30, 20, 25, 3, 4, 5]\ndamping = [3, 2, 1, 0.3, 0.2, 0.1]",
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\nforce = [\"3 + t\", \"sin(2*t)\", 1]",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = [\"3 + t\", \"sin(2*t)\", 1]",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2, 0], [0.3, 0, 0]]\ncurve = [[-0.5, -8], [-0.1, -1], [0, 0], [0.3, 9], [0.8, 11]]\ndamping = 4\nlength = 0.9",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0]]\nstiffness = 30\ndamping = 2\nlength = 0.7\ntension_only = true\nengagement = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"a\", \"b\"]\naxis = [1, 1, 0.5]\ncurve = { table = \"curve.csv\", columns = [\"s\", \"f\"] }\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\nstiffness = [30, 20, 25, 3, 4, 5]\ndamping = [3, 2, 1, 0.3, 0.2, 0.1]\noffset = [0.1, -0.2, 0.3, 0.1, 0.2, -0.1]\npreload = [4, 5, 6, 3, 2, 1]\n[force.f.curve]\nz = [[-1, -10], [0, 0], [0.5, 20], [2, 30]]\nrx = { table = \"curve.csv\", columns = [\"s\", \"f\"] }",
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\nforce = [{ table = \"load.csv\", column = \"fx\" }, \"sin(2*t)\", 1]\nframe = \"body\"",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = { table = \"load.csv\", columns = [\"fx\", \"fy\", \"m\"] }\nframe = \"body\"",
        "[force.f]\ntype = \"drag\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\ncoefficient = 1.2\nwind = [\"2*t\", 0.5, 0]",
        "[force.f]\ntype = \"attraction\"\nbetween = [\"ground\", \"p\"]\nmasses = [3, 2]\nconstant = 2",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\nviscous = 2\ncoulomb = 3\nvelocity = 0.4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*sin(t)\"\nlimits = [-1.9, 2]\nlag = 0.1\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\nlimits = [-20, 15]\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"tip.z\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[probe.tip]\nbody = \"r\"\non = [0.3, 0, 0]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"k.rate\"\nreference = 1\nkp = 10\nki = 3\nlag = 0.1\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.k]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
    ];
    let both = [(PLANE, &plane[..]), (SPACE, &space[..])];
    both.iter().flat_map(|(head, list)| list.iter().map(move |e| (format!("{head}\n{e}\n"), e.to_string()))).collect()
}

fn system(text: &str) -> System {
    match read_text("tests/catalog/sample.toml", text, &[]) {
        Ok(read) => read.model.compile(),
        Err(report) => panic!("{report}"),
    }
}

fn random_point(s: &System, random: &mut Random) -> Point {
    let mut p = Point::at(&s.initial_state(), s.layout());
    for x in [&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot, &mut p.z, &mut p.zdot, &mut p.lambda, &mut p.mu] {
        x.iter_mut().for_each(|x| *x += 0.4 * random.number());
    }
    p.charts.centres.iter_mut().for_each(|c| *c = Quat::exp(random.vec3()));
    p.t = 0.7;
    p
}

fn values(s: &System, piece: Piece, p: &Point) -> Vec<f64> {
    let mut w = s.workspace();
    s.realize(p, &mut w);
    let mut out = vec![0.0; s.layout().rows(piece).last().map_or(0, |r| r.end)];
    s.add(1.0, piece, p, &mut w, &mut out);
    out
}

/// ∂piece/∂unknown as a dense matrix.
fn derivative(s: &System, piece: Piece, wrt: Unknown, slopes: Slopes, p: &Point) -> Vec<Vec<f64>> {
    let layout: &Layout = s.layout();
    let (rows, columns) = (layout.rows(piece), layout.columns(wrt));
    let mut w: Workspace = s.workspace();
    s.realize(p, &mut w);
    let pattern = s.pattern(piece, wrt);
    let mut offsets = Vec::new();
    let mut size = 0;
    for &(r, c) in &pattern {
        offsets.push(size as u32);
        size += rows[r as usize].len() * columns[c as usize].len();
    }
    let mut buffer = vec![0.0; size];
    s.add_derivative(1.0, piece, wrt, slopes, p, &mut w, &mut Targets::new(&mut buffer, &offsets));
    let mut dense = vec![vec![0.0; columns.last().map_or(0, |r| r.end)]; rows.last().map_or(0, |r| r.end)];
    for (&(r, c), &at) in pattern.iter().zip(&offsets) {
        let (r, c) = (rows[r as usize].clone(), columns[c as usize].clone());
        for i in 0..r.len() {
            for j in 0..c.len() {
                dense[r.start + i][c.start + j] += buffer[at as usize + i * c.len() + j];
            }
        }
    }
    dense
}

/// The point with one unknown moved by h, its rates following the slopes.
fn moved(s: &System, p: &Point, wrt: Unknown, i: usize, h: f64, slopes: Slopes) -> Point {
    let mut p = p.clone();
    match wrt {
        Unknown::Q => {
            let mut delta = vec![0.0; p.q.len()];
            delta[i] = h;
            let before = p.q.clone();
            s.retract(&mut p.q, &delta);
            (0..p.q.len()).for_each(|k| p.qdot[k] += slopes.q * (p.q[k] - before[k]));
        }
        Unknown::V => {
            p.v[i] += h;
            p.vdot[i] += slopes.v * h;
        }
        Unknown::Z => {
            p.z[i] += h;
            p.zdot[i] += slopes.z * h;
        }
        Unknown::Lambda => p.lambda[i] += h,
        Unknown::Mu => p.mu[i] += h,
    }
    p
}

#[test]
fn every_derivative_of_every_piece_agrees_with_differences() {
    use Piece::*;
    let pieces =
        [Rate, Speed, GtMu, MinvGtMu, MassAccel, Force, GtLambda, Position, Velocity, Acceleration, ZDot, Flow];
    let slopes = Slopes { q: 1.3, v: 0.7, z: 0.9 };
    let mut random = Random::new(3);
    for (text, element) in samples() {
        let s = system(&text);
        for _ in 0..20 {
            let p = random_point(&s, &mut random);
            for piece in pieces {
                for wrt in Unknown::ALL {
                    // the acceleration row leaves ∂((G v)_q v)/∂q out, and takes (G v)_q as symmetric
                    if piece == Acceleration && matches!(wrt, Unknown::Q | Unknown::V) {
                        continue;
                    }
                    let exact = derivative(&s, piece, wrt, slopes, &p);
                    let columns = s.layout().columns(wrt).last().map_or(0, |r| r.end);
                    for j in 0..columns {
                        let h = 1e-5;
                        let plus = values(&s, piece, &moved(&s, &p, wrt, j, h, slopes));
                        let minus = values(&s, piece, &moved(&s, &p, wrt, j, -h, slopes));
                        for i in 0..exact.len() {
                            let difference = (plus[i] - minus[i]) / (2.0 * h);
                            let scale = 1.0 + difference.abs();
                            assert!(
                                (exact[i][j] - difference).abs() < 2e-6 * scale,
                                "∂{piece:?}/∂{wrt:?} ({i}, {j}) of\n{element}: {} against {difference}",
                                exact[i][j]
                            );
                        }
                    }
                }
            }
        }
    }
}

/// The point moved along the motion by the time h.
fn flow(s: &System, p: &Point, h: f64) -> Point {
    let mut next = p.clone();
    let step: Vec<f64> = p.v.iter().zip(&p.vdot).map(|(v, a)| h * v + 0.5 * h * h * a).collect();
    s.retract(&mut next.q, &step);
    next.v.iter_mut().zip(&p.vdot).for_each(|(v, a)| *v += h * a);
    next.t += h;
    next
}

#[test]
fn constraint_rows_are_the_time_derivatives_of_g() {
    let mut random = Random::new(4);
    for (text, element) in samples() {
        let s = system(&text);
        for _ in 0..20 {
            let mut p = random_point(&s, &mut random);
            // at a chart's centre a retraction follows the motion to second order
            for b in s.layout().bodies.iter().filter(|b| b.len() == 6 && text.starts_with("\nmodel = { g")) {
                if b.start < 12 {
                    p.q[b.start + 3..b.start + 6].fill(0.0);
                }
            }
            let h = 1e-4;
            let (plus, minus) = (flow(&s, &p, h), flow(&s, &p, -h));
            let (g_plus, g_minus) = (values(&s, Piece::Position, &plus), values(&s, Piece::Position, &minus));
            let velocity = values(&s, Piece::Velocity, &p);
            let (v_plus, v_minus) = (values(&s, Piece::Velocity, &plus), values(&s, Piece::Velocity, &minus));
            let acceleration = values(&s, Piece::Acceleration, &p);
            for i in 0..velocity.len() {
                let rate = (g_plus[i] - g_minus[i]) / (2.0 * h);
                assert!((rate - velocity[i]).abs() < 1e-6, "ġ of\n{element}: {rate} against {}", velocity[i]);
                let second = (v_plus[i] - v_minus[i]) / (2.0 * h);
                let scale = 1.0 + second.abs();
                assert!(
                    (second - acceleration[i]).abs() < 1e-5 * scale,
                    "g̈ of\n{element}: {second} against {}",
                    acceleration[i]
                );
            }
        }
    }
}

#[test]
fn energy_changes_by_the_power_of_every_force() {
    let mut random = Random::new(5);
    for (text, element) in samples().into_iter().filter(|(_, e)| e.starts_with("[force")) {
        let s = system(&text);
        for _ in 0..50 {
            let mut p = random_point(&s, &mut random);
            p.lambda.fill(0.0);
            for b in s.layout().bodies.iter().filter(|b| b.len() == 6 && text.starts_with("\nmodel = { g")) {
                if b.start < 12 {
                    p.q[b.start + 3..b.start + 6].fill(0.0);
                }
            }
            let energy = |p: &Point| {
                let mut w = s.workspace();
                s.realize(p, &mut w);
                s.energy(p, &mut w)
            };
            // stored energy alone: −(force · v) + power of what is not stored
            let h = 1e-5;
            let (plus, minus) = (energy(&flow(&s, &p, h)), energy(&flow(&s, &p, -h)));
            let stored_rate = (plus.stored - minus.stored) / (2.0 * h);
            let work: f64 = values(&s, Piece::Force, &p).iter().zip(&p.v).map(|(f, v)| f * v).sum();
            let power = energy(&p).power;
            let scale = 1.0 + work.abs();
            assert!(
                (work + stored_rate - power).abs() < 1e-6 * scale,
                "power of\n{element}: {work} {stored_rate} {power}"
            );
            assert!(power == 0.0 || s.has_power());
        }
    }
}

#[test]
fn the_samples_hold_every_kind_of_the_catalogs() {
    let all: String = samples().into_iter().map(|(_, e)| e).collect();
    let joints = bellcrank_model::joints::CATALOG.iter().map(|k| k.name);
    let forces = bellcrank_model::forces::CATALOG.iter().map(|k| k.name);
    for kind in joints.chain(forces) {
        assert!(all.contains(&format!("type = \"{kind}\"")), "no sample of `{kind}`: add one to `samples`");
    }
}
