//! The compile errors that authors see.
//!
//! `TRYBUILD=overwrite cargo test --test ui` writes the expected output. Read it as an
//! author would before you commit it.

use std::process::Command;

#[test]
fn errors_read_like_advice() {
    let cases = trybuild::TestCases::new();
    // Errors of the macros, which are the same in every compiler. Begin such cases in
    // line 10 or later: compilers differ in how they pad line numbers.
    cases.compile_fail("tests/ui/*.rs");
    // Errors of bounds. The advice in them is ours; the text around it is the compiler's,
    // and differs before this version.
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
