//! What authors read when they get it wrong.
//!
//! Every message is made by the macros themselves, so that it does not change with the
//! compiler. `TRYBUILD=overwrite cargo test --test ui` writes the expected output anew:
//! read it as an author would before committing it.

#[test]
fn errors_read_like_advice() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
