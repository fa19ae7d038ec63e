//! The macros, on code as authors write it.
//!
//! Lints that could fire on generated code are errors here.
#![deny(
    missing_docs,
    unused,
    private_interfaces,
    clippy::all,
    clippy::pedantic
)]

mod definitions;
mod hygiene;
mod keys;
mod liberties;
mod runs;
mod schemas;
