//! Units of variables as the standard wants them: exponents of base units.

/// Base units in the order of the exponents below.
const BASE: [&str; 4] = ["kg", "m", "s", "rad"];

/// Symbols that units are made of.
const SYMBOLS: [(&str, [i32; 4]); 9] = [
    ("kg", [1, 0, 0, 0]),
    ("m", [0, 1, 0, 0]),
    ("s", [0, 0, 1, 0]),
    ("rad", [0, 0, 0, 1]),
    ("N", [1, 1, -2, 0]),
    ("J", [1, 2, -2, 0]),
    ("W", [1, 2, -3, 0]),
    ("Hz", [0, 0, -1, 0]),
    ("Pa", [1, -1, -2, 0]),
];

/// The exponents of the base units of a unit such as `N m/rad`; none where it has other symbols.
fn exponents(unit: &str) -> Option<[i32; 4]> {
    let mut sum = [0; 4];
    for (place, part) in unit.split('/').enumerate() {
        for symbol in part.split([' ', '·', '.', '*']).filter(|symbol| !symbol.is_empty() && *symbol != "1") {
            let (symbol, power) = match symbol.strip_suffix('²').or(symbol.strip_suffix("^2")) {
                Some(symbol) => (symbol, 2),
                None => match symbol.strip_suffix('³').or(symbol.strip_suffix("^3")) {
                    Some(symbol) => (symbol, 3),
                    None => (symbol, 1),
                },
            };
            let (_, of) = SYMBOLS.iter().find(|(known, _)| *known == symbol)?;
            let sign = if place == 0 { power } else { -power };
            sum.iter_mut().zip(of).for_each(|(sum, of)| *sum += sign * of);
        }
    }
    Some(sum)
}

/// The element `BaseUnit` of a unit; empty where it has symbols that are not SI.
pub fn base_unit(unit: &str) -> String {
    let Some(exponents) = exponents(unit) else { return String::new() };
    let powers = BASE.iter().zip(exponents).filter(|(_, e)| *e != 0).map(|(base, e)| format!(" {base}=\"{e}\""));
    let powers: String = powers.collect();
    if powers.is_empty() { String::new() } else { format!("<BaseUnit{powers}/>") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_as_exponents_of_base_units() {
        assert_eq!(base_unit("m/s²"), "<BaseUnit m=\"1\" s=\"-2\"/>");
        assert_eq!(base_unit("N m"), "<BaseUnit kg=\"1\" m=\"2\" s=\"-2\"/>");
        assert_eq!(base_unit("N m/rad"), "<BaseUnit kg=\"1\" m=\"2\" s=\"-2\" rad=\"-1\"/>");
        assert_eq!(base_unit("°C"), "");
        assert_eq!(base_unit(""), "");
    }
}
