mod progress;

fn main() {}
