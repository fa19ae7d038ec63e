//! The state of a workflow visible from outside: its state, its attributes, its progress.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::codes::{self, Code};
use crate::context::WorkflowContext;
use crate::declared::{AttributeDefinition, StateDefinition};
use crate::error::{Error, Result};
use crate::executor::{ContextCore, Publisher, answering, publisher::put};
use crate::host::{Call, PUBLISH};
use crate::names;
use crate::payload;
use crate::schema::Schema;
use crate::timestamp::Timestamp;
use crate::value::Value;
use crate::wire::{self, Wire};
use crate::workflow::Workflow;

/// How long the text of an attribute may be, and the note of a progress.
const MAX_TEXT: usize = 256;

/// A value that a workflow publishes, for others to read at any time, also after its end.
/// Derive it beside serde's traits.
///
/// A workflow lists the values it [publishes](WorkflowContext::publish). Reading them costs the
/// workflow nothing, unlike a [query](crate::Query), which wakes it.
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema, State)]
/// #[serde(rename_all = "snake_case")]
/// pub enum Stage {
///     Packing,
///     Shipped,
/// }
///
/// /// Orders are found by it.
/// #[derive(Serialize, Deserialize, Attribute)]
/// pub struct Customer(String);
///
/// #[workflow]
/// pub struct Order;
///
/// #[workflow_impl(state(Stage), attributes(Customer))]
/// impl Order {
///     async fn execute(&self, customer: String) -> Result<(), Error> {
///         self.publish((Stage::Packing, Customer(customer)))?;
///         self.sleep(Duration::from_secs(3600)).await?;
///         self.publish(Stage::Shipped)
///     }
/// }
/// ```
///
/// Its name is the type's in snake case, `stage` for `Stage`; `#[state(name = "…")]` gives it
/// another.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state of workflows",
    note = "derive it beside serde's traits: #[derive(Serialize, Deserialize, Schema, State)]"
)]
pub trait State: Serialize + DeserializeOwned + Schema + Part + 'static {
    /// Its name.
    const NAME: &'static str;
    /// The entry in the manifest.
    #[doc(hidden)]
    const DEFINITION: StateDefinition = {
        names::check("the name of a state", Self::NAME);
        StateDefinition {
            name: Self::NAME,
            value: Self::schema,
            info: StateDefinition::describe,
        }
    };
}

/// A value by which executions are found. Derive it on a struct with one unnamed field, of a
/// [type](AttributeValue) that can be compared.
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Attribute)]
/// pub struct Amount(f64);
/// ```
///
/// Its name is the type's in snake case; `#[attribute(name = "…")]` gives it another.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an attribute of workflows",
    note = "derive it on a struct with one field: #[derive(Attribute)]"
)]
pub trait Attribute: Part + 'static {
    /// Its value.
    type Value: AttributeValue;
    /// Its name.
    const NAME: &'static str;
    /// The entry in the manifest.
    #[doc(hidden)]
    const DEFINITION: AttributeDefinition = {
        names::check("the name of an attribute", Self::NAME);
        AttributeDefinition {
            name: Self::NAME,
            kind: <Self::Value as AttributeValue>::TYPE,
            info: AttributeDefinition::describe,
        }
    };
}

/// The types of attributes: text, numbers, `bool` and [`Timestamp`].
#[diagnostic::on_unimplemented(
    message = "an attribute cannot be `{Self}`",
    label = "executions are found by text, a number, a bool or a time",
    note = "it holds a `String`, an integer of up to 64 bits, an `f64` or `f32`, a `bool` or a `Timestamp`"
)]
pub trait AttributeValue: Serialize {
    /// Its name in the manifest.
    #[doc(hidden)]
    const TYPE: &'static str;
}

macro_rules! attribute_values {
    ($($name:literal: $($ty:ty)+;)*) => {
        $($(
            impl AttributeValue for $ty {
                const TYPE: &'static str = $name;
            }
        )+)*
    };
}

attribute_values! {
    "text": String;
    "number": i8 i16 i32 i64 u8 u16 u32 u64 isize usize f32 f64;
    "bool": bool;
    "time": Timestamp;
}

/// How far a workflow is, for people.
///
/// ```
/// # use cruster::prelude::*;
/// # use cruster::Progress;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, files: Vec<String>) -> Result<(), Error> {
///     for (done, file) in files.iter().enumerate() {
///         self.publish(Progress::of(done as u64, files.len() as u64).note(file))?;
///         self.sleep(Duration::from_secs(60)).await?;
///     }
///     Ok(())
/// }
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    done: u64,
    total: u64,
    note: String,
}

impl Progress {
    /// So much is done of so much. A total of 0 means that it is not known.
    #[must_use]
    pub fn of(done: u64, total: u64) -> Self {
        let note = String::new();
        Progress { done, total, note }
    }

    /// Adds words, at most 256 bytes.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// Something that a workflow can publish: a [`State`], an [`Attribute`], its [`Progress`], or a
/// tuple of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be published",
    label = "this is neither a state, nor an attribute, nor a `Progress`",
    note = "derive it: #[derive(Serialize, Deserialize, Schema, State)], or #[derive(Attribute)]"
)]
pub trait Part {
    /// Adds it to the published values.
    #[doc(hidden)]
    fn add(&self, to: &mut Publication) -> Result<()>;
    /// Takes the name away.
    #[doc(hidden)]
    fn remove(from: &mut Publication);
}

impl Part for Progress {
    fn add(&self, to: &mut Publication) -> Result<()> {
        let Progress { done, total, note } = self.clone();
        to.0.progress = Some(Box::new(wire::Progress { done, note, total }));
        Ok(())
    }

    fn remove(from: &mut Publication) {
        from.0.progress = Some(Box::default());
    }
}

/// A workflow that publishes something. `#[workflow_impl(state(…), attributes(…))]` implements
/// it.
#[diagnostic::on_unimplemented(
    message = "the workflow `{Self}` does not publish `{P}`",
    label = "no one could read it",
    note = "list what a workflow publishes: #[workflow_impl(state({P}))], or #[workflow_impl(attributes({P}))]"
)]
pub trait Publishes<P>: Workflow {}

impl<W: Workflow> Publishes<Progress> for W {}

/// The values published with one step.
#[derive(Default)]
pub struct Publication(wire::Publish);

impl Publication {
    /// Adds a state; for macros.
    #[doc(hidden)]
    pub fn state<S: State>(&mut self, state: Option<&S>) -> Result<()> {
        let what = format_args!("the state {}", S::NAME);
        let value = state.map(|state| payload::encode(what, state));
        put(&mut self.0.state, published(S::NAME, value.transpose()?));
        Ok(())
    }

    /// Adds an attribute; for macros.
    #[doc(hidden)]
    pub fn attribute<A: Attribute>(&mut self, attribute: Option<&A::Value>) -> Result<()> {
        let what = format_args!("the attribute {}", A::NAME);
        let value = attribute.map(|value| payload::encode(what, value));
        put(
            &mut self.0.attributes,
            published(A::NAME, value.transpose()?),
        );
        Ok(())
    }
}

fn published(name: &str, value: wire::Binary) -> wire::Published {
    let name = name.to_owned();
    wire::Published { name, value }
}

macro_rules! tuples {
    ($(($($part:ident)+))*) => {
        $(
            impl<$($part: Part),+> Part for ($($part,)+) {
                fn add(&self, to: &mut Publication) -> Result<()> {
                    #[allow(non_snake_case)]
                    let ($($part,)+) = self;
                    $($part.add(to)?;)+
                    Ok(())
                }

                fn remove(from: &mut Publication) {
                    $($part::remove(from);)+
                }
            }

            impl<W: Workflow $(+ Publishes<$part>)+, $($part),+> Publishes<($($part,)+)> for W {}
        )*
    };
}

tuples! { (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }

impl<W> WorkflowContext<W> {
    /// Publishes a value, or several as a tuple: state that others read of the execution, and
    /// attributes it is found by. It does not wait: others see it once the workflow waits for
    /// something, or has ended. Changes until then are written together.
    ///
    /// It fails, and publishes nothing, if a value does not encode, if all state together has
    /// more than 64 KiB, if a text or a note has more than 256 bytes or a control character, and
    /// if a number is not finite.
    pub fn publish<P: Part>(&self, value: P) -> Result<()>
    where
        W: Publishes<P>,
    {
        let mut publication = Publication::default();
        value.add(&mut publication)?;
        self.core().publish(&PUBLISH, publication.0)
    }

    /// Takes back a published value, as if it had never been: `self.retract::<Stage>()?`.
    pub fn retract<P: Part>(&self) -> Result<()>
    where
        W: Publishes<P>,
    {
        let mut publication = Publication::default();
        P::remove(&mut publication);
        self.core().publish(&PUBLISH, publication.0)
    }

    /// The state that this run has published last; `None` if there is none.
    pub fn published<S: State>(&self) -> Option<S>
    where
        W: Publishes<S>,
    {
        let publisher = self.core().0.publisher.borrow();
        codec::decode(publisher.as_ref()?.state(S::NAME)?).ok()
    }
}

impl ContextCore {
    fn publish(&self, call: &'static Call, publication: wire::Publish) -> Result<()> {
        if self.0.answering.refuses() {
            return Err(Error::from_fault(answering::refusal()));
        }
        check(&publication)?;
        let mut publisher = self.0.publisher.borrow_mut();
        let publisher = publisher.get_or_insert_with(|| Publisher::new(call));
        publisher.merge(publication)
    }

    /// Publishes the changes of this turn.
    pub(crate) fn publish_changes(&self) {
        let changes = match &mut *self.0.publisher.borrow_mut() {
            Some(publisher) => publisher.take_changes(),
            None => None,
        };
        let Some((call, changed)) = changes else {
            return;
        };
        if let Err(refused) = self.issue_and_forget(call, &changed.encode()) {
            panic!("what the workflow publishes is refused: {refused}");
        }
    }
}

/// Refuses the same values as the host.
fn check(publication: &wire::Publish) -> Result<()> {
    for attribute in publication.attributes.iter().flatten() {
        let value = attribute.value.as_deref().map(Value::decode).transpose();
        let name = &attribute.name;
        let finite = match value.map_err(Error::from)? {
            Some(Value::String(text)) => {
                let what = format!("the text of the attribute {name}");
                check_text(&codes::BAD_ATTRIBUTE, &what, &text)?;
                true
            }
            Some(Value::Float(number)) => number.is_finite(),
            Some(Value::Float32(number)) => number.is_finite(),
            _ => true,
        };
        if !finite {
            let message = format!("the attribute {name} is not a finite number");
            return Err(Error::with_code(&codes::BAD_ATTRIBUTE, message));
        }
    }
    match &publication.progress {
        Some(progress) => check_text(&codes::BAD_BODY, "the note of the progress", &progress.note),
        None => Ok(()),
    }
}

/// Refuses a text that others could not find or read. All SDKs say it in these words.
fn check_text(code: &Code, what: &str, text: &str) -> Result<()> {
    let problem = if text.len() > MAX_TEXT {
        format!("has {} bytes, the limit is {MAX_TEXT}", text.len())
    } else if text.contains(char::is_control) {
        "is not UTF-8, or has a control character".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::with_code(code, format!("{what} {problem}")))
}
