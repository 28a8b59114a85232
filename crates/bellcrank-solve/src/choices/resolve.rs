//! From what was said, in a file and as arguments, to the options of a run.

use super::error::{ChoiceError, Origin, Suggestion, Why};
use super::formulation::FormulationKind;
use super::method::MethodName;
use super::options::Options;
use super::presets::Preset;
use super::table::{CHOICES, Choice, choice};
use super::words::{Coordinates, Solver, SrmTree};
use bellcrank_model::file::suggest;
use bellcrank_model::settings::{Given, Setting, Settings};

/// One option that was given a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The key of the option.
    pub key: String,
    /// The value.
    pub value: Given,
    /// Where it was said.
    pub origin: Origin,
}

impl Said {
    /// Said as an argument of a command or a call.
    pub fn argument(key: impl Into<String>, value: impl Into<Given>) -> Said {
        Said { key: key.into(), value: value.into(), origin: Origin::Argument }
    }

    fn in_file(setting: &Setting) -> Said {
        // a key that nobody knows is what the message is about, not its value
        let span = if choice(&setting.key).is_some() { setting.span } else { setting.key_span };
        Said { key: setting.key.clone(), value: setting.value.clone(), origin: Origin::File(span) }
    }

    fn is_argument(&self) -> bool {
        self.origin == Origin::Argument
    }
}

/// Everything that `[solve]` of a model file says.
pub fn in_file(settings: &Settings) -> Vec<Said> {
    settings.0.iter().map(Said::in_file).collect()
}

impl Options {
    /// The options that `[solve]` of a model file asks for.
    pub fn from_settings(settings: &Settings) -> Result<Options, ChoiceError> {
        resolve(&in_file(settings))
    }

    /// The options that arguments ask for, over those of `[solve]`.
    pub fn from_arguments(settings: &Settings, arguments: &[Said]) -> Result<Options, ChoiceError> {
        let mut said = in_file(settings);
        said.extend_from_slice(arguments);
        resolve(&said)
    }
}

/// The options of a run: arguments over what a file says, over the defaults.
///
/// ```
/// use bellcrank_solve::choices::{Said, Voice, resolve};
/// let options = resolve(&[Said::argument("method", "cs"), Said::argument("rtol", 1e-8)]).unwrap();
/// assert_eq!(options.method.name(), "bdf");
/// let e = resolve(&[Said::argument("max_order", 9usize)]).unwrap_err();
/// assert_eq!(e.reason(Voice::CommandLine), "BDF has the orders 1 to 5, found 9");
/// assert_eq!(e.help(Voice::CommandLine), ["use --max-order 5"]);
/// assert_eq!(e.help(Voice::Python), ["use `max_order=5`"]);
/// ```
pub fn resolve(said: &[Said]) -> Result<Options, ChoiceError> {
    let options = understood(said)?;
    let choices = Said::winners(said)?;
    let of = |key: &str| choices.iter().find(|(c, _)| c.key == key).map(|(_, s)| *s);
    let rules = || {
        fixed_or_controlled(&of)?;
        formulation_of_preset(&of, &options)?;
        parameters_of_others(&of, &options)?;
        recursion_in_cartesian(&of, &options)?;
        options.check()
    };
    match rules() {
        Ok(()) => Ok(options),
        Err(e) => Err(traced(e, said)),
    }
}

/// The options as they were said, whether or not they make sense: every key is known and every value of its kind.
pub fn understood(said: &[Said]) -> Result<Options, ChoiceError> {
    let mut options = Options::default();
    for (choice, said) in Said::winners(said)? {
        choice.apply(&mut options, &said.value).map_err(|why| {
            let example = Suggestion::to(choice.key, choice.example()).note(", for example");
            let instead = if matches!(why, Why::Kind(..)) { vec![example] } else { Vec::new() };
            ChoiceError { instead, origin: Some(said.origin), ..ChoiceError::because(choice.key, why) }
        })?;
    }
    Ok(options)
}

/// An error with the place where the choice was made; where something is missing, the method or the solver asks for it.
pub fn traced(error: ChoiceError, said: &[Said]) -> ChoiceError {
    let choices = Said::winners(said).unwrap_or_default();
    let of = |key: &&str| choices.iter().find(|(c, _)| c.key == *key).map(|(_, s)| s.origin);
    let origin = [&*error.key, "method", "solver"].iter().find_map(of);
    ChoiceError { origin: error.origin.or(origin), ..error }
}

/// Looks an option up among those that were said.
type Lookup<'s, 'f> = &'f dyn Fn(&str) -> Option<&'s Said>;

impl Said {
    /// What counts of all that was said, in the order of the table.
    fn winners(said: &[Said]) -> Result<Vec<(&'static Choice, &Said)>, ChoiceError> {
        if let Some(stranger) = said.iter().find(|s| choice(&s.key).is_none()) {
            let known: Vec<&str> = CHOICES.iter().map(|c| c.key).collect();
            let near = suggest::nearest(&stranger.key, known.iter().copied());
            let error = ChoiceError::because(stranger.key.clone(), Why::UnknownKey(near, known));
            return Err(ChoiceError { origin: Some(stranger.origin), ..error });
        }
        let last = |key: &str, argument: bool| said.iter().rfind(|s| s.key == key && s.is_argument() == argument);
        // `newmark` is a method and a preset, and as a method it leaves the rest to others
        let named = |key: &str| match &last(key, true)?.value {
            Given::Text { text, .. } => Preset::by_name(text).filter(|p| key == "preset" || p.name != p.method.name()),
            _ => None,
        };
        let preset = named("preset").or_else(|| named("method"));
        // what an argument chooses with other words, the file does not choose
        let overridden = |key: &str| match key {
            // a tolerance means error control, whatever step the file has
            "step" => last("rtol", true).is_some(),
            "method" | "formulation" | "preset" => preset.is_some(),
            "iteration" | "test" | "on" => preset.is_some_and(|p| p.newton.is_some()),
            _ => false,
        };
        let winner = |c: &'static Choice| {
            let winner = last(c.key, true).or_else(|| last(c.key, false).filter(|_| !overridden(c.key)));
            winner.map(|s| (c, s))
        };
        Ok(CHOICES.iter().filter_map(winner).collect())
    }
}

/// A step and a tolerance in one place contradict each other.
fn fixed_or_controlled(of: Lookup) -> Result<(), ChoiceError> {
    match (of("step"), of("rtol")) {
        (Some(step), Some(rtol)) if step.is_argument() == rtol.is_argument() => {
            let controlled = Suggestion::without("step").note(" for steps that the error chooses");
            let fixed = Suggestion::without("rtol").note(" for fixed ones");
            Err(ChoiceError::because("step", Why::Excluded("rtol")).instead(controlled).instead(fixed))
        }
        _ => Ok(()),
    }
}

/// A method that is named with its formulation does not run on another.
fn formulation_of_preset(of: Lookup, options: &Options) -> Result<(), ChoiceError> {
    let (Some(method), Some(_)) = (of("method"), of("formulation")) else { return Ok(()) };
    let Given::Text { text, .. } = &method.value else { return Ok(()) };
    match (Preset::by_name(text), options.formulation) {
        (Some(p), Some(f)) if p.name != p.method.name() && f != p.formulation => {
            let reason = format!("{} is {} on {}, not on {f}", p.name, p.method.name(), p.formulation);
            let error = ChoiceError::new("formulation", reason).try_without("formulation");
            Err(error.try_with("method", p.method.name()))
        }
        _ => Ok(()),
    }
}

/// Parameters of a method or a solver that was not chosen. A file may keep them for the method that arguments replace.
fn parameters_of_others(of: Lookup, o: &Options) -> Result<(), ChoiceError> {
    let method = |m: MethodName| o.method == m;
    let on = |f: &[FormulationKind]| o.formulation.is_some_and(|form| f.contains(&form));
    let additive = on(&[FormulationKind::Additive]);
    let of_tree = o.solver.regularizes() && o.parameters.srm_tree == SrmTree::Baumgarte;
    let closes = on(&[FormulationKind::Baumgarte, FormulationKind::Augmented]) || of_tree;
    let regularizes = |f: FormulationKind| o.solver.regularizes() || on(&[f]);
    let replaced = ["preset", "method", "formulation", "solver"].iter().any(|k| of(k).is_some_and(Said::is_argument));
    for (key, owner, name, fits) in [
        ("rho", "method", "gen-alpha", method(MethodName::GeneralizedAlpha) || method(MethodName::Auto)),
        ("alpha", "method", "hht", method(MethodName::Hht)),
        ("beta", "method", "newmark", method(MethodName::Newmark)),
        ("gamma", "method", "newmark", method(MethodName::Newmark)),
        ("b", "method", "hht-add", additive),
        ("epsilon", "solver", "srm", regularizes(FormulationKind::Park)),
        ("iterates", "solver", "srm", regularizes(FormulationKind::Augmented)),
        ("srm_tree", "solver", "srm", o.solver.regularizes()),
        ("srm_start", "solver", "srm", o.solver.regularizes()),
        ("baumgarte_alpha", "formulation", "baumgarte", closes),
        ("baumgarte_beta", "formulation", "baumgarte", closes),
        ("penalty", "formulation", "augmented", on(&[FormulationKind::Augmented])),
    ] {
        let meant = of(key).is_some_and(|s| s.is_argument() || !replaced);
        if meant && !fits {
            let not = match owner {
                "method" => o.method.name(),
                "formulation" => o.formulation_of(o.method).name(),
                _ => o.solver.name(),
            };
            let error = ChoiceError::because(key, Why::ParameterOf(name, not));
            return Err(error.try_without(key).try_with(owner, name));
        }
    }
    Ok(())
}

/// Recursion runs in relative coordinates; leaving them unsaid is fine, asking for others is not.
fn recursion_in_cartesian(of: Lookup, o: &Options) -> Result<(), ChoiceError> {
    if o.solver == Solver::Recursion && o.coordinates == Coordinates::Cartesian && of("coordinates").is_some() {
        let error = ChoiceError::new("solver", "recursion runs in relative coordinates, not in cartesian ones");
        return Err(error.try_with("coordinates", "relative").try_with("solver", "direct"));
    }
    Ok(())
}
