//! The advice for `state`, as an attribute and as an option, where there is none.

/// For workflows and activity groups.
pub(crate) const WORKFLOWS: &str = "workflows are stateless: a replay of the journal restores the local variables of `execute`\n\
     help: keep values in local variables, which survive every restart, and lasting data in the \
     database, through an activity";

/// For entities without a state.
pub(crate) const ENTITIES: &str = "entities are stateless; use a database, or #[stateful_entity]\n\
     help: `self.transaction()` in an RPC commits with its reply; `#[stateful_entity]` keeps a \
     struct for each id, saved with each operation";
