//! Most tests of the SDK, in one program.

pub mod activities;
pub mod children;
pub mod deadlock;
pub mod deferreds;
pub mod due_order;
pub mod entities;
pub mod executor;
pub mod expanded;
pub mod given;
pub mod history;
pub mod http_types;
pub mod limits;
pub mod modules;
pub mod patched;
pub mod places;
pub mod published;
pub mod queries;
pub mod replays;
pub mod rpcs;
pub mod sections;
pub mod signals;
pub mod steps;
#[path = "structure/main.rs"]
pub mod structure;
pub mod unhurried;
pub mod updates;
pub mod values;
pub mod workflows;

/// A file that no program has would not be run.
#[test]
fn every_file_is_run() {
    let (here, cargo) = (include_str!("all.rs"), include_str!("../Cargo.toml"));
    for file in std::fs::read_dir("tests").unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            here.contains(&format!(" mod {name};"))
                || cargo.contains(&format!("name = \"{name}\"")),
            "{} is neither in tests/all.rs nor in Cargo.toml",
            path.display()
        );
    }
}
