//! Checks that the RPC groups of an entity have distinct names, as `crate::groups` does
//! for the activity groups of a workflow.

use crate::entity::OperationDefinition;
use crate::groups::{Found, Nothing};
use crate::names::same;

/// Whether two lists have an RPC of the same name.
pub const fn rpcs_meet(a: &[OperationDefinition], b: &[OperationDefinition]) -> bool {
    let mut i = 0;
    while i < a.len() {
        if has_rpc(b, a[i].name) {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether a list has an RPC of this name.
pub const fn has_rpc(list: &[OperationDefinition], name: &str) -> bool {
    let mut i = 0;
    while i < list.len() {
        if same(list[i].name, name) {
            return true;
        }
        i += 1;
    }
    false
}

/// Two groups without a common name.
#[diagnostic::on_unimplemented(
    message = "the groups `{A}` and `{B}` have an RPC of the same name",
    label = "its RPC could not be called",
    note = "rename the method in one of them"
)]
pub trait RpcsApart<A, B> {}

#[diagnostic::do_not_recommend]
impl<A, B, T: Nothing> RpcsApart<A, B> for T {}

/// A name that a group does not have.
#[diagnostic::on_unimplemented(
    message = "the group `{G}` has an RPC of the same name",
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
