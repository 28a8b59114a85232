//! The program: see [`bellcrank::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    bellcrank::cli::main(std::env::args_os())
}
