//! Queries: questions to running workflows.

use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codes::{self, Code};
use crate::context::WorkflowContext;
use crate::declared::QueryDefinition;
use crate::error::{Error, Result};
use crate::executor::{ContextCore, answering};
use crate::names;
use crate::payload;
use crate::schema::{Schema, Shape};
use crate::std_clock;
use crate::wire::{self, Outcome, Settled};
use crate::workflow::Workflow;

/// A question that a running workflow answers at any time, also while it sleeps: its progress, its
/// current wait. Derive it beside serde's traits; the value of the type is the query's input. It
/// costs no step of the journal.
///
/// A workflow lists the queries that it answers, and says early in `execute` how it answers
/// each of them: see [`WorkflowContext::answer`].
///
/// ```
/// use cruster::prelude::*;
/// use std::{cell::Cell, rc::Rc};
///
/// /// How many files are there by now?
/// #[derive(Serialize, Deserialize, Schema, Query)]
/// #[query(answer = usize)]
/// pub struct GetProgress;
///
/// #[workflow]
/// pub struct Import;
///
/// #[workflow_impl(queries(GetProgress))]
/// impl Import {
///     async fn execute(&self, files: Vec<String>) -> Result<usize, Error> {
///         let done = Rc::new(Cell::new(0));
///         let seen = done.clone();
///         self.answer(move |_: GetProgress| seen.get());
///
///         for file in files {
///             self.import(file).await?;
///             done.set(done.get() + 1);
///         }
///         Ok(done.get())
///     }
///
///     #[activity(retries = 5)]
///     async fn import(&self, file: String) -> Result<(), Error> {
///         self.transaction().execute("INSERT INTO files (name) VALUES ($1)", (file,))?;
///         Ok(())
///     }
/// }
/// ```
///
/// Its name is the type's in snake case, `get_progress` for `GetProgress`; `#[query(name = "…")]`
/// gives it another.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query",
    note = "derive it beside serde's traits: #[derive(Serialize, Deserialize, Schema, Query)]"
)]
pub trait Query: Serialize + DeserializeOwned + Schema + 'static {
    /// The answer.
    type Answer: Serialize + DeserializeOwned + Schema + 'static;
    /// Its name.
    const NAME: &'static str;
    /// The entry in the manifest.
    #[doc(hidden)]
    const DEFINITION: QueryDefinition = {
        names::check("the name of a query", Self::NAME);
        QueryDefinition {
            name: Self::NAME,
            input: Self::schema,
            output: <Self::Answer as Schema>::schema,
            info: QueryDefinition::describe,
        }
    };
}

/// A workflow that answers a query. `#[workflow_impl(queries(…))]` implements it.
#[diagnostic::on_unimplemented(
    message = "the workflow `{Self}` does not answer the query `{Q}`",
    label = "no client could ask it",
    note = "list the queries that a workflow answers: #[workflow_impl(queries({Q}))]"
)]
pub trait Answers<Q: Query>: Workflow {}

/// A query that no client can ask. All workflows would answer it, so that the compiler never takes
/// the one query of a workflow for the intended one, and complains about that.
#[derive(Serialize, serde::Deserialize)]
#[doc(hidden)]
pub enum NoQuery {}

impl Schema for NoQuery {
    fn schema() -> Shape {
        Shape::any()
    }
}

#[diagnostic::do_not_recommend]
impl Query for NoQuery {
    type Answer = ();
    const NAME: &'static str = "none";
}

#[diagnostic::do_not_recommend]
impl<W: Workflow> Answers<NoQuery> for W {}

/// A possible answer to a query or an update: the value, or a [`Result`] with it.
#[diagnostic::on_unimplemented(
    message = "the answer is of the type `{T}`, not `{Self}`",
    label = "return a `{T}`, or a `Result<{T}, Error>`",
    note = "its type is the one in #[query(answer = …)] or #[update(answer = …)]"
)]
pub trait Answer<T> {
    #[doc(hidden)]
    fn into_answer(self) -> Result<T>;
}

impl<T> Answer<T> for T {
    fn into_answer(self) -> Result<T> {
        Ok(self)
    }
}

impl<T> Answer<T> for Result<T, Error> {
    fn into_answer(self) -> Result<T> {
        self
    }
}

impl<W> WorkflowContext<W> {
    /// Says how the workflow answers a query from here on. Call it first in `execute`: until
    /// then the query is refused with `CR-2036`.
    ///
    /// The closure runs while the workflow waits. Share variables with it in an `Rc`, of a
    /// `Cell` or a `RefCell`: it sees them as they are when it is asked. It returns the answer,
    /// or a [`Result`] with it; an error is the caller's, with the code `CR-2037`.
    ///
    /// An answer only looks. A host asks a copy of the workflow, so that the closure's changes are
    /// lost; and durable calls fail in it, with `CR-4002`. To have the workflow do something, send
    /// it a [signal](crate::Signal).
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # use std::{cell::RefCell, rc::Rc};
    /// # #[workflow]
    /// # pub struct Example;
    /// #[derive(Serialize, Deserialize, Schema, Query)]
    /// #[query(answer = String)]
    /// pub struct GetItem {
    ///     index: usize,
    /// }
    ///
    /// #[workflow_impl(queries(GetItem))]
    /// impl Example {
    ///     async fn execute(&self, items: Vec<String>) -> Result<(), Error> {
    ///         let items = Rc::new(RefCell::new(items));
    ///         let seen = items.clone();
    ///         self.answer(move |query: GetItem| match seen.borrow().get(query.index) {
    ///             Some(item) => Ok(item.clone()),
    ///             None => cruster::bail!("no_item", "there is no item {}", query.index),
    ///         });
    ///         while items.borrow_mut().pop().is_some() {
    ///             self.sleep(Duration::from_secs(60)).await?;
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn answer<Q: Query, A: Answer<Q::Answer>>(&self, answer: impl Fn(Q) -> A + 'static)
    where
        W: Answers<Q>,
    {
        let run = move |input: &[u8]| {
            let misfit = format_args!("the input of query {} does not fit", Q::NAME);
            payload::decode(input, &codes::BAD_INPUT, misfit)
                .and_then(|query| answer(query).into_answer())
                .and_then(|value| {
                    payload::encode(format_args!("the answer to query {}", Q::NAME), &value)
                })
        };
        self.core().0.answering.set(Q::NAME, Rc::new(run));
    }
}

impl ContextCore {
    /// Answers a query while the workflow waits.
    pub(crate) fn query(&self, query: &wire::Query) -> Outcome {
        let Some(run) = self.0.answering.find(&query.name) else {
            let (execution, name) = (&self.0.invocation.execution, &query.name);
            let message = format!("{execution} does not answer the query {name} yet");
            return Outcome::failed(codes::QUERY_NOT_READY.fault(message));
        };
        let input = query.input.as_deref().unwrap_or_default();
        self.look(&codes::QUERY_FAILED, |_| run(input)).into()
    }

    /// Runs code that only looks at the workflow. Its error has the code.
    pub(crate) fn look(
        &self,
        code: &Code,
        look: impl FnOnce(&ContextCore) -> Result<Vec<u8>>,
    ) -> Settled {
        let _clock = std_clock::turn(self.now());
        self.0.answering.begin();
        let answer = look(self);
        // An answer that went past the refusal of its call looked at something that is not so.
        match self.0.answering.end() {
            true => Err(answering::refusal()),
            false => answer.map_err(|e| e.of_answer(code)),
        }
    }
}
