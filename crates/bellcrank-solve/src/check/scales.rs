//! Numbers that look like those of other units.

use super::{Check, Severity};
use bellcrank_model::bodies::CentralInertia;
use bellcrank_model::dynamics::Geometry;
use bellcrank_model::joints::Motion;
use bellcrank_model::model::Shape;
use bellcrank_model::{Place, Subject, System};

/// Numbers that look like those of other units.
pub(super) fn units(c: &mut Check, system: &System, masses: &[Vec<f64>]) {
    let model = &system.model;
    let warn = |c: &mut Check, about: Vec<Subject>, message: String, help: &str| {
        c.push(Severity::Warning, "units", about, message, help);
    };
    let g = model.gravity.norm();
    if g > 100.0 {
        let message = format!("gravity is {g} m/s², {:.0} times that of the earth", g / 9.81);
        warn(c, vec!["gravity".into()], message, "all is in SI units: 9.81 m/s², lengths in m");
    }
    for (b, entry) in model.bodies.iter().enumerate().filter(|(_, b)| b.is_shown()) {
        let name = model.subject(Place::Body(b));
        let mass = masses[b].first().copied().unwrap_or(0.0);
        let volume = match entry.shape {
            Shape::Rod { length, radius } | Shape::Cylinder { length, radius } => {
                std::f64::consts::PI * radius * radius * length
            }
            Shape::Box { size } => size[0] * size[1] * size[2],
            Shape::Sphere { radius } => 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
            Shape::Unknown => 0.0,
        };
        let density = mass / volume;
        if volume > 0.0 && mass > 0.0 && !(0.5..=5e4).contains(&density) {
            let message = format!("{name} has a density of {density:.3e} kg/m³ (water has 1000, steel 7850)");
            let usual = |f: f64| (500.0..=25000.0).contains(&(density * f));
            let help = match () {
                _ if usual(1e-3) => "is its mass in g? masses are in kg, lengths in m",
                _ if usual(1e9) => "are its lengths in mm? lengths are in m, masses in kg",
                _ if usual(1e6) => {
                    "are its lengths in mm and its mass in t, or its lengths in cm? lengths are in m, masses in kg"
                }
                _ if usual(1e3) => "is its mass in t? masses are in kg, lengths in m",
                _ => "masses are in kg, lengths in m",
            };
            warn(c, vec![name.clone()], message, help);
        }
        let degrees = entry.angle.abs();
        if (10.0..=720.0).contains(&degrees) && (degrees / 5.0).fract() < 1e-9 {
            let message = format!("{name} starts at an angle of {} rad", entry.angle);
            warn(c, vec![name], message, &format!("angles are in rad: for degrees write \"{}*pi/180\"", entry.angle));
        }
    }
    for start in &model.start {
        let turns = model.joints[start.joint].joint.motions(model.space).get(start.motion).is_some_and(Motion::turns);
        let value = start.value.unwrap_or(0.0);
        if turns && (10.0..=720.0).contains(&value.abs()) && (value.abs() / 5.0).fract() < 1e-9 {
            let joint = model.subject(Place::Joint(start.joint));
            let message = format!("{joint} starts at an angle of {value} rad");
            let about = Subject { place: Some(Place::Start(start.joint)), ..joint };
            warn(c, vec![about], message, &format!("angles are in rad: for degrees write \"{value}*pi/180\""));
        }
    }
    let heaviest = masses.iter().filter_map(|m| m.first()).fold(0.0f64, |a, m| a.max(*m));
    // many light bodies reach far
    const MANY: f64 = 100.0;
    let total: f64 = masses.iter().filter_map(|m| m.first()).sum();
    let length = system.length();
    let told = c.findings.iter().any(|f| matches!(f.kind, "units" | "inertia"));
    if let Some(unit) = light_as_nothing(system, masses).filter(|_| length > 10.0 && !told) {
        let message = format!("the model is about {length:.3e} m large, and its bodies are lighter than air");
        let help = format!(
            "are the lengths in {unit}? lengths are in m, masses in kg; \"120 {unit}\" is a length with its unit"
        );
        warn(c, vec!["model".into()], message, &help);
    } else if length > 100.0 && heaviest > 0.0 && heaviest.max(total / MANY) / length < 1e-3 {
        let message = format!("the model is about {length:.3e} m large, but its heaviest body has {heaviest:.3e} kg");
        warn(c, vec!["model".into()], message, "are the lengths in mm? lengths are in m, masses in kg");
    } else if heaviest / length.powi(3) > 1e7 {
        let message = format!("the model is about {length:.3e} m large, but its heaviest body has {heaviest:.3e} kg");
        warn(c, vec!["model".into()], message, "are the masses in g? masses are in kg, lengths in m");
    }
}

/// The unit that lengths are likely in if most bodies have less mass than air in a cube of their radius of gyration.
fn light_as_nothing(system: &System, masses: &[Vec<f64>]) -> Option<&'static str> {
    /// kg/m³: air has 1.2, and a truss a tenth of that.
    const LIGHT: f64 = 0.01;
    let density = |b: usize| {
        let moment = match system.model.bodies[b].body.in_tree().central_inertia() {
            CentralInertia::Space(j) => (0..3).fold(0.0f64, |s, i| s.max(j.0[i][i])),
            CentralInertia::Plane(j) => j,
            CentralInertia::None => return None,
        };
        let mass = *masses[b].first()?;
        (mass > 0.0 && moment > 0.0).then(|| mass / (moment / mass).powf(1.5))
    };
    let mut densities: Vec<f64> = (0..masses.len()).filter_map(density).collect();
    densities.sort_by(f64::total_cmp);
    let middle = *densities.get(densities.len() / 2)?;
    // of a solid body in a cube of its radius of gyration
    let solid = |f: f64| (30.0..=1e6).contains(&(middle * f));
    match middle < LIGHT {
        true if solid(1e9) => Some("mm"),
        true if solid(1e6) => Some("cm"),
        _ => None,
    }
}
