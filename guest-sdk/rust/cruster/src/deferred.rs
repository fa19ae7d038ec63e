//! Named promises.

use std::fmt;
use std::marker::PhantomData;

use crate::names;

/// A named promise of an execution, of type `T`. It is settled once: by the
/// workflow, by another one, or through the API. That may happen before the
/// workflow awaits it.
///
/// ```
/// use cruster::Deferred;
///
/// pub const APPROVED: Deferred<bool> = Deferred::new("approved");
/// ```
///
/// An invalid name does not compile:
///
/// ```compile_fail
/// # use cruster::Deferred;
/// pub const APPROVED: Deferred<bool> = Deferred::new("was it approved?");
/// ```
pub struct Deferred<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
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
            name,
            value: PhantomData,
        }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
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
        write!(f, "Deferred({})", self.name)
    }
}
