//! Modal data from a file: nodes with masses, mode shapes at the nodes, stiffness.
//!
//! The text has words and numbers; `#` begins a comment that runs to the end of the line. Lengths are in the
//! body's frame. Sections, in this order:
//!
//! ```text
//! bellcrank-modal 1
//! nodes 2                          # then a line for each: name x y z mass [jx jy jz]
//! A  0.0 0.0 0.0  0.5
//! B  1.0 0.0 0.0  0.5
//! modes 1                          # then for each `mode` and a line for each node: ux uy uz [rx ry rz]
//! mode                             # in the order of the nodes; rotations for all of them or for none
//! 0.0 0.0 0.0  0 0 0
//! 0.0 0.7 0.0  0 0 1.1
//! stiffness                        # one number for each mode, or a symmetric matrix by rows
//! 3.2e4
//! mass                             # optional, as the stiffness: the modal mass matrix; else from the nodes
//! 0.25
//! damping                          # optional, as the stiffness: the modal damping matrix
//! 1.3
//! ```
//!
//! Integrals over the body are sums over the nodes. Modes are scaled so that the largest displacement of a node is
//! one (or the largest rotation, where no node is displaced): modal coordinates are metres then (or radians).

use super::{ElasticMode, MAX_MODES, ModeField, Structure};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_math::{Mat3, Vec3};

/// A node of a modal file.
#[derive(Clone, Debug)]
pub struct ModalNode {
    /// The user's name of it.
    pub name: String,
    /// Its place in the body's frame.
    pub place: Vec3,
    /// Its mass in kg.
    pub mass: f64,
    /// Its own moments of inertia along the body's axes, in kg m².
    pub inertia: Vec3,
    /// Displacement and rotation of every mode.
    pub shapes: Vec<(Vec3, Vec3)>,
    /// Whether the file gave its rotations.
    pub turns: bool,
}

/// What is wrong with a file, and what to try.
pub type ModalFault = (String, String);

/// Words with the lines they stand in.
struct Words<'a> {
    file: &'a str,
    list: Vec<(usize, &'a str)>,
    next: usize,
}

impl<'a> Words<'a> {
    fn new(file: &'a str, text: &'a str) -> Words<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate();
        let list = lines
            .flat_map(|(i, line)| {
                let bare = line.split('#').next().unwrap_or("");
                bare.split_whitespace().map(move |w| (i + 1, w))
            })
            .collect();
        Words { file, list, next: 0 }
    }

    fn place(&self) -> String {
        match self.list.get(self.next) {
            Some((line, _)) => format!("line {line} of `{}`", self.file),
            None => format!("the end of `{}`", self.file),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.list.get(self.next).map(|(_, w)| *w)
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ModalFault> {
        let Some(word) = self.peek() else {
            return Err((format!("`{}` ends where {what} should follow", self.file), FORMAT.into()));
        };
        self.next += 1;
        Ok(word)
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ModalFault> {
        let place = self.place();
        match self.word(&format!("`{wanted}`"))? {
            found if found == wanted => Ok(()),
            found => Err((format!("{place}: expected `{wanted}`, found `{}`", short(found)), FORMAT.into())),
        }
    }

    fn number(&mut self, what: &str) -> Result<f64, ModalFault> {
        let place = self.place();
        let word = self.word(what)?;
        match word.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err((
                format!("{place}: {what} is no number: `{}`", short(word)),
                "numbers are written like 1.5e-3".into(),
            )),
        }
    }

    fn vector(&mut self, what: &str) -> Result<Vec3, ModalFault> {
        Ok(Vec3([self.number(what)?, self.number(what)?, self.number(what)?]))
    }

    fn count(&mut self, what: &str, most: usize) -> Result<usize, ModalFault> {
        let place = self.place();
        let word = self.word(&format!("the number of {what}"))?;
        match word.parse::<usize>() {
            Ok(n) if (1..=most).contains(&n) => Ok(n),
            _ => Err((
                format!("{place}: the number of {what} must be 1 to {most}, found `{}`", short(word)),
                FORMAT.into(),
            )),
        }
    }

    /// How many words are left in the line of the last one.
    fn left_in_line(&self) -> usize {
        let Some(line) = self.next.checked_sub(1).and_then(|k| self.list.get(k)).map(|w| w.0) else { return 0 };
        self.list[self.next..].iter().take_while(|w| w.0 == line).count()
    }

    /// How many numbers follow before the next word or the end.
    fn numbers_ahead(&self) -> usize {
        self.list[self.next..].iter().take_while(|(_, w)| w.parse::<f64>().is_ok()).count()
    }
}

fn short(word: &str) -> String {
    word.chars().take(20).collect()
}

const FORMAT: &str = "a modal file has `bellcrank-modal 1`, `nodes N`, `modes M` with M times `mode`, `stiffness`, and may \
                      have `mass` and `damping`";
const MOST_NODES: usize = 1_000_000;

/// A matrix given by its diagonal or in full.
fn matrix(words: &mut Words, what: &str, n: usize) -> Result<Vec<f64>, ModalFault> {
    let place = words.place();
    let found = words.numbers_ahead();
    if found != n && found != n * n {
        let message = format!("{place}: `{what}` has {found} numbers, but there are {n} modes");
        return Err((message, format!("give {n} numbers, or a symmetric {n}×{n} matrix by rows")));
    }
    let mut out = vec![0.0; n * n];
    for k in 0..found {
        let at = if found == n * n { k } else { k * n + k };
        out[at] = words.number(what)?;
    }
    let largest = out.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for i in 0..n {
        for j in 0..i {
            if (out[i * n + j] - out[j * n + i]).abs() > 1e-6 * largest {
                let message = format!(
                    "{place}: `{what}` is not symmetric: {} in row {}, column {}, and {} across",
                    out[i * n + j],
                    i + 1,
                    j + 1,
                    out[j * n + i]
                );
                return Err((message, "give a symmetric matrix by rows, or its diagonal".into()));
            }
            let mean = 0.5 * (out[i * n + j] + out[j * n + i]);
            (out[i * n + j], out[j * n + i]) = (mean, mean);
        }
    }
    Ok(out)
}

/// The first leading part of a symmetric matrix that is not positive definite.
fn indefinite(a: &[f64], n: usize) -> Option<usize> {
    let mut l = a.to_vec();
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = l[i * n + j] - sum;
            if i == j && (rest.is_nan() || rest <= 1e-12 * a[i * n + i].abs()) {
                return Some(i);
            }
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    None
}

/// The nodes, up to the word `modes`.
fn read_nodes(file: &str, words: &mut Words, dimension: usize) -> Result<Vec<ModalNode>, ModalFault> {
    let count = words.count("nodes", MOST_NODES)?;
    let mut nodes: Vec<ModalNode> = Vec::new();
    for k in 1..=count {
        if words.peek() == Some("modes") {
            let message = format!("{}: only {} of {count} nodes were given", words.place(), k - 1);
            return Err((message, "a node is a line `name x y z mass [jx jy jz]`".into()));
        }
        let name = words.word("the name of a node")?.to_string();
        let what = format!("node `{}`", short(&name));
        let (place, at) = (words.place(), words.vector(&what)?);
        let mass = words.number(&what)?;
        if mass < 0.0 {
            return Err((format!("{place}: the mass of {what} is negative: {mass}"), "give its share in kg".into()));
        }
        if dimension == 2 && at[2] != 0.0 {
            return Err((format!("{place}: {what} is not in the plane: z = {}", at[2]), "put it at z = 0".into()));
        }
        let inertia = if words.left_in_line() > 0 { words.vector(&what)? } else { Vec3::ZERO };
        if inertia.0.iter().any(|j| *j < 0.0) {
            return Err((format!("{place}: {what} has a negative moment of inertia"), "in kg m²".into()));
        }
        nodes.push(ModalNode { name, place: at, mass, inertia, shapes: Vec::new(), turns: false });
    }
    if let Some(twice) = (0..nodes.len().min(2000)).find(|&i| nodes[..i].iter().any(|n| n.place == nodes[i].place)) {
        let message = format!("`{file}`: node `{}` is at the place of another", short(&nodes[twice].name));
        return Err((message, "elements find nodes by their places: leave one of them out".into()));
    }
    if words.peek().is_some_and(|w| w != "modes") {
        let message =
            format!("{}: expected `modes` after {count} nodes, found `{}`", words.place(), short(words.word("")?));
        return Err((message, "a node is a line `name x y z mass [jx jy jz]`; check the number after `nodes`".into()));
    }
    Ok(nodes)
}

/// The shapes of `n` modes at all nodes.
fn read_modes(words: &mut Words, n: usize, dimension: usize, nodes: &mut [ModalNode]) -> Result<(), ModalFault> {
    let count = nodes.len();
    let mut turns = None;
    for mode in 1..=n {
        if words.peek() != Some("mode") {
            let message = match words.peek() {
                Some(w) if mode > 1 && w.parse::<f64>().is_ok() => {
                    format!("{}: mode {} has more lines than the {count} nodes", words.place(), mode - 1)
                }
                _ => format!("{}: only {} of {n} modes were given", words.place(), mode - 1),
            };
            return Err((message, "each mode is the word `mode` and one line for each node".into()));
        }
        words.expect("mode")?;
        for (k, node) in nodes.iter_mut().enumerate() {
            let what = format!("mode {mode} at node `{}`", short(&node.name));
            if words.peek().is_none_or(|w| w.parse::<f64>().is_err()) {
                let message = format!("{}: mode {mode} has {k} of {count} nodes", words.place());
                return Err((message, "a line `ux uy uz` or `ux uy uz rx ry rz` for each node".into()));
            }
            let place = words.place();
            let phi = words.vector(&what)?;
            let full = words.left_in_line() > 0;
            if *turns.get_or_insert(full) != full {
                let message =
                    format!("{place}: {what} has {} numbers, others {}", 3 + 3 * full as usize, 6 - 3 * full as usize);
                return Err((message, "give rotations for all nodes and modes, or for none".into()));
            }
            let psi = if full { words.vector(&what)? } else { Vec3::ZERO };
            if words.left_in_line() > 0 {
                return Err((format!("{place}: {what} has more than 6 numbers"), "ux uy uz rx ry rz".into()));
            }
            if dimension == 2 && (phi[2] != 0.0 || psi[0] != 0.0 || psi[1] != 0.0) {
                let help = "in the plane only ux, uy and rz may differ from zero".to_string();
                return Err((format!("{place}: {what} leaves the plane"), help));
            }
            node.shapes.push((phi, psi));
            node.turns = full;
        }
    }
    Ok(())
}

/// Reads a modal file.
pub fn parse(file: &str, text: &str, dimension: usize) -> Result<Structure, ModalFault> {
    let mut words = Words::new(file, text);
    words.expect("bellcrank-modal")?;
    let place = words.place();
    let version = words.word("the version")?;
    if version != "1" {
        return Err((format!("{place}: version {} of the format is not known", short(version)), FORMAT.into()));
    }
    words.expect("nodes")?;
    let mut nodes = read_nodes(file, &mut words, dimension)?;
    words.expect("modes")?;
    let n = words.count("modes", MAX_MODES)?;
    read_modes(&mut words, n, dimension, &mut nodes)?;
    words.expect("stiffness")?;
    let stiffness = matrix(&mut words, "stiffness", n)?;
    let mut given = [None, None];
    for (slot, key) in given.iter_mut().zip(["mass", "damping"]) {
        if words.peek() == Some(key) {
            words.next += 1;
            *slot = Some(matrix(&mut words, key, n)?);
        }
    }
    if let Some(rest) = words.peek() {
        return Err((format!("{}: `{}` is not expected here", words.place(), short(rest)), FORMAT.into()));
    }
    if let Some(i) = indefinite(&stiffness, n) {
        let k = stiffness[i * n + i];
        let message = if k <= 0.0 {
            format!("`{file}`: the stiffness of mode {} is not positive: {k}", i + 1)
        } else {
            format!("`{file}`: the stiffness matrix is not positive definite, by mode {}", i + 1)
        };
        return Err((message, "leave rigid-body modes out: the floating frame moves for them".into()));
    }
    let [mass, damping] = given;
    structure(file, nodes, stiffness, mass, damping, dimension)
}

fn structure(
    file: &str,
    mut nodes: Vec<ModalNode>,
    mut stiffness: Vec<f64>,
    mut modal_mass: Option<Vec<f64>>,
    mut damping: Option<Vec<f64>>,
    dimension: usize,
) -> Result<Structure, ModalFault> {
    let n = nodes.first().map_or(0, |node| node.shapes.len());
    let mut angle = vec![false; n];
    for i in 0..n {
        let largest = |of: fn(&(Vec3, Vec3)) -> Vec3| nodes.iter().map(|k| of(&k.shapes[i]).norm()).fold(0.0, f64::max);
        let (slide, turn) = (largest(|s| s.0), largest(|s| s.1));
        if slide == 0.0 && turn == 0.0 {
            return Err((format!("`{file}`: mode {} is zero at every node", i + 1), "leave it out".into()));
        }
        angle[i] = slide == 0.0;
        let unit = if angle[i] { turn } else { slide };
        for node in &mut nodes {
            let (phi, psi) = &mut node.shapes[i];
            (*phi, *psi) = (*phi * (1.0 / unit), *psi * (1.0 / unit));
        }
        for a in [Some(&mut stiffness), modal_mass.as_mut(), damping.as_mut()].into_iter().flatten() {
            for k in 0..n {
                a[i * n + k] /= unit;
                a[k * n + i] /= unit;
            }
        }
    }
    let mass: f64 = nodes.iter().map(|k| k.mass).sum();
    if mass <= 0.0 {
        return Err((
            format!("`{file}`: the nodes have no mass"),
            "the last number of a node is its mass in kg".into(),
        ));
    }
    let mut of = Structure {
        dimension,
        mass,
        first: Vec3::ZERO,
        second: Mat3::ZERO,
        rotary: Mat3::ZERO,
        modes: angle.into_iter().map(|angle| ElasticMode { angle, ..ElasticMode::default() }).collect(),
        products: vec![Mat3::ZERO; n * n],
        modal_mass: vec![0.0; n * n],
        stiffness,
        damping: damping.unwrap_or_else(|| vec![0.0; n * n]),
        field: ModeField::Nodes(Vec::new()),
        start: vec![0.0; n],
        start_rates: vec![0.0; n],
        quasi_static: false,
        thickness: 0.0,
    };
    for node in &nodes {
        let s = node.place;
        of.first += s * node.mass;
        of.second += s.outer(s) * node.mass;
        of.rotary += Mat3::diagonal(node.inertia);
        for (i, (phi, psi)) in node.shapes.iter().enumerate() {
            let spin = Mat3::diagonal(node.inertia) * *psi;
            of.modes[i].rotary += spin;
            of.modes[i].first += *phi * node.mass;
            of.modes[i].with_place += phi.outer(s) * node.mass;
            for (j, (other, turn)) in node.shapes.iter().enumerate() {
                of.products[i * n + j] += phi.outer(*other) * node.mass;
                of.modal_mass[i * n + j] += node.mass * phi.dot(*other) + spin.dot(*turn);
            }
        }
    }
    of.modal_mass = modal_mass.unwrap_or(of.modal_mass);
    if let Some(i) = indefinite(&of.modal_mass, n) {
        let m = of.modal_mass[i * n + i];
        let message = format!("`{file}`: mode {} has no mass of its own: {m} kg", i + 1);
        return Err((message, "give masses to the nodes that move, or a section `mass`".into()));
    }
    of.field = ModeField::Nodes(nodes);
    Ok(of)
}

/// D = M X diag(2 ζ ω) Xᵀ M with XᵀM X = I, XᵀK X = diag ω²: every mode of the body alone has the ratio ζ.
pub fn damping_of_ratio(mass: &[f64], stiffness: &[f64], n: usize, ratio: f64) -> Vec<f64> {
    // K = L C Lᵀ with M = L Lᵀ; then D = L V diag(2 ζ ω) Vᵀ Lᵀ with C = V diag ω² Vᵀ
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = mass[i * n + j] - sum;
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    let solve = |b: &mut [f64]| {
        for i in 0..n {
            let sum: f64 = (0..i).map(|k| l[i * n + k] * b[k]).sum();
            b[i] = (b[i] - sum) / l[i * n + i];
        }
    };
    let mut c = stiffness.to_vec();
    for _ in 0..2 {
        c.chunks_exact_mut(n).for_each(solve);
        c = (0..n * n).map(|k| c[k % n * n + k / n]).collect();
    }
    let Ok((values, vectors)) = Matrix::from_fn(n, n, |i, j| c[i * n + j]).symmetric_eigen() else {
        return vec![f64::NAN; n * n];
    };
    let mut out = vec![0.0; n * n];
    for (k, value) in values.iter().enumerate() {
        let x: Vec<f64> = (0..n).map(|i| (0..=i).map(|j| l[i * n + j] * vectors.at(j, k)).sum()).collect();
        let d = 2.0 * ratio * value.max(0.0).sqrt();
        for i in 0..n {
            (0..n).for_each(|j| out[i * n + j] += d * x[i] * x[j]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Flexible;

    const GOOD: &str = "bellcrank-modal 1 # two nodes\nnodes 2\nA 0 0 0 0.5\nB 1 0 0 1.5\nmodes 2\nmode\n0 0 0 0 0 0\n0 0.5 0 0 0 1\n\
                        mode\n0 0 0 0 0 0\n0.25 0 0 0 0 0\nstiffness\n8 16\n";

    fn fault(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        parse("a.modal", &GOOD.replacen(from, to, 1), 2).err().map_or("none".into(), |f| f.0)
    }

    #[test]
    fn a_file_becomes_a_body() {
        let of = parse("a.modal", GOOD, 2).unwrap();
        assert_eq!((of.mass, of.count()), (2.0, 2));
        assert_eq!(of.first, Vec3::new(1.5, 0.0, 0.0));
        // scaled to the height 1: k = 8/0.5², 16/0.25²
        assert_eq!(of.stiffness, [32.0, 0.0, 0.0, 256.0]);
        assert_eq!(of.modal_mass, [1.5, 0.0, 0.0, 1.5]);
        assert_eq!(of.shapes(Vec3::X).1[0], (Vec3::Y, Vec3::Z * 2.0));
        // two points in the plane have four freedoms, the frame and two modes five
        assert!(Flexible::new(of).is_none());
        let turning = GOOD.replace("B 1 0 0 1.5", "B 1 0 0 1.5 0 0 0.1");
        assert!(Flexible::new(parse("a.modal", &turning, 2).unwrap()).is_some());
        // on one line in space, nothing resists a turn about it
        assert!(Flexible::new(parse("a.modal", GOOD, 3).unwrap()).is_none());
        let thick = GOOD.replace("B 1 0 0 1.5", "B 1 0 0 1.5 0.1 0.1 0.1");
        assert!(Flexible::new(parse("a.modal", &thick, 3).unwrap()).is_some());
    }

    #[test]
    fn faults_tell_lines_names_and_sizes() {
        let cases = [
            ("bellcrank-modal 1", "modal 1", "line 1 of `a.modal`: expected `bellcrank-modal`, found `modal`"),
            ("modal 1", "modal 2", "line 1 of `a.modal`: version 2 of the format is not known"),
            ("nodes 2", "nodes 3", "line 5 of `a.modal`: only 2 of 3 nodes were given"),
            ("nodes 2", "nodes 1", "line 4 of `a.modal`: expected `modes` after 1 nodes, found `B`"),
            ("B 1 0 0 1.5", "B 1 0 0 -1.5", "line 4 of `a.modal`: the mass of node `B` is negative: -1.5"),
            ("B 1 0 0 1.5", "B 1 0 1 1.5", "line 4 of `a.modal`: node `B` is not in the plane: z = 1"),
            ("B 1 0 0 1.5", "B 0 0 0 1.5", "`a.modal`: node `B` is at the place of another"),
            ("modes 2", "modes 3", "line 12 of `a.modal`: only 2 of 3 modes were given"),
            ("modes 2", "modes 400", "line 5 of `a.modal`: the number of modes must be 1 to 58, found `400`"),
            ("0 0.5 0 0 0 1\n", "", "line 8 of `a.modal`: mode 1 has 1 of 2 nodes"),
            ("0 0.5 0 0 0 1\n", "0 0.5 0\n", "line 8 of `a.modal`: mode 1 at node `B` has 3 numbers, others 6"),
            ("0 0.5 0 0 0 1\n", "0 0.5 0.1 0 0 1\n", "line 8 of `a.modal`: mode 1 at node `B` leaves the plane"),
            ("0 0.5 0 0 0 1\n", "0 0 0 0 0 0\n", "`a.modal`: mode 1 is zero at every node"),
            ("0 0.5 0 0 0 1\n", "0 x 0 0 0 1\n", "line 8 of `a.modal`: mode 1 at node `B` is no number: `x`"),
            ("8 16", "8 16 3", "line 13 of `a.modal`: `stiffness` has 3 numbers, but there are 2 modes"),
            ("8 16", "8 -16", "`a.modal`: the stiffness of mode 2 is not positive: -16"),
            ("8 16", "0 16", "`a.modal`: the stiffness of mode 1 is not positive: 0"),
            ("8 16", "8 20 20 16", "`a.modal`: the stiffness matrix is not positive definite, by mode 2"),
            (
                "8 16",
                "8 1 2 16",
                "line 13 of `a.modal`: `stiffness` is not symmetric: 2 in row 2, column 1, and 1 across",
            ),
            ("8 16", "8 16\nmass 1", "line 14 of `a.modal`: `mass` has 1 numbers, but there are 2 modes"),
            ("8 16", "8 16\nmass 1 0", "`a.modal`: mode 2 has no mass of its own: 0 kg"),
            ("8 16", "8 16\nspeed", "line 14 of `a.modal`: `speed` is not expected here"),
            ("stiffness\n8 16\n", "", "`a.modal` ends where `stiffness` should follow"),
        ];
        for (from, to, expected) in cases {
            assert_eq!(fault(from, to), expected);
        }
        assert_eq!(parse("a.modal", "", 3).unwrap_err().0, "`a.modal` ends where `bellcrank-modal` should follow");
    }

    #[test]
    fn a_damping_ratio_is_that_of_every_mode() {
        let (m, k) = ([2.0, 0.3, 0.3, 1.0], [50.0, -4.0, -4.0, 9.0]);
        let d = damping_of_ratio(&m, &k, 2, 0.1);
        // D M⁻¹ D = 4 ζ² K: both have the same vectors, and (2 ζ ω)² = 4 ζ² ω²
        let determinant = m[0] * m[3] - m[1] * m[2];
        let inverse = [m[3] / determinant, -m[1] / determinant, -m[2] / determinant, m[0] / determinant];
        let times = |a: &[f64], b: &[f64]| -> Vec<f64> {
            (0..4).map(|k| a[k / 2 * 2] * b[k % 2] + a[k / 2 * 2 + 1] * b[2 + k % 2]).collect()
        };
        for (x, k) in times(&times(&d, &inverse), &d).iter().zip(&k) {
            assert!((x - 0.04 * k).abs() < 1e-12, "{x} {k}");
        }
    }
}
