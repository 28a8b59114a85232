//! What of a model a value reaches: which entries of the file are others where it is another.
//!
//! Only what can be told from the file alone: parameters in expressions, through other parameters, and the keys of entries. Where an entry
//! reaches beyond itself (the place of a body, a joint, the start, parts of other files), nothing is told.

use super::{LAYOUT, Template};
use crate::file::{Node, NodeValue, Report};
use std::collections::{HashMap, HashSet};

/// The entries that a value reaches: masses of bodies, and forces. Nothing else in the model depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Bodies, of which mass or inertia changes.
    pub bodies: Vec<String>,
    /// Forces.
    pub forces: Vec<String>,
}

/// What uses a parameter.
#[derive(Clone, Debug, PartialEq)]
enum Use {
    Parameter(String),
    Mass(String),
    Force(String),
    /// Something whose change others may see.
    Beyond,
}

/// Which entries of a model file use which parameters.
pub struct Uses {
    of: HashMap<String, Vec<Use>>,
    /// Whether entries stand for themselves: no parts of other files, no states.
    plain: bool,
}

impl Template {
    /// Which entries use which parameters, with overrides put in.
    pub fn uses(&self, overrides: &[String]) -> Result<Uses, Report> {
        Ok(Uses::of(&self.with(overrides)?.root))
    }
}

impl Uses {
    fn of(root: &Node) -> Uses {
        let entries =
            |section: &str| root.get(section).and_then(Node::as_table).map_or(&[][..], |table| &table.entries);
        let known: HashSet<&str> = entries("parameter").iter().map(|e| e.name.as_str()).collect();
        let plain = ["include", "fmu", "state"].iter().all(|section| root.get(section).is_none());
        let mut uses = Uses { of: HashMap::new(), plain };
        for section in LAYOUT.settings {
            let Some(node) = root.get(section) else { continue };
            uses.note(node, &known, &mut |_| Use::Beyond);
        }
        for section in LAYOUT.named {
            for entry in entries(section) {
                let of = |path: &[&str]| match *section {
                    "parameter" => Use::Parameter(entry.name.clone()),
                    "force" => Use::Force(entry.name.clone()),
                    "body" if is_mass(path) => Use::Mass(entry.name.clone()),
                    _ => Use::Beyond,
                };
                uses.note(&entry.node, &known, &mut |path| of(path));
            }
        }
        uses
    }

    /// Notes the parameters in the texts below a node.
    fn note(&mut self, node: &Node, known: &HashSet<&str>, of: &mut dyn FnMut(&[&str]) -> Use) {
        let mut found: Vec<(String, Use)> = Vec::new();
        each_text(node, &mut Vec::new(), &mut |path, text| {
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            for word in words.filter(|word| known.contains(word)) {
                found.push((word.to_string(), of(path)));
            }
        });
        for (parameter, used) in found {
            let list = self.of.entry(parameter).or_default();
            if !list.contains(&used) {
                list.push(used);
            }
        }
    }

    /// What the value at a path reaches; nothing is told where that cannot be said.
    pub fn reach(&self, path: &str) -> Option<Reach> {
        if !self.plain || path.contains(['"', '\'']) {
            return None;
        }
        let parts: Vec<&str> = path.split('.').collect();
        let mut reach = Reach::default();
        match parts[..] {
            ["parameter", name] => self.follow(name, &mut HashSet::new(), &mut reach)?,
            ["force", name, _, ..] => reach.forces.push(name.to_string()),
            ["body", name, ref keys @ ..] if is_mass(keys) => reach.bodies.push(name.to_string()),
            _ => return None,
        }
        reach.bodies.sort_unstable();
        reach.forces.sort_unstable();
        Some(reach)
    }

    fn follow(&self, parameter: &str, seen: &mut HashSet<String>, reach: &mut Reach) -> Option<()> {
        if !seen.insert(parameter.to_string()) {
            return Some(());
        }
        for used in self.of.get(parameter).into_iter().flatten() {
            let (list, name) = match used {
                Use::Parameter(other) => {
                    self.follow(other, seen, reach)?;
                    continue;
                }
                Use::Mass(name) => (&mut reach.bodies, name),
                Use::Force(name) => (&mut reach.forces, name),
                Use::Beyond => return None,
            };
            if !list.contains(name) {
                list.push(name.clone());
            }
        }
        Some(())
    }
}

/// Whether keys of a body lead to its mass or inertia.
fn is_mass(keys: &[&str]) -> bool {
    keys.iter()
        .rev()
        .find(|key| key.parse::<usize>().is_err())
        .is_some_and(|key| ["mass", "inertia", "density"].contains(key))
}

/// Shows all texts below a node, with the keys that lead there.
fn each_text<'n>(node: &'n Node, path: &mut Vec<&'n str>, show: &mut dyn FnMut(&[&str], &str)) {
    match &node.value {
        NodeValue::String { text, .. } => show(path, text),
        NodeValue::Array(list) => list.iter().for_each(|node| each_text(node, path, show)),
        NodeValue::Table(table) => {
            for entry in &table.entries {
                path.push(&entry.name);
                each_text(&entry.node, path, show);
                path.pop();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        model.gravity = [0, 0, "-g"]
        parameter = { g = 9.81, k = 10, m = 1, l = 2, twice = "2*k", both = "m + k" }
        body.a = { mass = "m", at = [0, 0, "l"] }
        body.b = { sphere = { radius = 0.1, mass = "both" }, at = [1, 0, 0] }
        force.s = { type = "spring-damper", between = ["a", "b"], at = [[0, 0, 0], [1, 0, 0]], stiffness = "twice" }
        force.w = { type = "force", body = "b", force = [0, 0, "k"] }
    "#;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| s.to_string()).collect()
    }

    #[test]
    fn a_value_reaches_what_uses_it_through_other_parameters() {
        let uses = Template::parse("m.toml", TEXT).unwrap().uses(&[]).unwrap();
        let reach = |bodies: &[&str], forces: &[&str]| Some(Reach { bodies: names(bodies), forces: names(forces) });
        assert_eq!(uses.reach("parameter.m"), reach(&["a", "b"], &[]));
        assert_eq!(uses.reach("parameter.k"), reach(&["b"], &["s", "w"]));
        assert_eq!(uses.reach("force.w.force.2"), reach(&[], &["w"]));
        assert_eq!(uses.reach("body.b.sphere.mass"), reach(&["b"], &[]));
        for beyond in
            ["parameter.l", "parameter.g", "body.a.at.2", "body.b.sphere.radius", "model.gravity.2", "start.a"]
        {
            assert_eq!(uses.reach(beyond), None, "{beyond}");
        }
    }

    #[test]
    fn where_parts_of_other_files_reach_is_not_told() {
        let text = format!("{TEXT}\ninclude.left = {{ file = \"corner.toml\", set = {{ mass = \"m\" }} }}\n");
        let uses = Template::parse("m.toml", &text).unwrap().uses(&[]).unwrap();
        assert_eq!(uses.reach("parameter.m"), None);
    }
}
