//! The attributes of the Cruster guest SDK.
//!
//! Use them through the crate `cruster`, which re-exports all of them. They expand to
//! code that uses its hidden parts, so the two crates have the same version.
//!
//! The compiler takes attributes from the root of a crate only, so all of them are in this file.
//! Each hands its tokens to a module; the documentation of the large ones is in `docs`.
#![deny(missing_docs)]

mod activity;
mod context;
mod duration;
mod entity;
mod expand_activity;
mod expand_group;
mod expand_operations;
mod expand_workflow;
mod implementation;
mod messages;
mod method;
mod names;
mod operation;
mod operation_calls;
mod operations;
mod options;
mod parameters;
mod problems;
mod rpc;
mod rpc_block;
mod schema;
mod selfless;
mod serde_attrs;
mod signature;
mod stateless;
mod structs;
mod workflow;

use method::Kind;
use proc_macro::TokenStream;

/// Makes a struct a workflow. Its `impl` block has [`macro@workflow_impl`].
///
/// A struct without fields gets a `Default`, unless it derives one below the attribute. A struct
/// with fields must implement it: every execution begins with the default value, and reads the
/// fields through `self`. Fields cannot change. Keep a workflow's own values in local
/// variables of `execute`.
///
/// ```
/// use cruster::prelude::*;
///
/// #[workflow]
/// pub struct ProcessOrder;
/// ```
#[proc_macro_attribute]
pub fn workflow(attribute: TokenStream, item: TokenStream) -> TokenStream {
    structs::expand(Kind::Workflow, attribute.into(), item.into()).into()
}

/// The code of a workflow: `execute`, its activities, its helpers.
///
#[doc = include_str!("../docs/workflow_impl.md")]
#[proc_macro_attribute]
pub fn workflow_impl(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand_workflow::expand(attribute.into(), item.into()).into()
}

/// Makes a method of a workflow or activity group an activity: a step with effects,
/// whose result is stored in the journal and never computed again.
///
/// Its `self` has SQL in a transaction, HTTP, configuration and real time. Parameters
/// and result are stored, so they are owned and implement serde's traits and `Schema`.
///
/// `execute` calls the activity as a method. The call is a future whose options can be
/// changed: `self.reserve(items).retries(1).await?`.
///
/// | option | meaning |
/// | --- | --- |
/// | `retries = 3` | how many attempts may follow the first. Defaults to 0 |
/// | `backoff = "exponential"` | the delays between attempts double, or are `"constant"` |
/// | `base = "1s"` | the first delay |
/// | `jitter = 0.2` | the largest fraction by which a delay is shortened at random |
/// | `timeout = "30s"` | how long one attempt may take |
/// | `name = "…"` | the whole name of the activity. Defaults to the method's |
/// | `key = \|a, b\| …` | the key of a call, computed from references to the parameters. Defaults to the hash of all of them |
///
/// Durations are whole numbers with units, `ns`, `us`, `ms`, `s`, `m`, `h` or `d`, as in `"1h30m"`.
#[proc_macro_attribute]
pub fn activity(_: TokenStream, item: TokenStream) -> TokenStream {
    let text = "put `#[activity]` on a method inside a `#[workflow_impl]` or `#[activity_group_impl]` block";
    structs::outside(text, item.into()).into()
}

/// Makes a struct a group of activities that several workflows share. Its `impl`
/// block has [`macro@activity_group_impl`].
///
/// ```
/// use cruster::prelude::*;
///
/// #[activity_group]
/// pub struct Payments;
/// ```
#[proc_macro_attribute]
pub fn activity_group(attribute: TokenStream, item: TokenStream) -> TokenStream {
    structs::expand(Kind::Group, attribute.into(), item.into()).into()
}

/// The activities of a group. Methods without [`macro@activity`] are their helpers.
///
#[doc = include_str!("../docs/activity_group_impl.md")]
#[proc_macro_attribute]
pub fn activity_group_impl(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand_group::expand(attribute.into(), item.into()).into()
}

/// Makes a type a signal: a message that a running workflow can be sent, if it lists the
/// type in its `signals`.
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema, Signal)]
/// #[signal(name = "paid")]
/// pub struct Payment {
///     pub cents: u64,
/// }
/// ```
///
/// | option | meaning |
/// | --- | --- |
/// | `name = "…"` | the name of the signal. Defaults to the type's, in snake case |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
#[proc_macro_derive(Signal, attributes(signal))]
pub fn derive_signal(item: TokenStream) -> TokenStream {
    messages::signal(item.into()).into()
}

/// Makes a type a query: a question that a running workflow answers, if it lists the type in
/// its `queries`. The value of the type is the query's input.
///
/// ```
/// use cruster::prelude::*;
///
/// /// Which files were not imported yet?
/// #[derive(Serialize, Deserialize, Schema, Query)]
/// #[query(answer = Vec<String>)]
/// pub struct FilesLeft {
///     pub at_most: usize,
/// }
/// ```
///
/// | option | meaning |
/// | --- | --- |
/// | `answer = Type` | the type of the answer |
/// | `name = "…"` | the name of the query. Defaults to the type's, in snake case |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
#[proc_macro_derive(Query, attributes(query))]
pub fn derive_query(item: TokenStream) -> TokenStream {
    messages::query(item.into()).into()
}

/// Makes a type an update: a request that changes a running workflow and is answered, if the
/// workflow lists the type in its `updates`. The value of the type is the update's request.
///
/// ```
/// use cruster::prelude::*;
///
/// /// Renames the document, and answers with the old name.
/// #[derive(Serialize, Deserialize, Schema, Update)]
/// #[update(answer = String)]
/// pub struct Rename {
///     pub to: String,
/// }
/// ```
///
/// | option | meaning |
/// | --- | --- |
/// | `answer = Type` | the type of the answer |
/// | `validated` | the workflow may refuse it before it is sent |
/// | `name = "…"` | the name of the update. Defaults to the type's, in snake case |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
#[proc_macro_derive(Update, attributes(update))]
pub fn derive_update(item: TokenStream) -> TokenStream {
    messages::update(item.into()).into()
}

/// Makes a type a value that workflows publish, if they list the type in their `state`.
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema, State)]
/// #[state(name = "items_left")]
/// pub struct Left(u32);
/// ```
///
/// | option | meaning |
/// | --- | --- |
/// | `name = "…"` | the name of the value. Defaults to the type's, in snake case |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(item: TokenStream) -> TokenStream {
    messages::state(item.into()).into()
}

/// Makes a struct with one unnamed field an attribute, by which the executions of workflows are
/// found that list it in their `attributes`.
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Attribute)]
/// pub struct Customer(pub String);
/// ```
///
/// | option | meaning |
/// | --- | --- |
/// | `name = "…"` | the name of the attribute. Defaults to the type's, in snake case |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
#[proc_macro_derive(Attribute, attributes(attribute))]
pub fn derive_attribute(item: TokenStream) -> TokenStream {
    messages::attribute(item.into()).into()
}

/// Makes a struct an entity without a state: a thing with an id that is reached by calls
/// and keeps its data in the database. Its `impl` block has [`macro@entity_impl`].
///
/// ```
/// use cruster::prelude::*;
///
/// #[entity(name = "Gateway", mailbox_capacity = 50, concurrency = 4)]
/// pub struct UserGateway;
/// ```
///
/// | option | meaning |
/// | --- | --- |
/// | `name = "…"` | the name of the type of entity. Defaults to the struct's |
/// | `mailbox_capacity = 50` | how many calls of one entity may wait |
/// | `concurrency = 4` | how many calls of one entity run at the same time. Defaults to one |
/// | `max_idle_time_secs = 120` | how long an entity without calls stays in memory |
/// | `shard_group = "…"` | the hosts that serve it |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
#[proc_macro_attribute]
pub fn entity(attribute: TokenStream, item: TokenStream) -> TokenStream {
    entity::expand(Kind::Entity, attribute.into(), item.into()).into()
}

/// The RPCs of an entity without a state.
///
#[doc = include_str!("../docs/entity_impl.md")]
#[proc_macro_attribute]
pub fn entity_impl(attribute: TokenStream, item: TokenStream) -> TokenStream {
    rpc::expand(Kind::Entity, attribute.into(), item.into()).into()
}

/// Makes a method of an entity without a state, or of an RPC group, an RPC.
///
/// A plain `#[rpc]` is made as well as it can be: for reads. One with `#[rpc(persisted)]` is
/// saved before it runs, and runs until it has an outcome. See [`macro@entity_impl`].
#[proc_macro_attribute]
pub fn rpc(_: TokenStream, item: TokenStream) -> TokenStream {
    let text = "put `#[rpc]` on a method inside an `#[entity_impl]` or `#[rpc_group_impl]` block";
    structs::outside(text, item.into()).into()
}

/// Makes a struct a group of RPCs that several entities share. Its `impl` block has
/// [`macro@rpc_group_impl`].
#[proc_macro_attribute]
pub fn rpc_group(attribute: TokenStream, item: TokenStream) -> TokenStream {
    structs::expand(Kind::RpcGroup, attribute.into(), item.into()).into()
}

/// The RPCs of a group, written as in an [entity](macro@entity_impl).
///
#[doc = include_str!("../docs/rpc_group_impl.md")]
#[proc_macro_attribute]
pub fn rpc_group_impl(attribute: TokenStream, item: TokenStream) -> TokenStream {
    rpc::expand(Kind::RpcGroup, attribute.into(), item.into()).into()
}

/// Makes a struct the state of an entity: of each id there is one, which the host keeps.
/// Its `impl` block has [`macro@operations`].
///
#[doc = include_str!("../docs/stateful_entity.md")]
#[proc_macro_attribute]
pub fn stateful_entity(attribute: TokenStream, item: TokenStream) -> TokenStream {
    entity::expand(Kind::Stateful, attribute.into(), item.into()).into()
}

/// The operations of an entity with a state: the methods with `self`.
///
#[doc = include_str!("../docs/operations.md")]
#[proc_macro_attribute]
pub fn operations(attribute: TokenStream, item: TokenStream) -> TokenStream {
    operations::expand(attribute.into(), item.into()).into()
}

/// Says that an operation of an entity with a state does not change it. It takes `&self`, and
/// runs beside others and without a commit. See [`macro@operations`].
#[proc_macro_attribute]
pub fn read_only(_: TokenStream, item: TokenStream) -> TokenStream {
    let text = "put `#[read_only]` on a method inside an `#[operations]` block";
    structs::outside(text, item.into()).into()
}

/// Describes the values of a struct or enum, as serde writes them.
///
/// Of serde's attributes `rename`, `rename_all`, `alias`, `default`, `skip`,
/// `skip_serializing_if`, `flatten` and `transparent` are honoured. A field is required
/// unless it has a default, an alias, or may be left out. Enums without data are strings. Other enums, fields with a
/// `with`, and types and fields with `#[schema(any)]` may hold any value.
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema)]
/// pub struct OrderRequest {
///     pub order_id: String,
///     #[serde(default, skip_serializing_if = "Option::is_none")]
///     pub note: Option<String>,
/// }
/// ```
#[proc_macro_derive(Schema, attributes(schema, serde))]
pub fn derive_schema(item: TokenStream) -> TokenStream {
    schema::expand(item.into()).into()
}
