//! Helps for wrong names: how they are shown, what they may have meant, what there is to choose from.

/// Other words for the same thing, as other programs and textbooks have them.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("body", &["bodies", "part", "parts", "link", "links"]),
    ("joint", &["joints", "constraint", "constraints"]),
    ("force", &["forces", "load", "loads"]),
    ("revolute", &["hinge", "pin", "rotational", "bearing"]),
    ("prismatic", &["slider", "translational", "slide", "rail"]),
    ("spherical", &["ball", "ball-joint", "socket"]),
    ("universal", &["cardan", "hooke"]),
    ("fixed", &["weld", "rigid", "clamp"]),
    ("distance", &["rod", "link"]),
    ("drive", &["motor", "motion", "driver"]),
    ("spring-damper", &["spring", "damper", "tsda"]),
    ("torsional-spring-damper", &["torsion", "rotational-spring", "rsda"]),
    ("between", &["bodies", "connects", "body1", "body2"]),
    ("at", &["pos", "position", "location", "point", "origin", "r"]),
    ("mass", &["m", "weight"]),
    ("inertia", &["j", "i", "moment"]),
    ("stiffness", &["k", "rate", "spring"]),
    ("damping", &["c", "d", "damper"]),
    ("length", &["l", "l0", "rest", "free_length"]),
    ("velocity", &["v", "speed"]),
    ("angular_velocity", &["omega", "w"]),
    ("until", &["t_end", "tend", "end", "duration"]),
    ("step", &["h", "dt"]),
];

/// Among the candidates the one that `name` is most likely a slip of, if any is near.
///
/// Letters in another case are nearest; otherwise up to a third of the letters may be wrong
/// (Damerau–Levenshtein distance), so that one-letter names are never taken for each other. Where nothing is
/// near, it may be another word for the same.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = name.chars().take(100).count();
    if length == 0 || length == 100 {
        return None;
    }
    let mut best: Option<(usize, f64, &str)> = None;
    let lower = name.to_lowercase();
    let means = |candidate: &str| SYNONYMS.iter().any(|(word, of)| *word == candidate && of.contains(&lower.as_str()));
    let mut synonym = None;
    for candidate in candidates {
        if synonym.is_none() && means(candidate) {
            synonym = Some(candidate);
        }
        if candidate == name || candidate.len() > 400 {
            continue;
        }
        let other = candidate.chars().count();
        let allowed = match length.max(other) {
            1 => 0,
            n => (n / 3).max(1),
        };
        let same = candidate.to_lowercase() == lower;
        if !same && length.abs_diff(other) > allowed {
            continue;
        }
        let distance = if same { 0 } else { strsim::damerau_levenshtein(name, candidate) };
        let likeness = strsim::jaro_winkler(name, candidate);
        let better = best.is_none_or(|(d, l, _)| distance < d || (distance == d && likeness > l));
        if distance <= allowed.min(4) && better {
            best = Some((distance, likeness, candidate));
        }
    }
    best.map(|(_, _, candidate)| candidate).or(synonym)
}

/// A name between backticks, cut if it is very long.
pub fn quoted(name: &str) -> String {
    const LONGEST: usize = 60;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &name[..end]),
        None => format!("`{name}`"),
    }
}

/// `a, b, c`, cut after a dozen.
pub fn list<'c>(names: impl IntoIterator<Item = &'c str>) -> String {
    const LISTED: usize = 12;
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(LISTED).map(|n| quoted(n).trim_matches('`').to_string()).collect();
    match names.count() {
        0 => {}
        more => shown.push(format!("and {more} more")),
    }
    shown.join(", ")
}

/// `one thing`, `2 things`.
pub fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_what_was_meant_and_strangers_do_not() {
        let keys = ["between", "at", "on", "stiffness", "damping", "length", "k", "L1"];
        let near = |name| nearest(name, keys);
        assert_eq!(near("stifness"), Some("stiffness"));
        assert_eq!(near("Stiffness"), Some("stiffness"));
        assert_eq!(near("lenght"), Some("length"));
        assert_eq!(near("K"), Some("k"));
        assert_eq!(near("L"), Some("L1"));
        assert_eq!(nearest("c", ["stiffness", "damping"]), Some("damping"));
        assert_eq!(nearest("hinge", ["fixed", "revolute"]), Some("revolute"));
        assert_eq!(nearest("bodies", ["model", "body", "joint"]), Some("body"));
        assert_eq!(near("x"), None);
        assert_eq!(near("colour"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"a".repeat(5000)), None);
    }
}
