//! What a flexible body is made of: constants of its modes, integrated over the undeformed body once.

use super::{beam::BeamMode, modal::ModalNode};
use bellcrank_math::{Mat3, Vec3};

/// The number of segments that a beam is drawn with.
const OUTLINE: usize = 24;

/// A mode with its part of the inertia.
#[derive(Clone, Debug, Default)]
pub struct ElasticMode {
    /// C = ∫ φ dm.
    pub first: Vec3,
    /// P⁰ = ∫ φ s₀ᵀ dm.
    pub with_place: Mat3,
    /// ∫ I ψ: the angular momentum of the sections that turn.
    pub rotary: Vec3,
    /// Whether its coordinate is an angle.
    pub angle: bool,
}

/// Where the modes are known.
#[derive(Clone, Debug)]
pub enum ModeField {
    /// Along the axis of a beam.
    Beam {
        /// Its length.
        length: f64,
        /// Shapes along it.
        modes: Vec<BeamMode>,
    },
    /// At the nodes of a file.
    Nodes(Vec<ModalNode>),
}

/// What a flexible body is made of: constants of its modes. Each integral of the theory is one of its fields.
#[derive(Clone, Debug)]
pub struct Structure {
    /// Two or three.
    pub dimension: usize,
    /// Mass in kg.
    pub mass: f64,
    /// S₀ = ∫ s₀ dm.
    pub first: Vec3,
    /// ∫ s₀ s₀ᵀ dm.
    pub second: Mat3,
    /// The rotary inertia of all sections.
    pub rotary: Mat3,
    /// The modes.
    pub modes: Vec<ElasticMode>,
    /// Pᵢⱼ = ∫ φᵢ φⱼᵀ dm, by rows.
    pub products: Vec<Mat3>,
    /// The modal mass matrix: tr Pᵢⱼ, and the sections that turn; by rows.
    pub modal_mass: Vec<f64>,
    /// The modal stiffness matrix, by rows.
    pub stiffness: Vec<f64>,
    /// The modal damping matrix, by rows.
    pub damping: Vec<f64>,
    /// Where the modes are known.
    pub field: ModeField,
    /// Modal coordinates at the start.
    pub start: Vec<f64>,
    /// Their rates.
    pub start_rates: Vec<f64>,
    /// Whether the start is bent as the loads of the motion bend it.
    pub quasi_static: bool,
    /// A radius to draw it with; zero where none is known.
    pub thickness: f64,
}

impl Structure {
    /// Whether rates of deformation are given at the start.
    pub fn moves_at_start(&self) -> bool {
        self.start_rates.iter().any(|rate| *rate != 0.0)
    }

    /// Number of modes.
    pub fn count(&self) -> usize {
        self.modes.len()
    }

    /// φ and ψ of every mode at the station that carries a point, and the station's own place.
    pub fn shapes(&self, point: Vec3) -> (Vec3, Vec<(Vec3, Vec3)>) {
        match &self.field {
            ModeField::Beam { length, modes } => {
                let x = point[0].clamp(0.0, *length);
                (Vec3::X * x, modes.iter().map(|m| m.at(x, *length)).collect())
            }
            ModeField::Nodes(nodes) => {
                let far = |n: &ModalNode| (n.place - point).norm();
                let nearest = nodes.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
                nearest.map_or((point, Vec::new()), |n| (n.place, n.shapes.clone()))
            }
        }
    }

    /// Points that draw the body: along a beam, or the nodes of a file.
    pub fn outline(&self) -> Vec<Vec3> {
        match &self.field {
            ModeField::Beam { length, .. } => {
                (0..=OUTLINE).map(|i| Vec3::X * (length * i as f64 / OUTLINE as f64)).collect()
            }
            ModeField::Nodes(nodes) => nodes.iter().map(|n| n.place).collect(),
        }
    }

    pub(super) fn product(&self, i: usize, j: usize) -> &Mat3 {
        &self.products[i * self.modes.len() + j]
    }

    /// The energy of the deformation, ½ ηᵀK η.
    pub fn strain(&self, modal: &[f64]) -> f64 {
        0.5 * quadratic(&self.stiffness, modal)
    }
}

/// xᵀA x.
pub(super) fn quadratic(a: &[f64], x: &[f64]) -> f64 {
    let rows = a.chunks_exact(x.len().max(1));
    rows.zip(x).map(|(row, xi)| xi * row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>()).sum()
}
