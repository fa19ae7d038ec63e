//! Named promises.

use std::fmt;
use std::marker::PhantomData;

use crate::declared::DeferredDefinition;
use crate::names::{self, MAX_NAME};
use crate::schema::Schema;

/// A named promise of an execution, of type `T`. It is settled once: by the
/// workflow, by another one, or through the API. That may happen before the
/// workflow awaits it.
///
/// A workflow lists its deferreds: another name, or a value that is not a `T`, is refused
/// before it settles anything.
///
/// ```
/// use cruster::prelude::*;
///
/// pub const APPROVED: Deferred<bool> = Deferred::new("approved");
///
/// #[workflow]
/// pub struct Approve;
///
/// #[workflow_impl(deferreds(APPROVED))]
/// impl Approve {
///     async fn execute(&self, _document: String) -> Result<bool, Error> {
///         self.await_deferred(APPROVED).await
///     }
/// }
/// ```
///
/// For names that are made while the workflow runs there is [`DynamicDeferred`]. An invalid
/// name does not compile:
///
/// ```compile_fail
/// # use cruster::Deferred;
/// pub const APPROVED: Deferred<bool> = Deferred::new("was it approved?");
/// ```
pub struct Deferred<T> {
    name: Name,
    value: PhantomData<fn() -> T>,
}

/// A name written in the code, or made at run time. It is copied, so that a deferred is used alike
/// in both cases.
#[derive(Clone, Copy)]
enum Name {
    Written(&'static str),
    Made { bytes: [u8; MAX_NAME], len: usize },
}

impl<T> Deferred<T> {
    /// Names a promise; every execution has its own.
    ///
    /// # Panics
    ///
    /// If the name is invalid. In a constant that is a compile error.
    pub const fn new(name: &'static str) -> Self {
        names::check("the name of a deferred", name);
        Deferred {
            name: Name::Written(name),
            value: PhantomData,
        }
    }

    /// A promise whose name is known when the code runs, such as a deferred of another module's
    /// execution. A workflow's own are declared: see [`DynamicDeferred`].
    ///
    /// # Panics
    ///
    /// If the name is invalid.
    pub fn named(name: &str) -> Self {
        Self::made(name, "")
    }

    fn made(beginning: &str, rest: &str) -> Self {
        let name = [beginning, rest].concat();
        names::check("the name of a deferred", &name);
        let mut bytes = [0; MAX_NAME];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Deferred {
            name: Name::Made {
                bytes,
                len: name.len(),
            },
            value: PhantomData,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match &self.name {
            Name::Written(name) => name,
            Name::Made { bytes, len } => std::str::from_utf8(&bytes[..*len]).unwrap_or_default(),
        }
    }

    /// The entry in the manifest.
    #[doc(hidden)]
    pub const fn definition(&self) -> DeferredDefinition
    where
        T: Schema,
    {
        match self.name {
            Name::Written(name) => DeferredDefinition {
                name,
                dynamic: false,
                value: T::schema,
                info: DeferredDefinition::describe,
            },
            Name::Made { .. } => panic!("a deferred that is listed has a constant name"),
        }
    }
}

impl<T> Clone for Deferred<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Deferred<T> {}

impl<T> fmt::Debug for Deferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deferred({})", self.name())
    }
}

/// All the promises of an execution whose names begin alike. Each has its own name, which is
/// made while the workflow runs.
///
/// ```
/// use cruster::prelude::*;
///
/// pub const APPROVALS: DynamicDeferred<bool> = DynamicDeferred::new("approve-");
///
/// #[workflow]
/// pub struct Approve;
///
/// #[workflow_impl(deferreds(APPROVALS))]
/// impl Approve {
///     async fn execute(&self, members: Vec<String>) -> Result<bool, Error> {
///         for member in &members {
///             // The deferred `approve-bob`.
///             if !self.await_deferred(APPROVALS.named(member)).await? {
///                 return Ok(false);
///             }
///         }
///         Ok(true)
///     }
/// }
/// ```
pub struct DynamicDeferred<T> {
    beginning: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> DynamicDeferred<T> {
    /// Says how the names of promises begin.
    ///
    /// # Panics
    ///
    /// If no valid name begins like that. In a constant that is a compile error.
    pub const fn new(beginning: &'static str) -> Self {
        names::check("the beginning of the names of deferreds", beginning);
        DynamicDeferred {
            beginning,
            value: PhantomData,
        }
    }

    /// How the names begin.
    pub const fn beginning(&self) -> &'static str {
        self.beginning
    }

    /// The promise whose name goes on like that: letters, digits, `_`, `-` and `.`, up to
    /// 128 bytes with the beginning.
    ///
    /// # Panics
    ///
    /// If the name is invalid, or empty.
    pub fn named(&self, name: &str) -> Deferred<T> {
        assert!(
            !name.is_empty(),
            "a deferred `{}` needs a name that goes on",
            self.beginning
        );
        Deferred::made(self.beginning, name)
    }

    /// The entry in the manifest.
    #[doc(hidden)]
    pub const fn definition(&self) -> DeferredDefinition
    where
        T: Schema,
    {
        DeferredDefinition {
            name: self.beginning,
            dynamic: true,
            value: T::schema,
            info: DeferredDefinition::describe,
        }
    }
}

impl<T> Clone for DynamicDeferred<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DynamicDeferred<T> {}

impl<T> fmt::Debug for DynamicDeferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicDeferred({})", self.beginning)
    }
}
