//! A part in a mirror: the same part with the signs that change.
//!
//! The mirror S turns one axis of the part's coordinates around, and the same axis of the frame of every body: x ↦ S x for places on it,
//! R ↦ S R S for rotations, J ↦ S J S for inertias, ω ↦ −S ω. A frame of a joint A becomes S A D, where D turns one of its own axes around so
//! that it stays right-handed: which one decides which coordinates of the joint change their signs. Slides and turns keep theirs in
//! space; of joints that do both along one axis (cylindrical ones and screws), and in the plane, turns go the other way.

use super::Part;
use crate::file::suggest::quoted;
use crate::file::*;
use std::collections::{HashMap, HashSet};

/// The axis that a mirror turns around.
pub(super) fn axis(values: &Values, plane: bool) -> Result<usize, Diagnostic> {
    let word = values.node("mirror").and_then(Node::as_str).unwrap_or_default();
    match (word, plane) {
        ("yz", false) | ("y", true) => Ok(0),
        ("xz", false) | ("x", true) => Ok(1),
        ("xy", false) => Ok(2),
        _ => {
            let (place, choice) = if plane {
                ("in the plane", "\"x\" or \"y\", the axis that is the mirror")
            } else {
                ("in space", "\"xy\", \"xz\" or \"yz\", the plane that is the mirror")
            };
            let message = format!("{} cannot be mirrored at {} {place}", values.what(), quoted(word));
            Err(values.error_at("mirror", message).help(format!("write {choice}")))
        }
    }
}

/// Mirrors the entries of all parts that are to be, one mirror after the other.
pub(in crate::read) fn apply(root: &mut Node, parts: &[Part], plane: bool) -> Result<(), Diagnostics> {
    if parts.iter().all(|p| p.mirrors.is_empty()) {
        return Ok(());
    }
    let joints = root.get("joint").and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
    let kind = |e: &Entry| Some((e.name.clone(), e.node.get("type")?.as_str()?.to_string()));
    let kinds: HashMap<String, String> = joints.iter().filter_map(kind).collect();
    let markers = root.get("marker").and_then(Node::as_table);
    let markers: HashSet<String> = markers.into_iter().flat_map(Table::names).map(str::to_string).collect();
    let mirrors: HashMap<u32, &[usize]> = parts.iter().map(|p| (p.source, p.mirrors.as_slice())).collect();
    let mut problems = Diagnostics::new();
    let NodeValue::Table(table) = &mut root.value else { return Ok(()) };
    for section in &mut table.entries {
        let NodeValue::Table(entries) = &mut section.node.value else { continue };
        for entry in &mut entries.entries {
            // a part in a part is mirrored itself, and stands where the mirrors of the outer one put it
            for &axis in mirrors.get(&entry.span.source).copied().unwrap_or_default() {
                let mirror = Mirror { axis, plane, kinds: &kinds, markers: &markers };
                if let Err(why) = mirror.entry(&section.name, &entry.name, &mut entry.node) {
                    let what = format!("{} {} cannot be mirrored", section.name, quoted(&entry.name));
                    let problem = Diagnostic::error(format!("{what}: {}", why.0)).at(entry.span);
                    problems.push(problem.help(why.1));
                    break;
                }
            }
        }
    }
    problems.or(())
}

/// Why something cannot be mirrored, and what to try.
type Refusal = (&'static str, &'static str);
type Done = Result<(), Refusal>;

/// Curves are given by functions, whose mirror image is not looked for.
const CURVED: Refusal = ("it has a curve", "include it without `mirror`, or draw the mirror image as another part");

struct Mirror<'a> {
    axis: usize,
    plane: bool,
    /// The kinds of all joints, by name.
    kinds: &'a HashMap<String, String>,
    markers: &'a HashSet<String>,
}

/// How a direction in the file behaves.
#[derive(Clone, Copy)]
enum Direction {
    /// Like an arrow: S a.
    Polar,
    /// Like the axis of a turn: −S a.
    Axial,
}
use Direction::{Axial, Polar};

impl Mirror<'_> {
    fn entry(&self, section: &str, name: &str, node: &mut Node) -> Done {
        let kind = node.get("type").and_then(Node::as_str).unwrap_or_default().to_string();
        match section {
            "body" => self.body(node),
            "joint" => self.joint(&kind, node),
            "force" => self.force(&kind, node),
            "probe" | "include" | "marker" => self.place(node).and_then(|()| self.pose(node)),
            "visual" => {
                self.vector(node, "at", Polar)?;
                self.pose(node)?;
                self.mesh(node);
                Ok(())
            }
            "state" => {
                ["rate", "input"].into_iter().for_each(|key| self.laws(node, key));
                Ok(())
            }
            "start" => {
                let NodeValue::Table(table) = &mut node.value else { return Ok(()) };
                table.entries.iter_mut().filter(|e| self.flips(name, &e.name)).try_for_each(|e| negate(&mut e.node))
            }
            _ => Ok(()),
        }
    }

    fn body(&self, node: &mut Node) -> Done {
        if node.get("beam").is_some() || node.get("modal").is_some() {
            return Err(("it is flexible", "include it without `mirror`, or draw its mirror image as another part"));
        }
        for key in ["at", "velocity"] {
            self.vector(node, key, Polar)?;
        }
        self.vector(node, "angular_velocity", Axial)?;
        if let Some(inertia) = value(node, "inertia") {
            self.matrix(inertia, &|i| i == self.axis)?;
        }
        self.pose(node)?;
        if let Some(rod) = value(node, "rod") {
            for key in ["from", "to"] {
                self.vector(rod, key, Polar)?;
            }
            // the body's x axis runs along the rod: where the mirror turns it around, so do the ends
            if self.axis == 0 {
                swap(rod, "from", "to");
            }
        }
        if node.get("cone").is_some() && self.axis == 2 {
            return Err((
                "its cone would stand on its tip",
                "mirror it at a plane along its axis, or give it a `mesh`",
            ));
        }
        if let Some(mesh) = value(node, "mesh") {
            self.vector(mesh, "at", Polar)?;
            value(mesh, "orientation").map_or(Ok(()), |turn| self.rotation(turn))?;
        }
        self.mesh(node);
        Ok(())
    }

    /// The axes of a marker are mirrored as those of a body, which those of joints are not.
    fn refuse_markers(&self, kind: &str, node: &Node) -> Done {
        let names = node.get("between").and_then(Node::as_array).unwrap_or(&[]);
        let marked = names.iter().filter_map(Node::as_str).any(|name| self.markers.contains(name));
        let axes = ["axis", "normal"].iter().any(|key| node.get(key).is_some());
        let points = ["spherical", "distance", "spring-damper", "attraction"].contains(&kind);
        if marked && !axes && !points {
            return Err(("its axes are those of a marker", "give its own `axis` as well"));
        }
        Ok(())
    }

    /// The points of an element.
    fn place(&self, node: &mut Node) -> Done {
        ["at", "on"].into_iter().try_for_each(|key| self.vector(node, key, Polar))
    }

    /// `orientation`, or `angle` in the plane.
    fn pose(&self, node: &mut Node) -> Done {
        if let Some(turn) = value(node, "orientation") {
            self.rotation(turn)?;
        }
        value(node, "angle").map_or(Ok(()), negate)
    }

    fn joint(&self, kind: &str, node: &mut Node) -> Done {
        self.place(node)?;
        self.refuse_markers(kind, node)?;
        let names = |key: &str| -> Vec<String> {
            let list = node.get(key).and_then(Node::as_array).unwrap_or(&[]);
            list.iter().filter_map(|n| n.as_str().map(str::to_string)).collect()
        };
        let pair = names("joints");
        let flips = |k: usize, coordinate: &str| pair.get(k).is_some_and(|joint| self.flips(joint, coordinate));
        match kind {
            "fixed" | "spherical" | "distance" | "armature" => self.axes(node, [None, None]),
            "revolute" | "planar" | "point-on-plane" => self.axes(node, [Some(Axial), Some(Polar)]),
            "universal" if node.get("axis2").is_none() => Err(("its `axis2` is left open", "give both of its axes")),
            "universal" => self.axes(node, [Some(Axial), Some(Axial)]),
            "cylindrical" | "prismatic" | "point-on-line" | "knife-edge" | "constant-velocity" => {
                self.axes(node, [Some(Polar), Some(Polar)])
            }
            "screw" => {
                self.axes(node, [Some(Polar), Some(Polar)])?;
                value(node, "pitch").map_or(Ok(()), negate)
            }
            "rolling-disk" => {
                self.axes(node, [Some(Polar), Some(Polar)])?;
                self.direction(node, "normal", Polar, if self.plane { [0, 1, 0] } else { [0, 0, 1] })
            }
            "drive" => {
                let joint = node.get("joint").and_then(Node::as_str).unwrap_or_default().to_string();
                let NodeValue::Table(table) = &mut node.value else { return Ok(()) };
                let driven = table.entries.iter_mut().filter(|e| !["type", "joint"].contains(&e.name.as_str()));
                driven.filter(|e| self.flips(&joint, &e.name)).try_for_each(|e| negate(&mut e.node))
            }
            "drive-point" => self.vector(node, "position", Polar),
            "gear" if flips(0, "angle") != flips(1, "angle") => value(node, "ratio").map_or(Ok(()), negate),
            "belt" if flips(0, "angle") != flips(1, "angle") => {
                let crossed = matches!(node.get("crossed"), Some(Node { value: NodeValue::Bool(true), .. }));
                put(node, "crossed", NodeValue::Bool(!crossed));
                Ok(())
            }
            "rack" if flips(0, "angle") != flips(1, "position") => value(node, "radius").map_or(Ok(()), negate),
            "tie" => self.tied(node),
            "gear" | "belt" | "rack" => Ok(()),
            "point-on-curve" | "cam" | "curve-on-curve" => Err(CURVED),
            _ => Err(("its kind has no mirror image", "include it without `mirror`")),
        }
    }

    /// Two joint coordinates that are tied by `ratio` and `offset`.
    fn tied(&self, node: &mut Node) -> Done {
        let name = |key: &str, k: usize| {
            let list = node.get(key).and_then(Node::as_array);
            list.and_then(|list| list.get(k)).and_then(Node::as_str)
        };
        let flips = |k: usize| {
            name("joints", k).is_some_and(|joint| self.flips(joint, name("coordinates", k).unwrap_or("angle")))
        };
        let both = [flips(0), flips(1)];
        if both[0] != both[1] {
            if node.get("ratio").is_none() {
                put(node, "ratio", NodeValue::Integer(1));
            }
            value(node, "ratio").map_or(Ok(()), negate)?;
        }
        if both[1] { value(node, "offset").map_or(Ok(()), negate) } else { Ok(()) }
    }

    fn force(&self, kind: &str, node: &mut Node) -> Done {
        self.place(node)?;
        self.refuse_markers(kind, node)?;
        for key in ["force", "torque", "effort", "reference", "wind"] {
            self.laws(node, key);
        }
        let text = |key: &str| node.get(key).and_then(Node::as_str).map(str::to_string);
        let (joint, coordinate, measured) = (text("joint"), text("coordinate"), text("measure"));
        // the only coordinate of a joint goes by any name
        let flips = joint.is_some_and(|joint| self.flips(&joint, coordinate.as_deref().unwrap_or("angle")));
        let each =
            |node: &mut Node, keys: &[&str]| keys.iter().try_for_each(|key| value(node, key).map_or(Ok(()), negate));
        match kind {
            "spring-damper" | "attraction" | "joint-friction" | "rope" => Ok(()),
            "torsional-spring-damper" if self.plane => {
                each(node, &["angle"])?;
                value(node, "curve").map_or(Ok(()), odd)
            }
            "torsional-spring-damper" => self.axes(node, [Some(Axial), Some(Polar)]),
            "joint-spring" if flips => {
                each(node, &["rest"])?;
                value(node, "curve").map_or(Ok(()), odd)
            }
            "bushing" => self.bushing(node),
            "force" => self.vector(node, "force", Polar),
            "torque" => self.vector(node, "torque", Axial),
            "drag" => self.vector(node, "wind", Polar),
            "curve-contact" => Err(CURVED),
            "contact" if node.get("curve").is_some() || node.get("points").is_some() => Err(CURVED),
            "tyre" if self.plane && (node.get("file").is_some() || node.get("road").is_some()) => Err((
                "a road and the coefficients of a file have no mirror image in the plane",
                "include it without `mirror`, or use the brush model on a flat road",
            )),
            "tyre" if node.get("road").is_some() && self.axis != 1 => Err((
                "its `road` has a mirror image at the xz plane alone",
                "use `mirror = \"xz\"`, or include it without `mirror`",
            )),
            "tyre" => {
                if node.get("file").is_some() || node.get("road").is_some() {
                    let mirrored = matches!(node.get("mirrored"), Some(Node { value: NodeValue::Bool(true), .. }));
                    put(node, "mirrored", NodeValue::Bool(!mirrored));
                }
                self.vector(node, "normal", Polar)?;
                if self.plane { Ok(()) } else { self.direction(node, "axis", Axial, [0, 1, 0]) }
            }
            "contact" => self.vector(node, "normal", Polar),
            "stop" if flips => {
                each(node, &["lower", "upper"])?;
                swap(node, "lower", "upper");
                Ok(())
            }
            "joint-actuator" if flips => {
                each(node, &["effort", "start"])?;
                value(node, "limits").map_or(Ok(()), backwards)
            }
            "pid" => {
                let seen = measured.map_or(flips, |channel| self.changes(&channel));
                if seen {
                    each(node, &["reference"])?;
                }
                if seen != flips {
                    each(node, &["kp", "ki", "kd"])?;
                }
                if flips {
                    each(node, &["start"])?;
                    value(node, "limits").map_or(Ok(()), backwards)?;
                }
                Ok(())
            }
            "joint-spring" | "stop" | "joint-actuator" => Ok(()),
            "gear-mesh" => self.tied(node),
            _ => Err(("its kind has no mirror image", "include it without `mirror`")),
        }
    }

    /// A bushing: its frame has the axis of the mirror, or, with an `axis`, its y axis turned around.
    fn bushing(&self, node: &mut Node) -> Done {
        let turned = match (node.get("axis").is_some(), self.plane) {
            (true, true) => return Err(("it has an `axis` in the plane", "leave `axis` out")),
            (true, false) => 1,
            (false, _) => self.axis,
        };
        if turned == 1 && node.get("axis").is_some() {
            self.axes(node, [Some(Polar), Some(Polar)])?;
        }
        let shifts = if self.plane { 2 } else { 3 };
        let changes = |i: usize| if i < shifts { i == turned } else { self.plane || i - shifts != turned };
        for key in ["stiffness", "damping"] {
            value(node, key).map_or(Ok(()), |matrix| self.matrix(matrix, &changes))?;
        }
        for key in ["offset", "preload"] {
            if let Some(Node { value: NodeValue::Array(list), .. }) = value(node, key) {
                list.iter_mut().enumerate().filter(|(i, _)| changes(*i)).try_for_each(|(_, n)| negate(n))?;
            }
        }
        let names = if self.plane { vec!["x", "y", "angle"] } else { vec!["x", "y", "z", "rx", "ry", "rz"] };
        if let Some(curves) = value(node, "curve") {
            for (_, name) in names.iter().enumerate().filter(|(i, _)| changes(*i)) {
                value(curves, name).map_or(Ok(()), odd)?;
            }
        }
        Ok(())
    }

    /// `axis` and `axis2` of a joint or force; those that are left out are what they are by default.
    fn axes(&self, node: &mut Node, [first, second]: [Option<Direction>; 2]) -> Done {
        match first {
            // in the plane an axis across it stays
            Some(Axial) if self.plane => return Ok(()),
            Some(as_a) => self.direction(node, "axis", as_a, if self.plane { [1, 0, 0] } else { [0, 0, 1] })?,
            None => self.vector(node, "axis", Polar)?,
        }
        self.vector(node, "axis2", second.unwrap_or(Polar))
    }

    /// A direction that is there by default.
    fn direction(&self, node: &mut Node, key: &str, as_a: Direction, default: [i64; 3]) -> Done {
        if node.get(key).is_none() {
            let span = node.span;
            let numbers = default[..if self.plane { 2 } else { 3 }].iter();
            let list = numbers.map(|n| Node { span, value: NodeValue::Integer(*n) }).collect();
            put(node, key, NodeValue::Array(list));
        }
        self.vector(node, key, as_a)
    }

    /// The vector or the list of vectors of a key, if it is there.
    fn vector(&self, node: &mut Node, key: &str, as_a: Direction) -> Done {
        match (value(node, key), as_a) {
            (Some(node), Axial) if self.plane => negate(node),
            (Some(node), _) => self.components(node, as_a),
            (None, _) => Ok(()),
        }
    }

    fn components(&self, node: &mut Node, as_a: Direction) -> Done {
        match &mut node.value {
            NodeValue::Array(list) if list.first().is_some_and(|n| n.as_array().is_some()) => {
                list.iter_mut().try_for_each(|n| self.components(n, as_a))
            }
            NodeValue::Array(list) => {
                let changes = |i: usize| (i == self.axis) == matches!(as_a, Polar);
                list.iter_mut().enumerate().filter(|(i, _)| changes(*i)).try_for_each(|(_, n)| negate(n))
            }
            NodeValue::Table(_) => Err((
                "a vector in it comes from a file",
                "give each component, as in [{ table = …, column = … }, 0, 0]",
            )),
            _ => Ok(()),
        }
    }

    /// S R S: of a quaternion, of an axis and an angle, of three angles or of a matrix.
    fn rotation(&self, node: &mut Node) -> Done {
        let axis = self.axis;
        match &mut node.value {
            NodeValue::Array(list) if list.len() == 4 => {
                let changes = |i: usize| i > 0 && i - 1 != axis;
                list.iter_mut().enumerate().filter(|(i, _)| changes(*i)).try_for_each(|(_, n)| negate(n))
            }
            NodeValue::Array(_) => self.matrix(node, &|i| i == axis),
            NodeValue::Table(_) => {
                let order = node.get("order").and_then(Node::as_str).unwrap_or_default().to_string();
                if let Some(Node { value: NodeValue::Array(angles), .. }) = value(node, "angles") {
                    let letter = ["x", "y", "z"][axis];
                    let turns = order.chars().map(|c| c.to_string());
                    angles.iter_mut().zip(turns).filter(|(_, t)| t != letter).try_for_each(|(n, _)| negate(n))?;
                }
                value(node, "axis").map_or(Ok(()), |n| self.components(n, Axial))
            }
            _ => Ok(()),
        }
    }

    /// The entries of a full matrix whose row or whose column changes, but not both.
    fn matrix(&self, node: &mut Node, changes: &dyn Fn(usize) -> bool) -> Done {
        let NodeValue::Array(rows) = &mut node.value else { return Ok(()) };
        for (i, row) in rows.iter_mut().enumerate() {
            let NodeValue::Array(row) = &mut row.value else { continue };
            let entries = row.iter_mut().enumerate().filter(|(j, _)| changes(i) != changes(*j));
            entries.into_iter().try_for_each(|(_, n)| negate(n))?;
        }
        Ok(())
    }

    /// The scale of a mesh: one of three.
    fn mesh(&self, node: &mut Node) {
        let Some(mesh) = value(node, "mesh") else { return };
        let span = mesh.span;
        let one = Node { span, value: NodeValue::Integer(1) };
        let mut list = match mesh.get("scale") {
            None => vec![one; 3],
            Some(Node { value: NodeValue::Array(list), .. }) if list.len() == 3 => list.clone(),
            Some(Node { value: NodeValue::Array(list), .. }) if list.len() == 1 => vec![list[0].clone(); 3],
            Some(Node { value: NodeValue::Array(_), .. }) => return,
            Some(scale) => vec![scale.clone(); 3],
        };
        if negate(&mut list[self.axis]).is_ok() {
            put(mesh, "scale", NodeValue::Array(list));
        }
    }

    /// Whether a coordinate of a joint, or its rate, has the other sign.
    fn flips(&self, joint: &str, coordinate: &str) -> bool {
        match self.kinds.get(joint).map(String::as_str) {
            Some("revolute") => self.plane,
            Some("cylindrical" | "screw") => ["angle", "rate", "acceleration"].contains(&coordinate),
            _ => false,
        }
    }

    /// Whether a position or velocity that is measured has the other sign.
    fn changes(&self, channel: &str) -> bool {
        let (owner, quantity) = channel.rsplit_once('.').unwrap_or((channel, ""));
        if self.kinds.contains_key(owner) {
            return self.flips(owner, quantity);
        }
        let along = |prefix: &str| ["x", "y", "z"].iter().position(|a| quantity.strip_prefix(prefix) == Some(*a));
        let shift = along("").or(along("v"));
        let turn = along("w").or((quantity == "angle").then_some(2));
        shift == Some(self.axis) || turn.is_some_and(|i| i != self.axis)
    }

    /// Functions of the state, which measure in the mirrored part what they would in the part itself.
    fn laws(&self, node: &mut Node, key: &str) {
        if let Some(law) = value(node, key) {
            self.law(law);
        }
    }

    fn law(&self, node: &mut Node) {
        match &mut node.value {
            NodeValue::Array(list) => list.iter_mut().for_each(|n| self.law(n)),
            NodeValue::String { text, start } => {
                let mut out = String::new();
                let mut from = 0;
                for (name, at) in Expression::names(text) {
                    if name.contains('.') && self.changes(name) {
                        let quote = usize::from(text[..at.start].ends_with('`'));
                        out += &text[from..at.start - quote];
                        out += &format!("(-{})", &text[at.start - quote..at.end + quote]);
                        from = at.end + quote;
                    }
                }
                if from > 0 {
                    out += &text[from..];
                    (*text, *start) = (out, None);
                }
            }
            _ => {}
        }
    }
}

/// The value of a key, to be changed.
fn value<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    let NodeValue::Table(table) = &mut node.value else { return None };
    table.entries.iter_mut().find(|e| e.name == key).map(|e| &mut e.node)
}

/// Gives a key a value.
fn put(node: &mut Node, key: &str, new: NodeValue) {
    let span = node.span;
    if let Some(old) = value(node, key) {
        old.value = new;
    } else if let NodeValue::Table(table) = &mut node.value {
        table.entries.push(Entry { name: key.to_string(), span, node: Node { span, value: new } });
    }
}

/// Two keys exchange their values; one may be missing.
fn swap(node: &mut Node, first: &str, second: &str) {
    let NodeValue::Table(table) = &mut node.value else { return };
    for entry in &mut table.entries {
        if entry.name == first {
            entry.name = second.to_string();
        } else if entry.name == second {
            entry.name = first.to_string();
        }
    }
}

/// A number, a function of time or an expression with the other sign.
fn negate(node: &mut Node) -> Done {
    match &mut node.value {
        NodeValue::Integer(n) => *n = n.saturating_neg(),
        NodeValue::Number(x) => *x = -*x,
        NodeValue::String { text, start } => {
            *text =
                if units::NumberWithUnit::parse(text).is_some() { format!("-{text}") } else { format!("-({text})") };
            *start = None;
        }
        NodeValue::Table(table) if table.get("table").is_some() => match value(node, "scale") {
            Some(scale) => negate(scale)?,
            None => put(node, "scale", NodeValue::Integer(-1)),
        },
        NodeValue::Array(list) => list.iter_mut().try_for_each(negate)?,
        _ => {}
    }
    Ok(())
}

/// A curve F(s) as −F(−s).
fn odd(node: &mut Node) -> Done {
    match &mut node.value {
        NodeValue::Array(pairs) => {
            pairs.reverse();
            pairs.iter_mut().try_for_each(negate)
        }
        _ => Err(("its curve comes from a file", "write the pairs of the curve into the model")),
    }
}

/// Limits [a, b] as [−b, −a].
fn backwards(node: &mut Node) -> Done {
    if let NodeValue::Array(limits) = &mut node.value {
        limits.reverse();
        limits.iter_mut().try_for_each(negate)?;
    }
    Ok(())
}
