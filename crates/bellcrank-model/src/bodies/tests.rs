//! Every kind of body: B, its derivatives and its mass against differences at random states.
use super::*;
use crate::frames::{Attachment, Covector};
use crate::testing::Random;
use bellcrank_math::{Quat, Vec3};

/// One of each kind, with an attachment it accepts.
fn samples() -> Vec<(Body, Attachment)> {
    let inertia = bellcrank_math::Mat3([[2.0, 0.1, -0.2], [0.1, 3.0, 0.3], [-0.2, 0.3, 4.0]]);
    let turned = bellcrank_math::rotation::exp;
    let off = Attachment::new(Vec3::new(0.3, -0.2, 0.5), turned(Vec3::new(0.3, 0.2, 0.1)));
    let flat = Attachment::new(Vec3::new(0.3, -0.2, 0.0), turned(Vec3::Z * 0.7));
    let on_axis = Attachment { point: Vec3::new(0.3, 0.0, 0.0), ..Attachment::CENTRE };
    let flexible = |dimension: usize, clamped: bool, mut on: Attachment| {
        let beam = Beam {
            dimension,
            length: 1.1,
            mass: 2.0,
            axial_stiffness: 3.0,
            bending_stiffness: [0.4, 0.3],
            torsional_stiffness: 0.2,
            rotary: 0.5,
            clamped,
            axial: 1,
            bending: [2, 1],
            torsion: 1,
            statics: clamped,
        };
        let mut structure = beam.structure();
        structure.set_damping_ratio(0.3);
        let mut body = Flexible::new(structure).expect("independent modes");
        on.node = body.station(on.point);
        (Body::Flexible(body), on)
    };
    let frame = Attachment { node: crate::frames::RIGIDLY, ..off };
    let (on_frame, _) = flexible(3, false, off);
    vec![
        flexible(2, false, flat),
        flexible(2, true, flat),
        flexible(3, false, off),
        flexible(3, true, off),
        (on_frame, frame),
        (Body::Rigid(Rigid::new(2.0, inertia)), off),
        (Body::Planar(Planar::new(2.0, 0.7)), flat),
        (Body::Point(PointMass::new(2.0, 2)), Attachment::CENTRE),
        (Body::Point(PointMass::new(2.0, 3)), Attachment::CENTRE),
        (Body::Rod(Rod::new(2.0, 1.3, 2)), flat),
        (Body::Rod(Rod::new(2.0, 1.3, 3)), on_axis),
    ]
}

struct At {
    q: Vec<f64>,
    v: Vec<f64>,
    frame: BodyFrame,
}

fn locate(b: &Body, q: Vec<f64>, v: Vec<f64>) -> At {
    let centre = Quat::exp(Vec3::new(0.4, -0.3, 0.8));
    let mut frame = BodyFrame::default();
    each!(b, b => b.locate(&q, centre, &mut frame));
    At { q, v, frame }
}

/// The point moved along the tangent displacement h e_i.
fn moved(b: &Body, at: &At, i: usize, h: f64) -> At {
    let mut q = at.q.clone();
    match b {
        Body::Rigid(_) | Body::Flexible(_) if (3..6).contains(&i) && each!(b, b => b.chart()).is_some() => {
            let phi = Vec3::from_slice(&q[3..6]);
            let step = bellcrank_math::rotation::inverse_tangent(phi) * Vec3::unit(i - 3) * h;
            (0..3).for_each(|k| q[3 + k] += step[k]);
        }
        _ => q[i] += h,
    }
    locate(b, q, at.v.clone())
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{what}: {a} against {b}");
}

#[test]
fn motion_and_its_derivatives_agree_with_differences() {
    let mut random = Random::new(1);
    for (b, on) in samples() {
        for _ in 0..50 {
            let n = each!(&b, b => b.width());
            let at = locate(&b, random.vector(n), random.vector(n));
            let load = Covector::new(random.vec3(), random.vec3());
            // a planar rod or body carries torques about z only; a rod in space none along itself
            let load = match &b {
                Body::Planar(_) => Covector::new(load.lin, Vec3::Z * load.ang[2]),
                Body::Flexible(f) if f.structure().dimension == 2 => {
                    Covector::new(Vec3::new(load.lin[0], load.lin[1], 0.0), Vec3::Z * load.ang[2])
                }
                Body::Rod(r) if r.dimension() == 2 => Covector::new(load.lin, Vec3::Z * load.ang[2]),
                _ => load,
            };
            let w = random.vector(n);
            let (lin, ang) = each!(&b, b => b.twist(&at.frame, &on, &w));
            // Bᵀ is the transpose of B
            let mut pulled = vec![0.0; n];
            each!(&b, b => b.pull(&at.frame, &on, load, 2.0, &mut pulled));
            let power: f64 = pulled.iter().zip(&w).map(|(f, w)| f * w).sum();
            close(power, 2.0 * (load.lin.dot(lin) + load.ang.dot(ang)), 1e-12, "Bᵀ");
            let (mut row, mut block) = (vec![0.0; n], vec![0.0; n * n]);
            each!(&b, b => b.twist_stiffness(&at.frame, &on, &w, load, 1.0, &mut row));
            each!(&b, b => b.load_stiffness(&at.frame, &on, load, 1.0, &mut block));
            for i in 0..n {
                let h = 1e-6;
                let [plus, minus] = [h, -h].map(|h| moved(&b, &at, i, h));
                let point = |a: &At| each!(&b, b => b.point(&a.frame, &on));
                let mut unit = vec![0.0; n];
                unit[i] = 1.0;
                let (expected, _) = each!(&b, b => b.twist(&at.frame, &on, &unit));
                let velocity = (point(&plus) - point(&minus)) * (0.5 / h);
                assert!((velocity - expected).norm() < 1e-8, "B of {b:?}");
                let form = |a: &At| {
                    let (l, r) = each!(&b, b => b.twist(&a.frame, &on, &w));
                    load.lin.dot(l) + load.ang.dot(r)
                };
                close(row[i], (form(&plus) - form(&minus)) * 0.5 / h, 1e-7, "∂(Bw)/∂q");
                let pull = |a: &At| {
                    let mut out = vec![0.0; n];
                    each!(&b, b => b.pull(&a.frame, &on, load, 1.0, &mut out));
                    out
                };
                let (p, m) = (pull(&plus), pull(&minus));
                for k in 0..n {
                    close(block[k * n + i], (p[k] - m[k]) * 0.5 / h, 1e-7, "∂(Bᵀload)/∂q");
                }
            }
        }
    }
}

/// A function of the point as a vector, and its derivatives along the coordinates by differences.
fn differences(b: &Body, at: &At, f: impl Fn(&At) -> Vec<f64>) -> Vec<Vec<f64>> {
    let by = |i: usize| {
        let [plus, minus] = [1e-6, -1e-6].map(|h| f(&moved(b, at, i, h)));
        plus.iter().zip(&minus).map(|(p, m)| (p - m) * 0.5e6).collect()
    };
    (0..at.q.len()).map(by).collect()
}

#[test]
fn rotations_of_frames_turn_as_their_twists_tell() {
    let mut random = Random::new(3);
    for (b, on) in samples() {
        let n = each!(&b, b => b.width());
        if each!(&b, b => b.orientation()) != Orientation::Full {
            continue;
        }
        let at = locate(&b, random.vector(n), random.vector(n));
        let r = each!(&b, b => b.rotation(&at.frame, &on));
        let axes = |a: &At| each!(&b, b => b.rotation(&a.frame, &on)).0.concat();
        for (i, rate) in differences(&b, &at, axes).into_iter().enumerate() {
            let mut unit = vec![0.0; n];
            unit[i] = 1.0;
            let (_, w) = each!(&b, b => b.twist(&at.frame, &on, &unit));
            let expected = (w.tilde() * r).0.concat();
            rate.iter().zip(&expected).for_each(|(x, y)| close(*x, *y, 1e-8, "Ṙ = ω̃R"));
        }
    }
}

#[test]
fn mass_is_inverted_and_inner_forces_balance_the_energy() {
    let mut random = Random::new(2);
    for (b, _) in samples() {
        let n = each!(&b, b => b.width());
        let (q, v, x) = (random.vector(n), random.vector(n), random.vector(n));
        let at = locate(&b, q, v.clone());
        let mass_times = |a: &At, x: &[f64]| {
            let mut y = vec![0.0; n];
            each!(&b, b => b.add_mass_times(&a.frame, 1.0, x, &mut y));
            y
        };
        let mut y = mass_times(&at, &x);
        each!(&b, b => b.divide_by_mass(&at.frame, &mut y));
        (0..n).for_each(|i| close(y[i], x[i], 1e-11, "M⁻¹M"));
        let (one, other) = (mass_times(&at, &x), mass_times(&at, &v));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        close(dot(&one, &v), dot(&other, &x), 1e-12, "M = Mᵀ");
        let mut block = vec![0.0; n * n];
        each!(&b, b => b.mass_stiffness(&at.frame, &x, 1.0, &mut block));
        let by_q = differences(&b, &at, |a| mass_times(a, &x));
        (0..n * n).for_each(|k| close(block[k], by_q[k % n][k / n], 1e-7, "∂(M x)/∂q"));

        let inner = |a: &At| {
            let mut f = vec![0.0; n];
            each!(&b, b => b.add_inner(&a.frame, 1.0, &a.v, &mut f));
            f
        };
        let gravity = Vec3::new(0.3, -0.8, if n == 3 { 0.0 } else { 0.5 });
        let weight = |a: &At| {
            let mut f = vec![0.0; n];
            each!(&b, b => b.add_weight(&a.frame, gravity, 1.0, &mut f));
            f
        };
        // v·f = −½ vᵀṀ v − d(stored)/dt − dissipated: the kinetic energy changes by the rest
        let rate = |f: &dyn Fn(&At) -> f64| dot(&differences(&b, &at, |a| vec![f(a)]).concat(), &v);
        let kinetic = rate(&|a: &At| 0.5 * dot(&mass_times(a, &v), &v));
        let stored = rate(&|a: &At| each!(&b, b => b.stored(&a.frame)));
        let lost = each!(&b, b => b.dissipated(&v));
        close(dot(&inner(&at), &v), -kinetic - stored - lost, 1e-7, "power of inner forces");
        let height = |a: &At| each!(&b, b => b.mass() * gravity.dot(b.centre_of_mass(&a.frame)));
        let in_plane = !matches!(&b, Body::Planar(_) | Body::Point(_) | Body::Rod(_))
            && !matches!(&b, Body::Flexible(f) if f.structure().dimension == 2);
        if in_plane {
            close(dot(&weight(&at), &v), rate(&height), 1e-7, "power of the weight");
        }
        let (mut by_v, mut by_q) = (vec![0.0; n * n], vec![0.0; n * n]);
        each!(&b, b => b.add_inner_damping(&at.frame, 1.0, &v, &mut by_v));
        each!(&b, b => b.add_inner_stiffness(&at.frame, 1.0, &v, &mut by_q));
        let expected = differences(&b, &at, inner);
        (0..n * n).for_each(|k| close(by_q[k], expected[k % n][k / n], 1e-7, "∂f/∂q"));
        for i in 0..n {
            let shifted = |h: f64| {
                let mut v = v.clone();
                v[i] += h;
                inner(&locate(&b, at.q.clone(), v))
            };
            let (p, m) = (shifted(1e-6), shifted(-1e-6));
            (0..n).for_each(|k| close(by_v[k * n + i], (p[k] - m[k]) * 0.5e6, 1e-7, "∂f/∂v"));
        }
        let mut block = vec![0.0; n * n];
        each!(&b, b => b.weight_stiffness(&at.frame, gravity, 1.0, &mut block));
        let expected = differences(&b, &at, weight);
        (0..n * n).for_each(|k| close(block[k], expected[k % n][k / n], 1e-7, "∂weight/∂q"));
    }
}
