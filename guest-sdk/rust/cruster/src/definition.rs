//! The definitions of workflows, activities and migrations, as constants.

use std::panic::Location;

use crate::attempt::Attempt;
use crate::execution::{ContextCore, LocalFuture, Start};
use crate::names::{goes_on, same};
use crate::nanos::{clamp, nanos};
use crate::schema::Shape;
use crate::wire::{self, Encoded, Fault, Outcome};

/// How an execution of a workflow gets its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMode {
    /// SHA-256 of the request.
    Request,
    /// SHA-256 of the result of the key function.
    FunctionHashed,
    /// The result of the key function, which is a string.
    FunctionRaw,
}

impl KeyMode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            KeyMode::Request => "request",
            KeyMode::FunctionHashed => "function_hashed",
            KeyMode::FunctionRaw => "function_raw",
        }
    }
}

/// Has a workflow take updates.
pub(crate) type Listen = fn(&ContextCore) -> Result<(), Box<Fault>>;

/// A workflow of a module. `#[workflow_impl]` makes it.
#[derive(Clone, Copy)]
pub struct WorkflowDefinition {
    /// Its name.
    pub name: &'static str,
    /// The line of its `execute`.
    pub begins: &'static Location<'static>,
    /// Where its keys come from.
    pub key: KeyMode,
    /// The shape of its request.
    pub input: fn() -> Shape,
    /// The shape of its result.
    pub output: fn() -> Shape,
    /// Runs it.
    pub run: fn(Start) -> LocalFuture<Outcome>,
    /// Returns the encoded key of a request; `None` if the host derives the key.
    pub key_fn: Option<fn(&[u8]) -> Outcome>,
    /// Its own activities.
    pub activities: &'static [ActivityDefinition],
    /// The activities of the groups that it uses.
    pub groups: &'static [&'static [ActivityDefinition]],
    /// The signals that it can be sent.
    pub signals: &'static [SignalDefinition],
    /// The deferreds that can be settled.
    pub deferreds: &'static [DeferredDefinition],
    /// The queries that it answers.
    pub queries: &'static [QueryDefinition],
    /// The updates that it takes.
    pub updates: &'static [UpdateDefinition],
    /// The values its runs publish.
    pub state: &'static [StateDefinition],
    /// The attributes its runs are found by.
    pub attributes: &'static [AttributeDefinition],
    /// Begins to take updates; `None` if it takes none.
    pub listen: Option<Listen>,
}

/// A signal of a workflow. `#[derive(Signal)]` makes it.
#[derive(Clone, Copy)]
pub struct SignalDefinition {
    /// Its name.
    pub name: &'static str,
    /// The shape of its value.
    pub value: fn() -> Shape,
    /// Describes it.
    pub info: fn(&SignalDefinition) -> Encoded,
}

impl SignalDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::SignalInfo {
            name: self.name.to_owned(),
            value: Some(Box::new((self.value)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }
}

/// A deferred of a workflow, or all deferreds whose names begin alike.
#[derive(Clone, Copy)]
pub struct DeferredDefinition {
    /// Its name, or how names begin.
    pub name: &'static str,
    /// Names are made while the workflow runs.
    pub dynamic: bool,
    /// The shape of its resolution.
    pub value: fn() -> Shape,
    /// Describes it.
    pub info: fn(&DeferredDefinition) -> Encoded,
}

impl DeferredDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::DeferredInfo {
            dynamic: self.dynamic,
            name: self.name.to_owned(),
            value: Some(Box::new((self.value)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }

    /// Whether a name is one of these.
    pub(crate) const fn has(&self, name: &str) -> bool {
        match self.dynamic {
            true => goes_on(name, self.name),
            false => same(name, self.name),
        }
    }

    /// Whether a name could be one of both: then its type would be in doubt.
    pub(crate) const fn meets(&self, other: &DeferredDefinition) -> bool {
        same(self.name, other.name) || self.has(other.name) || other.has(self.name)
    }
}

/// A query of a workflow. `#[derive(Query)]` makes it.
#[derive(Clone, Copy)]
pub struct QueryDefinition {
    /// Its name.
    pub name: &'static str,
    /// The shape of its input.
    pub input: fn() -> Shape,
    /// The shape of the answer.
    pub output: fn() -> Shape,
    /// Describes it.
    pub info: fn(&QueryDefinition) -> Encoded,
}

impl QueryDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::QueryInfo {
            input: Some(Box::new((self.input)().into_wire())),
            name: self.name.to_owned(),
            output: Some(Box::new((self.output)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }
}

/// An update of a workflow. `#[derive(Update)]` makes it.
#[derive(Clone, Copy)]
pub struct UpdateDefinition {
    /// Its name.
    pub name: &'static str,
    /// The shape of its request.
    pub input: fn() -> Shape,
    /// The shape of the answer.
    pub output: fn() -> Shape,
    /// The workflow can tell beforehand whether it would refuse one.
    pub validated: bool,
    /// Describes it.
    pub info: fn(&UpdateDefinition) -> Encoded,
}

impl UpdateDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::UpdateInfo {
            input: Some(Box::new((self.input)().into_wire())),
            name: self.name.to_owned(),
            output: Some(Box::new((self.output)().into_wire())),
            validated: self.validated,
        };
        Encoded::new(self.name, &info)
    }
}

/// A value that the runs of a workflow publish. `#[derive(State)]` makes it.
#[derive(Clone, Copy)]
pub struct StateDefinition {
    /// Its name.
    pub name: &'static str,
    /// Its shape.
    pub value: fn() -> Shape,
    /// Describes it.
    pub info: fn(&StateDefinition) -> Encoded,
}

impl StateDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::StateInfo {
            name: self.name.to_owned(),
            value: Some(Box::new((self.value)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }
}

/// An attribute of a workflow. `#[derive(Attribute)]` makes it.
#[derive(Clone, Copy)]
pub struct AttributeDefinition {
    /// Its name.
    pub name: &'static str,
    /// `text`, `number`, `bool` or `time`.
    pub kind: &'static str,
    /// Describes it.
    pub info: fn(&AttributeDefinition) -> Encoded,
}

impl AttributeDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::AttributeInfo {
            name: self.name.to_owned(),
            kind: self.kind.to_owned(),
        };
        Encoded::new(self.name, &info)
    }
}

/// An activity of a module. `#[activity]` makes it.
#[derive(Clone, Copy)]
pub struct ActivityDefinition {
    /// Its name.
    pub name: &'static str,
    /// The path of its definition. The same name with two origins is a mistake; the
    /// same group in two workflows is not.
    pub origin: &'static str,
    /// The shape of its input.
    pub input: fn() -> Shape,
    /// The shape of its result.
    pub output: fn() -> Shape,
    /// The retry policy, unless a call sets another.
    pub retry: RetryPolicy,
    /// Bounds one attempt, in nanoseconds; 0 leaves that to the host.
    pub timeout: u64,
    /// Runs one attempt.
    pub run: fn(Attempt) -> Outcome,
}

/// The policy after a failed attempt of an activity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// How many attempts may follow the first.
    pub retries: u32,
    /// The delays between them; the host's default if there is none.
    pub backoff: Option<Backoff>,
    /// The largest fraction, 0 to 1, by which a delay is shortened at random.
    pub jitter: f64,
}

impl RetryPolicy {
    /// One attempt.
    pub const NONE: RetryPolicy = RetryPolicy {
        retries: 0,
        backoff: None,
        jitter: 0.0,
    };

    pub(crate) fn to_wire(self) -> wire::Retry {
        let (backoff, base) = match self.backoff {
            None => ("", 0),
            Some(Backoff {
                exponential: true,
                base,
            }) => ("exponential", base),
            Some(Backoff {
                exponential: false,
                base,
            }) => ("constant", base),
        };
        wire::Retry {
            backoff: backoff.to_owned(),
            base: clamp(base),
            jitter: self.jitter,
            retries: self.retries,
        }
    }
}

/// The delays between the attempts of an activity. None is longer than a
/// minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    exponential: bool,
    /// In nanoseconds; 0 leaves it to the host: one second.
    base: u64,
}

impl Backoff {
    /// Waits `base` before the first retry and twice as long before each further
    /// one.
    pub const fn exponential(base: std::time::Duration) -> Self {
        Backoff {
            exponential: true,
            base: nanos(base),
        }
    }

    /// Waits `delay` before each retry.
    pub const fn constant(delay: std::time::Duration) -> Self {
        Backoff {
            exponential: false,
            base: nanos(delay),
        }
    }

    /// For macros: the base in nanoseconds, 0 if it was not given.
    #[doc(hidden)]
    pub const fn __of(exponential: bool, base: u64) -> Self {
        Backoff { exponential, base }
    }
}

/// A step of the SQL schema of a module. Steps are applied once each, in the order
/// of their versions, when the module is deployed. Do not change a step that was
/// applied; add another.
///
/// ```
/// use cruster::Migration;
///
/// const STEPS: &[Migration] = &[
///     Migration::new(1, "orders", "CREATE TABLE orders (id TEXT PRIMARY KEY)"),
///     Migration::new(2, "index", "CREATE INDEX …").postgres(),
/// ];
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    pub(crate) version: u32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
    pub(crate) dialect: &'static str,
}

impl Migration {
    /// A step for all databases.
    ///
    /// # Panics
    ///
    /// If the version is 0 or the SQL is empty; in a constant that is a compile
    /// error.
    pub const fn new(version: u32, name: &'static str, sql: &'static str) -> Self {
        assert!(version > 0, "the version of a migration is 1 or more");
        assert!(!sql.is_empty(), "a migration needs SQL");
        Migration {
            version,
            name,
            sql,
            dialect: "",
        }
    }

    /// The step for SQLite alone.
    #[must_use]
    pub const fn sqlite(self) -> Self {
        Migration {
            dialect: "sqlite",
            ..self
        }
    }

    /// The step for Postgres alone.
    #[must_use]
    pub const fn postgres(self) -> Self {
        Migration {
            dialect: "postgres",
            ..self
        }
    }

    /// Its version.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its statements.
    pub const fn sql(&self) -> &'static str {
        self.sql
    }

    /// `sqlite`, `postgres`, or empty for both.
    pub const fn dialect(&self) -> &'static str {
        self.dialect
    }
}
