//! The attributes of the Cruster guest SDK.
//!
//! Use them through the crate `cruster`, which re-exports all of them: what they
//! expand to is written against its hidden parts, and the two have the same version.
#![deny(missing_docs)]

mod activity;
mod context;
mod duration;
mod expand_activity;
mod expand_group;
mod expand_workflow;
mod implementation;
mod names;
mod options;
mod problems;
mod schema;
mod selfless;
mod serde_attrs;
mod signature;
mod structs;
mod workflow;

use implementation::Kind;
use proc_macro::TokenStream;

/// Makes a struct a workflow. Its `impl` block has [`macro@workflow_impl`].
///
/// A struct without fields gets a `Default`, unless it derives one below the attribute. A struct
/// with fields must have one: every execution begins with it, and the fields are there to
/// be read through `self`. They are no place to remember something: what a workflow
/// remembers are the local variables of `execute`.
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
/// | `async fn execute(&self, request)` | the workflow. It is replayed, so it only calls activities and what is durable |
/// | with `#[activity]` | a step that may have effects; see [`macro@activity`] |
/// | with `&self` | a helper of `execute`, under the same rules |
/// | without `self` | an ordinary function, for all of them: `Self::parcels(…)` |
///
/// | option | meaning |
/// | --- | --- |
/// | `key = \|request\| …` | which requests are the same execution; without it, equal requests are |
/// | `hash = false` | the key is used as it is, and must be text: a `String`, a `&str`; otherwise its hash is |
/// | `activity_groups(A, B)` | groups whose activities `self` has too; no two methods may have one name |
/// | `name = "…"` | the name of the workflow, if it is not that of the struct |
/// | `crate = path` | where the SDK is, if it is not `::cruster` |
///
/// The struct gets a function `client`, with which other workflows call it.
#[proc_macro_attribute]
pub fn workflow_impl(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand_workflow::expand(attribute.into(), item.into()).into()
}

/// Makes a method of a workflow or activity group an activity: a step with effects,
/// whose result is kept in the journal and never computed again.
///
/// `self` has SQL in a transaction, HTTP, configuration and real time there. Parameters
/// and result are stored: they are owned, and implement serde's traits and `Schema`.
///
/// In `execute` the activity is called like the method that it is; the call is a future
/// with options of its own: `self.reserve(items).retries(1).await?`.
///
/// | option | meaning |
/// | --- | --- |
/// | `retries = 3` | how many attempts may follow the first; none if it is not said |
/// | `backoff = "exponential"` | the delays between attempts double, or are `"constant"` |
/// | `base = "1s"` | the first delay |
/// | `jitter = 0.2` | the largest fraction by which a delay is shortened at random |
/// | `timeout = "30s"` | how long one attempt may take |
/// | `name = "…"` | the whole name of the activity, if it is not that of the method |
/// | `key = \|a, b\| …` | names a call by something else than all of its input, from references to the parameters |
///
/// Durations are whole numbers with units, `ns`, `us`, `ms`, `s`, `m`, `h` or `d`, as in `"1h30m"`.
#[proc_macro_attribute]
pub fn activity(_: TokenStream, item: TokenStream) -> TokenStream {
    structs::activity_outside(item.into()).into()
}

/// Makes a struct a group of activities, for several workflows to share. Its `impl`
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

/// The activities of a group. Methods without [`macro@activity`] are helpers of theirs.
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
/// | `retries`, `backoff`, `base`, `jitter`, `timeout` | for all activities that do not say otherwise |
/// | `name = "…"` | the first part of their names, if it is not that of the struct |
/// | `crate = path` | where the SDK is, if it is not `::cruster` |
#[proc_macro_attribute]
pub fn activity_group_impl(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand_group::expand(attribute.into(), item.into()).into()
}

/// Describes the values of a struct or enum, as serde writes them.
///
/// Of serde's attributes `rename`, `rename_all`, `alias`, `default`, `skip`,
/// `skip_serializing_if`, `flatten` and `transparent` are honoured. A field is required
/// unless it has a default, an alias, or may be left out. Enums without data are strings; all others, and fields with a
/// `with`, are anything, as is what has `#[schema(any)]`.
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
