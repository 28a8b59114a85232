//! Wrong assemblies are told with the user's names.

use bellcrank_glue::{Coordinator, Coupling, GlueOptions, Solver, read_assembly};
use std::path::PathBuf;

const ARM: &str = "model = { plane = \"xy\" }\n[body]\narm = { rod = { from = [0, 0], to = [1, 0], mass = 1 } }\n\
    [probe]\nleft = { body = \"arm\", at = [0, 0] }\nright = { body = \"arm\", at = [1, 0] }\n";
const FAR: &str = "model = { plane = \"xy\" }\n[body]\narm = { rod = { from = [1.1, 0], to = [2, 0], mass = 1 } }\n\
    [probe]\nleft = { body = \"arm\", at = [1.1, 0] }\nright = { body = \"arm\", at = [2, 0] }\n";
const NEXT: &str = "model = { plane = \"xy\" }\n[body]\narm = { rod = { from = [1, 0], to = [2, 0], mass = 1 } }\n\
    [probe]\nleft = { body = \"arm\", at = [1, 0] }\nright = { body = \"arm\", at = [2, 0] }\n";
const SPACE: &str = "[body]\narm = { rod = { from = [1, 0, 0], to = [2, 0, 0], mass = 1, radius = 0.1 } }\n\
    [probe]\nleft = { body = \"arm\", at = [1, 0, 0] }\n";
const MUTE: &str = "model = { plane = \"xy\" }\n[body]\narm = { rod = { from = [1, 0], to = [2, 0], mass = 1 } }\n";

/// A folder with the parts and one assembly, and what reading it says.
fn told(name: &str, assembly: &str) -> String {
    let folder: PathBuf = std::env::temp_dir().join(format!("bellcrank-assembly-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in [("arm", ARM), ("far", FAR), ("next", NEXT), ("space", SPACE), ("mute", MUTE)] {
        std::fs::write(folder.join(format!("{file}.toml")), text).unwrap();
    }
    let path = folder.join("assembly.toml");
    std::fs::write(&path, assembly).unwrap();
    let read = read_assembly(&path.to_string_lossy());
    let result = read.and_then(|assembly| {
        let mut parts = Vec::new();
        for part in assembly.parts {
            let how = Solver { coupling: Coupling::Stabilized, rho: 0.8, method: None, rtol: 1e-8, step: None };
            parts.push(part.start(&how).map_err(|e| e.to_string())?);
        }
        let glued = Coordinator::new(parts, assembly.interface, 0.0, GlueOptions::default());
        glued.map(|_| "fine".to_string()).map_err(|e| e.to_string())
    });
    std::fs::remove_dir_all(&folder).unwrap();
    result.unwrap_or_else(|e| e)
}

fn parts(a: &str, b: &str) -> String {
    format!("model = {{ plane = \"xy\" }}\n[part.one]\nmodel = \"{a}.toml\"\n[part.two]\nmodel = \"{b}.toml\"\n")
}

const HINGE: &str = "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"one/right\", \"two/left\"]\nat = [1, 0]\n";

#[test]
fn a_good_assembly_is_fine() {
    assert_eq!(told("good", &(parts("arm", "next") + HINGE)), "fine");
}

#[test]
fn wrong_assemblies_are_told_by_name() {
    let hinge = |a: &str, b: &str| HINGE.replace("one/right", a).replace("two/left", b);
    let three = parts("arm", "next") + "[part.three]\nmodel = \"next.toml\"\n" + HINGE;
    let claimed = three.clone() + &hinge("one/right", "three/left").replace("hinge", "pin");
    let more = "[part.three]\nmodel = \"arm.toml\"\n[part.four]\nmodel = \"next.toml\"\n";
    let islands = parts("arm", "next") + more + HINGE + &hinge("three/right", "four/left").replace("hinge", "pin");
    let cases: [(&str, String, &[&str]); 13] = [
        (
            "port",
            parts("arm", "next") + &hinge("one/rigth", "two/left"),
            &["unknown port `one/rigth`", "did you mean `one/right`", "assembly.toml:"],
        ),
        ("islands", islands, &["joins `four`, `three` with `one`, `two`"]),
        ("part", parts("arm", "next") + &hinge("one/right", "tow/left"), &["tow/left", "two/left"]),
        ("kind", parts("arm", "next") + &HINGE.replace("revolute", "revolut"), &["revolut", "revolute"]),
        ("space", parts("arm", "space") + HINGE, &["`one` is in the plane", "`two` in space"]),
        (
            "units",
            parts("arm", "next").replace("next.toml\"\n", "next.toml\"\nunits = \"mm\"\n") + HINGE,
            &["two", "mm", "SI"],
        ),
        ("file", parts("arm", "gone") + HINGE, &["part `two` is missing", "gone.toml"]),
        ("none", parts("arm", "mute") + HINGE, &["part `two` has no ports"]),
        ("loose", three, &["part `three` is joined to no other part", "three/left"]),
        ("claimed", claimed, &["one/right", "joint `hinge`", "joint `pin`", "two", "three"]),
        (
            "open",
            parts("arm", "far") + HINGE.replace("at = [1, 0]", "on = [[0, 0], [0, 0]]").as_str(),
            &["hinge", "open by", "1.000e-1 m"],
        ),
        (
            "key",
            parts("arm", "next").replace("model = \"next", "modell = \"next") + HINGE,
            &["modell", "did you mean `model`"],
        ),
        ("body", parts("arm", "next") + HINGE + "[body.x]\nmass = 1\n", &["[body]", "part"]),
    ];
    for (name, text, words) in cases {
        let message = told(name, &text);
        for word in words {
            assert!(message.contains(word), "{name}: `{word}` is not in\n{message}");
        }
    }
}
