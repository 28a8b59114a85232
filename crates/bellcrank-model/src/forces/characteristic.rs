//! The characteristic of a spring: a stiffness, or a curve through points.

use crate::curve::{Beyond, Curve};
use crate::dynamics::StateLaw;
use crate::file::{Diagnostics, Field, FieldKind, Values};
use std::sync::Arc;

/// Force against displacement.
pub enum Characteristic {
    /// k s.
    Linear(f64),
    /// A curve through points, from a table.
    Curve(Arc<Curve>),
}

/// The force of a spring at a displacement s.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpringForce {
    /// F(s).
    pub force: f64,
    /// F′(s).
    pub slope: f64,
    /// ∫F from 0 to s.
    pub energy: f64,
}

impl Characteristic {
    /// From `stiffness` or `curve`; a mere damper has neither.
    pub fn read(values: &Values) -> Result<Characteristic, Diagnostics> {
        values.at_most_one(&["stiffness", "curve"])?;
        if let Some(curve) = curve(values, "curve")? {
            return Ok(Characteristic::Curve(Arc::new(curve)));
        }
        match values.optional_number("stiffness") {
            Some(k) => Ok(Characteristic::Linear(k)),
            None if values.has("damping") => Ok(Characteristic::Linear(0.0)),
            None => {
                let message = format!("{} needs `stiffness` or `curve`", values.what());
                let help =
                    "add `stiffness = …`, or `curve = [[displacement, force], …]`, or for a damper `damping = …`";
                Err(values.error(message).help(help).into())
            }
        }
    }

    /// The curve, as a function of the state; a stiffness has no narrow features.
    pub fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        match self {
            Characteristic::Curve(curve) if !curve.is_line() => vec![(curve.clone(), 1)],
            _ => Vec::new(),
        }
    }

    /// The force at a displacement.
    pub fn at(&self, s: f64) -> SpringForce {
        match self {
            Characteristic::Linear(k) => SpringForce { force: k * s, slope: *k, energy: 0.5 * k * s * s },
            Characteristic::Curve(curve) => {
                let f = curve.jet(s);
                SpringForce { force: f.value, slope: f.rate, energy: curve.integral(s) }
            }
        }
    }
}

/// A curve through the pairs of a key, beyond them along its tangents; `None` if the key is left out.
pub fn curve(values: &Values, key: &'static str) -> Result<Option<Curve>, Diagnostics> {
    let Some(points) = values.optional_pairs(key) else { return Ok(None) };
    match Curve::monotone(points, Beyond::Line) {
        Ok(curve) => Ok(Some(curve)),
        Err(fault) => {
            let help = "give pairs [displacement, force] with displacements that increase";
            Err(values.error_at(key, format!("`{key}` of {} {fault}", values.what())).help(help).into())
        }
    }
}

/// The key `curve`.
pub const fn curve_field(unit: &'static str, doc: &'static str) -> Field {
    Field::optional("curve", FieldKind::Pairs, unit, "", doc)
}
