//! What authors read when they get it wrong.
//!
//! `TRYBUILD=overwrite cargo test --test ui` writes the expected output anew: read it as
//! an author would before committing it.

use std::process::Command;

#[test]
fn errors_read_like_advice() {
    let cases = trybuild::TestCases::new();
    // Made by the macros themselves, so that they are the same in every compiler. Begin
    // such cases in line 10 or later: compilers differ in how they pad the numbers.
    cases.compile_fail("tests/ui/*.rs");
    // Made by the compiler from bounds. The advice in it is ours, the frame around it is
    // not, and was another before this version.
    if minor_version_of_rustc() >= 95 {
        cases.compile_fail("tests/ui/bounds/*.rs");
    }
}

fn minor_version_of_rustc() -> u32 {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split('.').nth(1).unwrap().parse().unwrap()
}
