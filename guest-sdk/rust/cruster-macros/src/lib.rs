//! The attributes of the Cruster guest SDK.
//!
//! Use them through the crate `cruster`, which re-exports all of them. They expand to
//! code that uses its hidden parts, so the two crates have the same version.
#![deny(missing_docs)]

mod activity;
mod context;
mod duration;
mod expand_activity;
mod expand_group;
mod expand_workflow;
mod implementation;
mod method;
mod names;
mod options;
mod problems;
mod schema;
mod selfless;
mod serde_attrs;
mod signal;
mod signature;
mod structs;
mod workflow;

use method::Kind;
use proc_macro::TokenStream;

/// Makes a struct a workflow. Its `impl` block has [`macro@workflow_impl`].
///
/// A struct without fields gets a `Default`, unless it derives one below the attribute. A struct
/// with fields must implement it: every execution begins with the default value, and reads the
/// fields through `self`. Fields cannot change. Keep what a workflow has to remember in local
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
/// ```
/// # use cruster::prelude::*;
/// # #[derive(Serialize, Deserialize, Schema)]
/// # pub struct OrderRequest { order_id: String, items: Vec<String>, card: String }
/// # #[activity_group]
/// # pub struct Payments;
/// # #[activity_group_impl]
/// # impl Payments {
/// #     #[activity]
/// #     async fn charge(&self, card: String, cents: u64) -> Result<(), Error> { Ok(()) }
/// # }
/// # #[workflow]
/// # pub struct ProcessOrder;
/// #[workflow_impl(key = |request| request.order_id.clone(), hash = false, activity_groups(Payments))]
/// impl ProcessOrder {
///     async fn execute(&self, request: OrderRequest) -> Result<u64, Error> {
///         let reserved = self.reserve(request.items).await?;
///         self.charge(request.card, 100 * reserved).await?;
///         Ok(Self::parcels(reserved))
///     }
///
///     #[activity(retries = 3)]
///     async fn reserve(&self, items: Vec<String>) -> Result<u64, Error> {
///         let mut reserved = 0;
///         for item in items {
///             reserved += self.transaction().execute("UPDATE stock SET reserved = true WHERE item = $1", (item,))?;
///         }
///         Ok(reserved)
///     }
///
///     fn parcels(items: u64) -> u64 {
///         items.div_ceil(8)
///     }
/// }
/// ```
///
/// | method | what it is |
/// | --- | --- |
/// | `async fn execute(&self, request)` | the workflow. It is replayed, so it makes only durable calls |
/// | with `#[activity]` | a step that may have effects; see [`macro@activity`] |
/// | with `&self` | a helper of `execute`, under the same rules |
/// | without `self` | an ordinary function that all of them may call: `Self::parcels(…)` |
///
/// | option | meaning |
/// | --- | --- |
/// | `key = \|request\| …` | the key of the execution: requests with the same key are one execution. Defaults to the whole request |
/// | `hash = false` | the key is used unchanged, and must be text: a `String` or a `&str`. Defaults to its SHA-256 |
/// | `activity_groups(A, B)` | groups whose activities `self` has too; method names must be distinct |
/// | `signals(A, B)` | the signals that it can be sent, types with [`macro@Signal`] |
/// | `name = "…"` | the name of the workflow. Defaults to that of the struct |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
///
/// The struct gets a function `client`, through which other workflows call it.
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
/// | `name = "…"` | the whole name of the activity. Defaults to that of the method |
/// | `key = \|a, b\| …` | the key of a call, computed from references to the parameters. Defaults to the hash of all of them |
///
/// Durations are whole numbers with units, `ns`, `us`, `ms`, `s`, `m`, `h` or `d`, as in `"1h30m"`.
#[proc_macro_attribute]
pub fn activity(_: TokenStream, item: TokenStream) -> TokenStream {
    structs::activity_outside(item.into()).into()
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
/// ```
/// # use cruster::prelude::*;
/// # #[activity_group]
/// # pub struct Payments;
/// #[activity_group_impl(retries = 5, timeout = "10s")]
/// impl Payments {
///     #[activity]
///     async fn charge(&self, card: String, cents: u64) -> Result<String, Error> {
///         let url = self.config("payments").unwrap_or_default();
///         let answer = self.http().post(url).body(format!("{card} {cents}")).send()?;
///         Ok(answer.error_for_status()?.text()?.to_string())
///     }
/// }
/// ```
///
/// The activity above is named `Payments.charge`. A workflow that lists the group in its
/// `activity_groups` calls it as `self.charge(card, cents)`.
///
/// | option | meaning |
/// | --- | --- |
/// | `retries`, `backoff`, `base`, `jitter`, `timeout` | the defaults of its activities |
/// | `name = "…"` | the first part of their names. Defaults to the name of the struct |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
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
/// | `name = "…"` | the name of the signal. Defaults to that of the type, in snake case |
/// | `crate = path` | the path of the SDK. Defaults to `::cruster` |
#[proc_macro_derive(Signal, attributes(signal))]
pub fn derive_signal(item: TokenStream) -> TokenStream {
    signal::expand(item.into()).into()
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
