//! The plane and space.

use serde::{Deserialize, Serialize};

/// Where a model lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// In the plane: x, y and turns about z.
    Plane,
    /// In space.
    #[default]
    Space,
}

impl Space {
    /// Two or three.
    pub fn dimension(self) -> usize {
        match self {
            Space::Plane => 2,
            Space::Space => 3,
        }
    }
}
