//! What the macros make of what authors write.
//!
//! Every lint that could blame an author for generated code is an error here.
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
