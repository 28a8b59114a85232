//! The colours of pictures and plots. They are those of the viewer's light theme: `colours.json` is the one table of both.

use crate::drawing::Colour;
use serde_json::Value;
use std::sync::LazyLock;

/// Colours on white paper.
pub struct Colours {
    /// Bodies, one after the other.
    pub bodies: Vec<Colour>,
    /// Curves. They can be told apart by the colour-blind [Okabe & Ito 2008].
    pub series: Vec<Colour>,
    /// Joints and springs.
    pub steel: Colour,
    /// Bushings and tyres.
    pub rubber: Colour,
    /// The ground.
    pub ground: Colour,
    /// The path of a probe.
    pub trace: Colour,
    /// Texts.
    pub ink: Colour,
    /// The edges of what is drawn.
    pub outline: Colour,
    /// Frames of plots.
    pub frame: Colour,
    /// Lines of the grid of a plot.
    pub ruled: Colour,
}

static COLOURS: LazyLock<Colours> = LazyLock::new(|| {
    let table: Value = serde_json::from_str(include_str!("colours.json")).unwrap_or_default();
    let list = |v: &Value| v.as_array().map_or(vec![], |all| all.iter().map(colour).collect());
    let light = &table["light"];
    Colours {
        bodies: list(&table["bodies"]),
        series: list(&light["series"]),
        steel: colour(&light["steel"]),
        rubber: colour(&light["rubber"]),
        ground: colour(&light["ground"]),
        trace: colour(&light["traces"][0]),
        ink: colour(&light["ink"]),
        outline: colour(&light["outline"]),
        frame: colour(&light["frame"]),
        ruled: colour(&light["ruled"]),
    }
});

/// The one table.
pub fn colours() -> &'static Colours {
    &COLOURS
}

/// A colour written as in `#1f6fb4`; black if it is none.
fn colour(text: &Value) -> Colour {
    let digits = text.as_str().and_then(|t| t.strip_prefix('#')).unwrap_or("0");
    Colour::hex(u32::from_str_radix(digits, 16).unwrap_or(0))
}

impl Colours {
    /// The colour of a body.
    pub fn body(&self, number: usize) -> Colour {
        self.bodies[number % self.bodies.len()]
    }

    /// The colour of a curve.
    pub fn curve(&self, number: usize) -> Colour {
        self.series[number % self.series.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_of_the_table_is_read_and_curves_differ() {
        let c = colours();
        assert!(c.bodies.len() >= 8 && c.series.len() >= 7, "{} {}", c.bodies.len(), c.series.len());
        for (k, a) in c.series.iter().enumerate() {
            assert!(c.series[..k].iter().all(|b| a != b), "curve {k}");
        }
        let black = Colour::hex(0);
        for one in [c.steel, c.rubber, c.ground, c.trace, c.ink, c.outline, c.frame, c.ruled].iter().chain(&c.bodies) {
            assert_ne!(*one, black);
        }
        assert_eq!(c.series[0], Colour::hex(0x0072b2));
    }
}
