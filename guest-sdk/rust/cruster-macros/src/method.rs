//! The methods of a block, and their roles.

use syn::{Ident, ImplItemFn};

use crate::activity::ActivityOptions;

/// The kind of a struct and its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Workflow,
    Group,
    Stateful,
    Entity,
    RpcGroup,
}

impl Kind {
    /// With an article, for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Kind::Workflow => "a workflow",
            Kind::Group => "an activity group",
            Kind::Stateful | Kind::Entity => "an entity",
            Kind::RpcGroup => "an RPC group",
        }
    }

    /// The attribute of the struct.
    pub(crate) fn on_struct(self) -> &'static str {
        match self {
            Kind::Workflow => "#[workflow]",
            Kind::Group => "#[activity_group]",
            Kind::Stateful => "#[stateful_entity]",
            Kind::Entity => "#[entity]",
            Kind::RpcGroup => "#[rpc_group]",
        }
    }

    /// The attribute of the `impl` block.
    pub(crate) fn on_block(self) -> &'static str {
        match self {
            Kind::Workflow => "#[workflow_impl]",
            Kind::Group => "#[activity_group_impl]",
            Kind::Stateful => "#[operations]",
            Kind::Entity => "#[entity_impl]",
            Kind::RpcGroup => "#[rpc_group_impl]",
        }
    }
}

/// The purpose of a method.
pub(crate) enum Role {
    /// The entry point of a workflow.
    Execute,
    /// A step with effects, and the contents of its attribute.
    Activity(Box<ActivityOptions>),
    /// Has `&self`, and is called by `execute` or, in a group, by activities.
    Helper,
    /// Has no `self`: stays on the struct.
    Associated,
}

/// A method with a role.
pub(crate) struct Method {
    pub(crate) role: Role,
    pub(crate) item: ImplItemFn,
    /// An error was reported about it. Its signature is still generated, so that code that
    /// uses it causes no follow-up errors; its body is not.
    pub(crate) broken: bool,
    /// Its signature can be generated.
    pub(crate) usable: bool,
}

impl Method {
    pub(crate) fn ident(&self) -> &Ident {
        &self.item.sig.ident
    }
}
