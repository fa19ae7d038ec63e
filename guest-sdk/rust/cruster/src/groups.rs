//! Checks that the activity groups of a workflow have distinct method names.
//!
//! A workflow finds its own methods first, then its groups' methods, in order. Of two methods with
//! one name the second would never be called, so this does not compile. A bound reports it, not a
//! panic in a constant, because the error of a bound names the author's types and their place in
//! the source.

use crate::definition::ActivityDefinition;
use crate::names::{after_last, equal};

/// Whether two lists have an activity with the same method name.
pub const fn meet(a: &[ActivityDefinition], b: &[ActivityDefinition]) -> bool {
    let mut i = 0;
    while i < a.len() {
        if has_method(b, method(a[i].origin)) {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether a list has an activity with a method of this name.
pub const fn has(list: &[ActivityDefinition], name: &str) -> bool {
    has_method(list, name.as_bytes())
}

const fn has_method(list: &[ActivityDefinition], name: &[u8]) -> bool {
    let mut i = 0;
    while i < list.len() {
        if equal(method(list[i].origin), name) {
            return true;
        }
        i += 1;
    }
    false
}

/// The method name: the part after the last `::` of the origin. The name of the activity may
/// differ.
const fn method(origin: &str) -> &[u8] {
    after_last(b':', origin)
}

/// Whether a name was found.
pub struct Found<const CLASH: bool>;

/// An indirection that keeps `Found<false>` out of error messages.
pub trait Nothing {}

impl Nothing for Found<false> {}

/// Two groups without a common name.
#[diagnostic::on_unimplemented(
    message = "the groups `{A}` and `{B}` have an activity with the same method name",
    label = "its activity could not be called",
    note = "rename the method in one of them; `#[activity(name = \"…\")]` keeps the name that the host knows"
)]
pub trait Apart<A, B> {}

#[diagnostic::do_not_recommend]
impl<A, B, T: Nothing> Apart<A, B> for T {}

/// A name that a group does not have.
#[diagnostic::on_unimplemented(
    message = "the group `{G}` has an activity with the same method name",
    label = "would hide that of the group",
    note = "rename this method; `#[activity(name = \"…\")]` keeps the name that the host knows"
)]
pub trait Free<G> {}

#[diagnostic::do_not_recommend]
impl<G, T: Nothing> Free<G> for T {}

/// Compiles if two groups have no name in common.
pub const fn groups_are_apart<A, B, const CLASH: bool>()
where
    Found<CLASH>: Apart<A, B>,
{
}

/// Compiles if a group does not have a name.
pub const fn name_is_free<G, const CLASH: bool>()
where
    Found<CLASH>: Free<G>,
{
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_what_origins_end_with() {
        for (origin, want) in [
            ("shop::Payments::charge", "charge"),
            ("a::b::C::d_e", "d_e"),
            ("plain", "plain"),
        ] {
            assert_eq!(method(origin), want.as_bytes());
        }
    }
}
