//! Options of solvers as flags of a command, made from the table of choices.

use bellcrank_solve::choices::{CHOICES, Choice, Said, Set};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::marker::PhantomData;
use std::sync::LazyLock;

/// Which options a command takes.
pub trait TakenFlags {
    /// Their keys.
    fn takes(key: &str) -> bool;
}

/// All of them.
#[derive(Default)]
pub struct All;

impl TakenFlags for All {
    fn takes(_: &str) -> bool {
        true
    }
}

/// The span of a motion and its samples.
#[derive(Default)]
pub struct SpanFlags;

impl TakenFlags for SpanFlags {
    fn takes(key: &str) -> bool {
        matches!(key, "until" | "sample")
    }
}

/// The end of runs alone.
#[derive(Default)]
pub struct End;

impl TakenFlags for End {
    fn takes(key: &str) -> bool {
        key == "until"
    }
}

/// What the flags of a command say.
#[derive(Default)]
pub struct Flags<T: TakenFlags>(pub Vec<Said>, PhantomData<T>);

impl<T: TakenFlags> Flags<T> {
    fn choices() -> impl Iterator<Item = &'static Choice> {
        CHOICES.iter().filter(|c| T::takes(c.key))
    }
}

/// Its key with dashes.
fn name(choice: &Choice) -> &'static str {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| CHOICES.iter().map(|c| c.key.replace('_', "-")).collect());
    CHOICES.iter().position(|c| c.key == choice.key).map_or("", |k| &NAMES[k])
}

fn flag(choice: &'static Choice) -> Arg {
    let number = !matches!(choice.set, Set::Word(..) | Set::Texts(_) | Set::Text(_));
    Arg::new(choice.key)
        .long(name(choice))
        .value_name(choice.placeholder)
        .help(choice.help())
        .allow_negative_numbers(number)
}

impl<T: TakenFlags> Args for Flags<T> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::choices().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: TakenFlags> FromArgMatches for Flags<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let said = |choice: &'static Choice| {
            let given = matches.value_source(choice.key) == Some(ValueSource::CommandLine);
            let text = matches.get_one::<String>(choice.key).filter(|_| given)?;
            Some(Said::argument(choice.key, text.as_str()))
        };
        Ok(Flags(Self::choices().filter_map(said).collect(), PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
