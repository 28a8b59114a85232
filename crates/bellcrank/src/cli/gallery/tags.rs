//! What a machine has, told from its scene and its run: the filters of the gallery.

use bellcrank_model::model::Space;
use bellcrank_model::scene::{Scene, SceneElement};
use serde_json::Value;

/// A filter: its key in the page, its name, and which machines have it.
pub struct Tag {
    pub key: &'static str,
    pub name: &'static str,
    has: fn(&GalleryMachine) -> bool,
}

/// A machine with its run.
pub struct GalleryMachine<'a> {
    pub scene: &'a Scene,
    pub summary: &'a Value,
    pub text: &'a str,
}

/// Every filter, in the order of the page.
pub const TAGS: &[Tag] = &[
    Tag { key: "plane", name: "plane", has: |m| m.scene.space == Space::Plane },
    Tag { key: "space", name: "space", has: |m| m.scene.space == Space::Space },
    Tag { key: "loops", name: "closed loops", has: |m| loops(m.scene) > 0 },
    Tag { key: "redundant", name: "redundant constraints", has: |m| m.number("redundant_equations") > 0 },
    Tag { key: "driven", name: "prescribed motion", has: |m| m.joints(&["drive", "drive-point"]) > 0 },
    Tag {
        key: "gears",
        name: "gears, belts, screws",
        has: |m| m.joints(&["gear", "belt", "rack", "screw", "tie"]) > 0,
    },
    Tag { key: "rolling", name: "rolling, skates", has: |m| m.joints(&["knife-edge", "rolling-disk"]) > 0 },
    Tag { key: "contacts", name: "contacts and stops", has: |m| m.forces(&["contact", "stop"]) > 0 },
    Tag { key: "friction", name: "dry friction", has: |m| m.forces(&["joint-friction"]) > 0 },
    Tag { key: "events", name: "events", has: |m| m.number("event_count") > 0 },
    Tag { key: "springs", name: "springs and bushings", has: |m| m.forces(SPRINGS) > 0 },
    Tag { key: "flexible", name: "flexible bodies", has: |m| m.scene.bodies.iter().any(|b| b.kind == "flexible") },
    Tag { key: "controllers", name: "controllers", has: |m| m.forces(&["pid"]) > 0 || m.text.contains("\n[state.") },
    Tag { key: "robots", name: "robots", has: |m| m.forces(&["pid"]) > 2 && loops(m.scene) == 0 },
    Tag { key: "stiff", name: "stiff", has: |m| m.summary["method"] == "bdf" },
];

const SPRINGS: &[&str] = &["spring-damper", "torsional-spring-damper", "joint-spring", "bushing"];

/// Joints that only relate the motions of other joints or of a body to the ground; they close no loop of bodies.
const RELATIONS: &[&str] =
    &["drive", "drive-point", "gear", "belt", "rack", "tie", "armature", "knife-edge", "rolling-disk"];

impl GalleryMachine<'_> {
    /// The filters that show this machine.
    pub fn tags(&self) -> impl Iterator<Item = &'static Tag> {
        TAGS.iter().filter(|tag| (tag.has)(self))
    }

    fn number(&self, key: &str) -> u64 {
        self.summary[key].as_u64().unwrap_or(0)
    }

    fn joints(&self, kinds: &[&str]) -> usize {
        count(&self.scene.joints, kinds)
    }

    fn forces(&self, kinds: &[&str]) -> usize {
        count(&self.scene.forces, kinds)
    }
}

fn count(elements: &[SceneElement], kinds: &[&str]) -> usize {
    elements.iter().filter(|e| kinds.contains(&&*e.kind)).count()
}

/// The number of independent closed loops: joints beyond a spanning tree of the bodies and the ground.
fn loops(scene: &Scene) -> usize {
    let ground = scene.bodies.len();
    let mut group: Vec<usize> = (0..=ground).collect();
    let mut loops = 0;
    for joint in scene.joints.iter().filter(|j| !RELATIONS.contains(&&*j.kind)) {
        let [a, b] = joint.between[..] else { continue };
        let of = |end: Option<usize>| group.get(end.unwrap_or(ground)).copied();
        let (Some(a), Some(b)) = (of(a), of(b)) else { continue };
        match a == b {
            true => loops += 1,
            false => group.iter_mut().filter(|g| **g == a).for_each(|g| *g = b),
        }
    }
    loops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_joints_beyond_a_tree() {
        let joint = |kind: &'static str, between: [Option<usize>; 2]| SceneElement {
            kind: kind.into(),
            between: between.to_vec(),
            ..SceneElement::default()
        };
        let mut scene = Scene { bodies: vec![Default::default(); 3], ..Scene::default() };
        for between in [[None, Some(0)], [Some(0), Some(1)], [Some(1), Some(2)]] {
            scene.joints.push(joint("revolute", between));
        }
        scene.joints.push(joint("drive", [None, Some(0)]));
        assert_eq!(loops(&scene), 0);
        scene.joints.push(joint("revolute", [Some(2), None]));
        assert_eq!(loops(&scene), 1);
        scene.joints.push(joint("revolute", [None, Some(9)])); // no such body
        assert_eq!(loops(&scene), 1);
    }

    #[test]
    fn keys_are_single_words_and_unique() {
        for (k, tag) in TAGS.iter().enumerate() {
            assert!(tag.key.chars().all(|c| c.is_ascii_lowercase()), "{}", tag.key);
            assert!(TAGS[..k].iter().all(|other| other.key != tag.key), "{}", tag.key);
        }
    }
}
