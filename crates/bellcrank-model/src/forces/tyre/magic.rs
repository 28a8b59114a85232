//! The magic formula: pure slip, combined slip by cosine weights, from a file of coefficients.

use super::Slip;
use crate::dual::Dual;
use crate::file::bounded::Fault;
use crate::file::suggest::{nearest, quoted};

/// Names of coefficients with what holds where a file has none; a name without a number must be there.
macro_rules! coefficients {
    ($($(#[$doc:meta])* $section:literal { $($name:ident $key:literal $default:expr;)* })*) => {
        /// The coefficients of MF-Tyre 5.2 that this subset reads [Pacejka 2012, ch. 4].
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Coefficients { $($(
            #[doc = concat!("`", $key, "`")]
            pub $name: f64,
        )*)* }

        struct Entry {
            section: &'static str,
            key: &'static str,
            default: Option<f64>,
            place: fn(&mut Coefficients) -> &mut f64,
        }

        const TABLE: &[Entry] = &[$($(
            Entry { section: $section, key: $key, default: $default, place: |c| &mut c.$name },
        )*)*];
    };
}

const ONE: Option<f64> = Some(1.0);
const ZERO: Option<f64> = Some(0.0);

coefficients! {
    "DIMENSION" { radius "UNLOADED_RADIUS" None; }
    "VERTICAL" {
        nominal "FNOMIN" None; stiffness "VERTICAL_STIFFNESS" None; damping "VERTICAL_DAMPING" ZERO;
    }
    "SCALING_COEFFICIENTS" {
        lfzo "LFZO" ONE; lcx "LCX" ONE; lmux "LMUX" ONE; lex "LEX" ONE; lkx "LKX" ONE; lhx "LHX" ONE; lvx "LVX" ONE;
        lgax "LGAX" ONE; lcy "LCY" ONE; lmuy "LMUY" ONE; ley "LEY" ONE; lky "LKY" ONE; lhy "LHY" ONE; lvy "LVY" ONE;
        lgay "LGAY" ONE; lxal "LXAL" ONE; lyka "LYKA" ONE; lvyka "LVYKA" ONE;
    }
    "LONGITUDINAL_COEFFICIENTS" {
        pcx1 "PCX1" None; pdx1 "PDX1" None; pdx2 "PDX2" ZERO; pdx3 "PDX3" ZERO; pex1 "PEX1" ZERO; pex2 "PEX2" ZERO;
        pex3 "PEX3" ZERO; pex4 "PEX4" ZERO; pkx1 "PKX1" None; pkx2 "PKX2" ZERO; pkx3 "PKX3" ZERO; phx1 "PHX1" ZERO;
        phx2 "PHX2" ZERO; pvx1 "PVX1" ZERO; pvx2 "PVX2" ZERO; rbx1 "RBX1" None; rbx2 "RBX2" ZERO; rcx1 "RCX1" None;
        rex1 "REX1" ZERO; rex2 "REX2" ZERO; rhx1 "RHX1" ZERO; ptx1 "PTX1" ZERO; ptx2 "PTX2" ZERO; ptx3 "PTX3" ZERO;
    }
    "LATERAL_COEFFICIENTS" {
        pcy1 "PCY1" None; pdy1 "PDY1" None; pdy2 "PDY2" ZERO; pdy3 "PDY3" ZERO; pey1 "PEY1" ZERO; pey2 "PEY2" ZERO;
        pey3 "PEY3" ZERO; pey4 "PEY4" ZERO; pky1 "PKY1" None; pky2 "PKY2" None; pky3 "PKY3" ZERO; phy1 "PHY1" ZERO;
        phy2 "PHY2" ZERO; phy3 "PHY3" ZERO; pvy1 "PVY1" ZERO; pvy2 "PVY2" ZERO; pvy3 "PVY3" ZERO; pvy4 "PVY4" ZERO;
        rby1 "RBY1" None; rby2 "RBY2" ZERO; rby3 "RBY3" ZERO; rcy1 "RCY1" None; rey1 "REY1" ZERO; rey2 "REY2" ZERO;
        rhy1 "RHY1" ZERO; rhy2 "RHY2" ZERO; rvy1 "RVY1" ZERO; rvy2 "RVY2" ZERO; rvy3 "RVY3" ZERO; rvy4 "RVY4" ZERO;
        rvy5 "RVY5" ZERO; rvy6 "RVY6" ZERO; pty1 "PTY1" ZERO; pty2 "PTY2" ZERO;
    }
}

/// The units that a file may say it is in.
const UNITS: &[(&str, &[&str])] = &[
    ("LENGTH", &["meter", "metre", "m"]),
    ("FORCE", &["newton", "n"]),
    ("ANGLE", &["radians", "radian", "rad"]),
    ("MASS", &["kg", "kilogram"]),
    ("TIME", &["second", "sec", "s"]),
];

impl Coefficients {
    /// Reads a file: sections in brackets, `KEY = value`, comments behind `$` or `!`. Sections of other parts of the full
    /// model are passed over; in those that are read, every name must be known.
    pub fn parse(file: &str, text: &str) -> Result<Coefficients, Fault> {
        let shown = quoted(file);
        let mut out = Coefficients::default();
        let mut found = vec![false; TABLE.len()];
        let mut section = String::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split(['$', '!']).next().unwrap_or("").trim();
            let fault = |what: String, help: &str| Err((format!("line {} of {shown} {what}", number + 1), help.into()));
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                let Some(name) = name.strip_suffix(']') else {
                    return fault("begins a section and does not end it".into(), "close it with `]`");
                };
                section = name.trim().to_uppercase();
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                if ["SHAPE", "ALPHA"].iter().any(|s| section.starts_with(s)) {
                    continue; // tables of numbers that are not read
                }
                return fault("is neither a section nor `KEY = value`".into(), "comments begin with `$` or `!`");
            };
            let (key, value) = (key.trim().to_uppercase(), value.trim().trim_matches('\'').trim());
            if section == "UNITS" {
                let known = UNITS.iter().find(|(name, _)| *name == key);
                if known.is_some_and(|(_, words)| !words.contains(&value.to_lowercase().as_str())) {
                    let what = format!("has {} in {}", key.to_lowercase(), quoted(value));
                    return fault(what, "write the file in m, N, rad, kg and s");
                }
                continue;
            }
            if section == "MODEL" && key == "FITTYP" && !["5", "51", "52"].contains(&value) {
                let what = format!("says FITTYP = {value}: another magic formula");
                return fault(what, "the equations here are those of MF-Tyre 5.2: FITTYP = 5, 51 or 52");
            }
            let known = TABLE.iter().position(|e| e.key == key && e.section == section);
            match known {
                Some(_) if value.parse::<f64>().is_ok_and(f64::is_finite) => {}
                Some(_) => {
                    return fault(format!("gives {key} as {}, no number", quoted(value)), "write it like `1.65`");
                }
                None if section.ends_with("LONGITUDINAL_COEFFICIENTS") || section == "LATERAL_COEFFICIENTS" => {
                    let near = nearest(&key, TABLE.iter().filter(|e| e.section == section).map(|e| e.key));
                    let help = near.map_or("the book lists the coefficients that are read".into(), |n| {
                        format!("did you mean {n}? The book lists the coefficients that are read")
                    });
                    return fault(format!("has the unknown coefficient {key} in [{section}]"), &help);
                }
                None => {}
            }
            if let (Some(k), Ok(number)) = (known, value.parse::<f64>()) {
                *(TABLE[k].place)(&mut out) = number;
                found[k] = true;
            }
        }
        for (entry, _) in TABLE.iter().zip(&found).filter(|(_, found)| !**found) {
            let Some(default) = entry.default else {
                let help = format!("add `{} = …` under [{}]", entry.key, entry.section);
                return Err((format!("{shown} has no {}", entry.key), help));
            };
            *(entry.place)(&mut out) = default;
        }
        out.check(&shown)
    }

    fn check(self, shown: &str) -> Result<Coefficients, Fault> {
        let positive = [
            ("UNLOADED_RADIUS", self.radius),
            ("FNOMIN", self.nominal),
            ("VERTICAL_STIFFNESS", self.stiffness),
            ("PCX1", self.pcx1 * self.lcx),
            ("PDX1", self.pdx1 * self.lmux),
            ("PKX1", self.pkx1 * self.lkx),
            ("PCY1", self.pcy1 * self.lcy),
            ("PDY1", self.pdy1 * self.lmuy),
            ("PKY2", self.pky2 * self.lfzo),
        ];
        if let Some((key, value)) = positive.into_iter().find(|(_, value)| *value <= 0.0) {
            let help = "with its scaling factor it must be positive".to_string();
            return Err((format!("{key} of {shown} is {value}"), help));
        }
        if self.pky1 * self.lky >= 0.0 {
            let message = format!("PKY1 of {shown} is {}: the tyre would push the way it slips", self.pky1 * self.lky);
            let help = "here y points to the left, and a positive slip angle has a force to the right: PKY1 is negative. \
                        In files of the other convention change the signs of PKY1, PHY1 to PHY3, PEY3 and PEY4, RBY3";
            return Err((message, help.into()));
        }
        Ok(self)
    }

    /// F_x, F_y and M_z, which this subset leaves zero.
    pub fn forces<const N: usize>(&self, s: &Slip<N>) -> [Dual<N>; 3] {
        let c = self;
        let nominal = c.nominal * c.lfzo;
        let excess = (s.load - nominal) * (1.0 / nominal);
        let (kappa, alpha) = (s.kappa, s.tan_alpha.atan());
        let fx = self.along(s, excess)
            * weight(
                alpha,
                (kappa * c.rbx2).atan().cos() * (c.rbx1 * c.lxal),
                c.rcx1,
                excess * c.rex2 + c.rex1,
                Dual::constant(c.rhx1),
            );
        let (across, mu) = self.across(s, alpha, excess);
        let weighted = weight(
            kappa,
            ((alpha - c.rby3) * c.rby2).atan().cos() * (c.rby1 * c.lyka),
            c.rcy1,
            excess * c.rey2 + c.rey1,
            excess * c.rhy2 + c.rhy1,
        );
        let camber = s.sin_camber * c.lgay;
        let shear = mu * s.load * (excess * c.rvy2 + camber * c.rvy3 + c.rvy1) * (alpha * c.rvy4).atan().cos();
        let induced = shear * ((kappa * c.rvy6).atan() * c.rvy5).sin() * c.lvyka * s.rolling;
        [fx, across * weighted + induced, Dual::constant(0.0)]
    }

    /// F_x0 of pure longitudinal slip.
    fn along<const N: usize>(&self, s: &Slip<N>, excess: Dual<N>) -> Dual<N> {
        let c = self;
        let camber = s.sin_camber * c.lgax;
        let shift = (excess * c.phx2 + c.phx1) * c.lhx * s.rolling;
        let kappa = s.kappa + shift;
        let mu = (excess * c.pdx2 + c.pdx1) * (-(camber * camber * c.pdx3) + 1.0) * c.lmux;
        let e = (excess * excess * c.pex3 + excess * c.pex2 + c.pex1) * ((1.0 - c.pex4 * kappa.x.signum()) * c.lex);
        let shape = c.pcx1 * c.lcx;
        // B = K/(C D), with the load divided out
        let b = (excess * c.pkx2 + c.pkx1) * (excess * c.pkx3).exp() * c.lkx / (mu * shape);
        let level = (excess * c.pvx2 + c.pvx1) * (c.lvx * c.lmux) * s.rolling;
        s.load * (mu * magic(b * kappa, shape, e) + level)
    }

    /// F_y0 of pure lateral slip, and its coefficient of friction.
    fn across<const N: usize>(&self, s: &Slip<N>, alpha: Dual<N>, excess: Dual<N>) -> (Dual<N>, Dual<N>) {
        let c = self;
        let camber = s.sin_camber * c.lgay;
        let shift = ((excess * c.phy2 + c.phy1) * c.lhy + camber * c.phy3) * s.rolling;
        let alpha = alpha + shift;
        let mu = (excess * c.pdy2 + c.pdy1) * (-(camber * camber * c.pdy3) + 1.0) * c.lmuy;
        let sign = alpha.x.signum();
        let e = (excess * c.pey2 + c.pey1) * (camber * (-c.pey4 * sign) + (1.0 - c.pey3 * sign)) * c.ley;
        let shape = c.pcy1 * c.lcy;
        // K = PKY1 F_z0 sin(2 atan y), y = F_z/(PKY2 F_z0), is 2 PKY1/PKY2 F_z/(1 + y²)
        let y = s.load * (1.0 / (c.pky2 * c.nominal * c.lfzo));
        let per_load = Dual::constant(2.0 * c.pky1 / c.pky2 * c.lky) / (y * y + 1.0);
        let b = per_load * (-(camber.abs() * c.pky3) + 1.0) / (mu * shape);
        let level = ((excess * c.pvy2 + c.pvy1) * c.lvy + camber * (excess * c.pvy4 + c.pvy3)) * c.lmuy * s.rolling;
        (s.load * (mu * magic(b * alpha, shape, e) + level), mu)
    }
}

/// sin(C atan(x − E (x − atan x))).
fn magic<const N: usize>(x: Dual<N>, shape: f64, e: Dual<N>) -> Dual<N> {
    // beyond E = 1 the formula turns back
    let e = if e.x > 1.0 { Dual::constant(1.0) } else { e };
    ((x - e * (x - x.atan())).atan() * shape).sin()
}

/// G = cos(C atan(B s − E (B s − atan B s)))/cos(the same at the shift), s = slip + shift.
fn weight<const N: usize>(slip: Dual<N>, b: Dual<N>, shape: f64, e: Dual<N>, shift: Dual<N>) -> Dual<N> {
    let at = |x: Dual<N>| ((x - e * (x - x.atan())).atan() * shape).cos();
    at(b * (slip + shift)) / at(b * shift)
}
