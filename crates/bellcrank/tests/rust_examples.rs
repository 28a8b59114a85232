//! The examples of the library run, and each asserts what it shows.

#[path = "../models/rust/controller.rs"]
mod controller;
#[path = "../models/rust/glued.rs"]
mod glued;
#[path = "../models/rust/own_equations.rs"]
mod own_equations;
#[path = "../models/rust/pendulum.rs"]
mod pendulum;
#[path = "../models/rust/record.rs"]
mod record;
#[path = "../models/rust/what_if.rs"]
mod what_if;

#[test]
fn a_pendulum_has_the_period_of_the_closed_form() {
    pendulum::main().unwrap();
}

#[test]
fn a_controller_holds_a_pole_upright() {
    controller::main().unwrap();
}

#[test]
fn a_recorder_sees_the_frames_of_a_run() {
    record::main().unwrap();
}

#[test]
fn a_run_goes_back_to_a_saved_state() {
    what_if::main().unwrap();
}

#[test]
fn equations_by_hand_run_with_every_method() {
    own_equations::main().unwrap();
}

#[test]
fn a_glued_machine_moves_as_the_whole() {
    glued::main().unwrap();
}
