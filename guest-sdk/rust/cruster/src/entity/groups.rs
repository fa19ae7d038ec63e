//! Checks that the RPC groups of an entity have distinct method names, as `crate::groups` does
//! for the activity groups of a workflow.

use crate::entity::OperationDefinition;
use crate::groups::{Found, Nothing};
use crate::names::{after_last, equal};

/// Whether two lists have an RPC with the same method name.
pub const fn rpcs_meet(a: &[OperationDefinition], b: &[OperationDefinition]) -> bool {
    let mut i = 0;
    while i < a.len() {
        if has_method(b, method(a[i].name)) {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether a list has an RPC with a method of this name.
pub const fn has_rpc(list: &[OperationDefinition], name: &str) -> bool {
    has_method(list, name.as_bytes())
}

const fn has_method(list: &[OperationDefinition], name: &[u8]) -> bool {
    let mut i = 0;
    while i < list.len() {
        if equal(method(list[i].name), name) {
            return true;
        }
        i += 1;
    }
    false
}

/// The method name: the part after the group's name and the dot behind it.
const fn method(operation: &str) -> &[u8] {
    after_last(b'.', operation)
}

/// Two groups without a common name.
#[diagnostic::on_unimplemented(
    message = "the groups `{A}` and `{B}` have an RPC with the same method name",
    label = "its RPC could not be called",
    note = "rename the method in one of them"
)]
pub trait RpcsApart<A, B> {}

#[diagnostic::do_not_recommend]
impl<A, B, T: Nothing> RpcsApart<A, B> for T {}

/// A name that a group does not have.
#[diagnostic::on_unimplemented(
    message = "the group `{G}` has an RPC with the same method name",
    label = "would hide that of the group",
    note = "rename this method"
)]
pub trait RpcFree<G> {}

#[diagnostic::do_not_recommend]
impl<G, T: Nothing> RpcFree<G> for T {}

/// Compiles if two groups have no name in common.
pub const fn rpc_groups_are_apart<A, B, const CLASH: bool>()
where
    Found<CLASH>: RpcsApart<A, B>,
{
}

/// Compiles if a group does not have a name.
pub const fn rpc_is_free<G, const CLASH: bool>()
where
    Found<CLASH>: RpcFree<G>,
{
}
