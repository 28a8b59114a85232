//! Masses: freedom without mass, inertias that no body has.

use super::text::list;
use super::{Check, Severity};
use crate::linear::derivatives::each_block;
use crate::start;
use bellcrank_math::Mat3;
use bellcrank_math::linear::dense::symmetric_eigenvalues;
use bellcrank_model::bodies::CentralInertia;
use bellcrank_model::model::Shape;
use bellcrank_model::{Dynamics, Piece, Place, Point, Slopes, State, Subject, System, Unknown, Workspace};
use std::sync::Arc;

/// The blocks of the mass matrix, by body.
pub(super) fn masses(system: &System, start: &State, w: &mut Workspace) -> Vec<Vec<f64>> {
    let point = Point::at(start, system.layout());
    w.invalidate();
    system.realize(&point, w);
    let mut out = vec![Vec::new(); system.layout().bodies.len()];
    let slopes = Slopes { v: 1.0, ..Slopes::default() };
    each_block(system, Piece::MassAccel, Unknown::V, slopes, &point, w, |b, c, block| {
        if b == c {
            out[b] = block.to_vec();
        }
    });
    out
}

pub(super) fn massless(c: &mut Check, system: &Arc<System>, start: &State, found: Subject, w: &mut Workspace) {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let mut point = Point::at(start, system.layout());
    let _ = start::close(&dynamics, &mut point, w);
    let mut about = start::free_without_mass(&dynamics, &point, w);
    if about.is_empty() {
        about.push(found);
    }
    let message = format!("{} can move without inertia: the motion is not determined", list(&about));
    let help = "give it a mass and an inertia, or hold it by joints; a body without mass is fine where joints hold it";
    c.push(Severity::Error, "massless", about, message, help);
}

/// Inertias that no body can have, and the likely slip.
pub(super) fn inertias(c: &mut Check, system: &System, masses: &[Vec<f64>]) {
    let sizes = body_sizes(system);
    for (b, mass) in masses.iter().enumerate() {
        let name = system.model.subject(Place::Body(b));
        let (m, moments, matrix) = match system.model.bodies[b].body.in_tree().central_inertia() {
            CentralInertia::Space(j) => (mass[0], principal(&j), Some(j)),
            CentralInertia::Plane(j) => (mass[0], vec![j], None),
            CentralInertia::None => continue,
        };
        let largest = moments.iter().fold(0.0f64, |s, x| s.max(x.abs()));
        if largest == 0.0 || m <= 0.0 {
            continue;
        }
        if let ([x, y, z], Some(j)) = (moments.as_slice(), matrix) {
            if *x < -1e-12 * largest {
                let message = format!("{name}: a principal moment of inertia is negative ({x:.4e} kg m²)");
                c.push(Severity::Error, "inertia", vec![name.clone()], message, &slip(&j));
                continue;
            }
            if x + y < z * (1.0 - 1e-6) {
                let message = format!(
                    "{name}: no body has the principal moments of inertia {x:.4}, {y:.4}, {z:.4} kg m²; each is at most the sum of the others"
                );
                c.push(Severity::Warning, "inertia", vec![name.clone()], message, &slip(&j));
                continue;
            }
        }
        let (radius, size) = ((largest / m).sqrt(), sizes[b]);
        if size > 0.0 && !(1e-2..=10.0).contains(&(radius / size)) {
            let message = format!(
                "{name}: its radius of gyration √(J/m) = {radius:.3e} m does not fit its size of about {size:.3e} m"
            );
            let units =
                [(1e-6, "kg mm²"), (1e-4, "kg cm²"), (1e-9, "g mm²"), (1e-7, "g cm²"), (1e-3, "g m²"), (1e3, "t m²")];
            let fits = |f: f64| (0.15..=1.2).contains(&(radius * f.sqrt() / size));
            let guess = units.iter().find(|(f, _)| fits(*f));
            let help = match guess {
                Some((_, unit)) => format!("inertia is in kg m²: is this one in {unit}?"),
                None if fits(1e6) => "are the lengths of the model in mm? lengths are in m, inertia in kg m²".into(),
                None => "inertia is in kg m², about the centre of mass".into(),
            };
            c.push(Severity::Warning, "inertia", vec![name], message, &help);
        }
    }
}

fn principal(j: &Mat3) -> Vec<f64> {
    symmetric_eigenvalues(&j.0.concat(), 3).unwrap_or_default()
}

/// What was probably meant by an inertia that cannot be.
fn slip(j: &Mat3) -> String {
    let fits = |j: &Mat3| match principal(j).as_slice() {
        [x, y, z] => *x >= 0.0 && x + y >= z * (1.0 - 1e-6),
        _ => false,
    };
    let mut flipped = *j;
    (0..3).for_each(|i| (0..3).filter(|k| *k != i).for_each(|k| flipped.0[i][k] = -j.0[i][k]));
    if flipped.0 != j.0 && fits(&flipped) {
        return "with products of inertia of the opposite sign it would be valid: the off-diagonal terms are −∫ x y dm"
            .into();
    }
    let slips = [
        (0.1, "ten times too large"),
        (10.0, "ten times too small"),
        (1e-3, "a thousand times too large"),
        (1e3, "a thousand times too small"),
    ];
    for (factor, words) in slips {
        for (i, which) in ["first", "second", "third"].into_iter().enumerate() {
            let mut other = *j;
            other.0[i][i] *= factor;
            if fits(&other) {
                return format!("is the {which} moment {words}? (in kg m², about the centre of mass)");
            }
        }
    }
    "in kg m², about the centre of mass, in the body's frame".into()
}

/// How large each body is: its shape, or the reach of what stands on it.
fn body_sizes(system: &System) -> Vec<f64> {
    let model = &system.model;
    let mut sizes: Vec<f64> = model
        .bodies
        .iter()
        .map(|b| match b.shape {
            Shape::Unknown => 0.0,
            Shape::Rod { length, .. } => 0.5 * length,
            Shape::Cylinder { length, radius } => radius.max(0.5 * length),
            Shape::Box { size } => 0.5 * size.norm(),
            Shape::Sphere { radius } => radius,
        })
        .collect();
    let ends = model.joints.iter().flat_map(|j| &j.ends).chain(model.forces.iter().flat_map(|f| &f.ends));
    for end in ends {
        if let Some(b) = end.body {
            sizes[b] = sizes[b].max(end.on.point.norm());
        }
    }
    sizes
}
