//! The published protocol and the messages of the program are the same.

/// Message, field, number and type of a `.proto`.
fn published() -> Vec<[String; 4]> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/proto/bellcrank/part/v1/part.proto"));
    let (mut out, mut message) = (Vec::new(), String::new());
    for line in text.lines().map(str::trim).filter(|l| !l.starts_with("//")) {
        let words: Vec<&str> = line.trim_end_matches(';').split_whitespace().collect();
        match words[..] {
            ["message", name, ..] => message = name.to_string(),
            ["repeated", kind, name, "=", number] => {
                out.push([message.clone(), name.into(), number.into(), format!("repeated {kind}")]);
            }
            [kind, name, "=", number] if !message.is_empty() => {
                out.push([message.clone(), name.into(), number.into(), kind.into()]);
            }
            _ => {}
        }
    }
    out
}

/// The same of the source.
fn written() -> Vec<[String; 4]> {
    let text = include_str!("../../src/wire.rs");
    let (mut out, mut message, mut how) = (Vec::new(), String::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("pub enum ") {
            message = if name.starts_with("RequestKind") { "Request" } else { "Reply" }.to_string();
        } else if line.starts_with("#[prost(") {
            how = line.to_string();
        } else if let Some(name) = line.strip_suffix(" {").filter(|n| n.chars().all(char::is_alphanumeric)) {
            message = name.to_string();
        } else if !how.is_empty() && !how.contains("oneof") {
            let (field, kind) = match line.split_once(": ") {
                Some((field, kind)) => (field.to_string(), kind),
                None => line.split_once('(').map(|(name, kind)| (name.to_lowercase(), kind)).unwrap(),
            };
            let number = how.split("tag = \"").nth(1).unwrap().split('"').next().unwrap();
            let kind = kind.trim_end_matches([',', ')']);
            let named = kind.trim_start_matches("Option<").trim_start_matches("Vec<").trim_end_matches('>');
            let scalar = how["#[prost(".len()..].split([',', ' ']).next().unwrap();
            let kind = if scalar == "message" { named } else { scalar };
            let kind = if how.contains("repeated") { format!("repeated {kind}") } else { kind.to_string() };
            out.push([message.clone(), field, number.into(), kind]);
            how.clear();
        } else {
            how.clear();
        }
    }
    out
}

#[test]
fn the_program_speaks_the_published_protocol() {
    let (mut published, mut written) = (published(), written());
    assert!(published.len() > 50, "{}", published.len());
    published.sort();
    written.sort();
    assert_eq!(published, written);
}
