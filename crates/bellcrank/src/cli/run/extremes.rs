//! The largest forces, torques, accelerations and speeds of a run, with their times.

use bellcrank_solve::record::{Channel, Header, Recorder, RunReport};
use std::io;

/// Kinds of vectors, by the letter before x, y, z in the names of their channels, in the order in which they are told.
const KINDS: [(&str, &str); 5] =
    [("f", "force at"), ("m", "torque at"), ("a", "acceleration of"), ("v", "speed of"), ("w", "angular speed of")];

/// A vector of a body, a joint or a probe: its components are neighbouring channels.
struct Vector {
    kind: usize,
    name: String,
    unit: &'static str,
    first: usize,
    components: usize,
    largest: f64,
    t: f64,
}

/// The largest magnitude of every vector, at the recorded samples.
#[derive(Default)]
pub struct Extremes(Vec<Vector>);

/// The name of a vector and its kind, if this channel is its first component. Rotations in the plane have the component z alone.
fn first_component(channel: &str) -> Option<(usize, &str)> {
    let (name, component) = channel.rsplit_once('.')?;
    let kind = KINDS.iter().position(|(letter, _)| {
        let turns = matches!(*letter, "m" | "w");
        component.strip_prefix(letter).is_some_and(|axis| axis == "x" || (turns && axis == "z"))
    })?;
    Some((kind, name))
}

fn vectors(channels: &[Channel]) -> Vec<Vector> {
    let mut found = Vec::new();
    let mut k = 0;
    while k < channels.len() {
        let Some((kind, name)) = first_component(&channels[k].name) else {
            k += 1;
            continue;
        };
        let letter = KINDS[kind].0;
        let belongs = |c: &Channel| {
            let component = c.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
            component.and_then(|c| c.strip_prefix(letter)).is_some_and(|axis| matches!(axis, "x" | "y" | "z"))
        };
        let components = channels[k..].iter().take(3).take_while(|c| belongs(c)).count();
        let (name, unit) = (name.to_string(), channels[k].unit);
        found.push(Vector { kind, name, unit, first: k, components, largest: 0.0, t: 0.0 });
        k += components;
    }
    found
}

impl Recorder for Extremes {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.0 = vectors(&header.channels);
        Ok(())
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        for vector in &mut self.0 {
            let components = &values[vector.first..vector.first + vector.components];
            let size = components.iter().map(|x| x * x).sum::<f64>().sqrt();
            if size > vector.largest {
                (vector.largest, vector.t) = (size, t);
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
        Ok(())
    }
}

impl Extremes {
    /// The largest of each kind as a name, a value with its unit and a time; what is rounding beside the largest number of
    /// all is left out.
    pub fn lines(&self, of_each: usize) -> Vec<[String; 3]> {
        let noise = 1e-12 * self.0.iter().fold(0.0, |most: f64, v| most.max(v.largest));
        let mut lines = Vec::new();
        for (kind, (_, words)) in KINDS.iter().enumerate() {
            let mut all: Vec<&Vector> = self.0.iter().filter(|v| v.kind == kind && v.largest > noise).collect();
            all.sort_by(|a, b| b.largest.total_cmp(&a.largest)); // stable: the first in the model among equals
            lines.extend(all.iter().take(of_each).map(|v| {
                [format!("{words} {}", v.name), format!("{} {}", digits(v.largest), v.unit), format!("{:.6}", v.t)]
            }));
        }
        lines
    }
}

/// Five digits.
fn digits(x: f64) -> String {
    match x.abs() {
        1e-3..1e5 => {
            let places = 4 - (x.abs().log10().floor() as i32).clamp(-3, 4);
            format!("{x:.*}", places as usize)
        }
        _ => format!("{x:.4e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_vectors_are_told_with_their_times() {
        let names =
            ["a.x", "a.vx", "a.vy", "a.wz", "pin.angle", "pin.fx", "pin.fy", "pin.mz", "rod.fx", "rod.fy", "rod.mz"];
        let channels =
            names.map(|n| Channel { name: n.into(), unit: if n.contains(".f") { "N" } else { "" } }).to_vec();
        let mut extremes = Extremes::default();
        extremes.begin(&Header { model: "m".into(), channels }).unwrap();
        extremes.frame(0.5, &[9.0, 3.0, -4.0, 1.0, 7.0, 3.0, 4.0, 1e-16, 0.0, 1.0, 0.0]).unwrap();
        extremes.frame(1.0, &[9.0, 0.0, 1.0, -2.0, 7.0, 0.0, 0.0, 0.0, -12.0, 5.0, 0.0]).unwrap();
        let told: Vec<String> = extremes.lines(1).iter().map(|line| line.join(" | ")).collect();
        let right = [
            "force at rod | 13.000 N | 1.000000",
            "speed of a | 5.0000  | 0.500000",
            "angular speed of a | 2.0000  | 1.000000",
        ];
        assert_eq!(told, right);
        assert_eq!(extremes.lines(5).len(), 4, "two joints have forces; torques are rounding");
    }

    #[test]
    fn five_digits() {
        let shown = [1.0, 123.456789, 99_999.4, 0.00123456, 1.5e7, 1e-9].map(digits);
        assert_eq!(shown, ["1.0000", "123.46", "99999", "0.0012346", "1.5000e7", "1.0000e-9"]);
    }
}
