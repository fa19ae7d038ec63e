//! The structs that workflows, activities and RPCs are methods of, and their values.

use std::any::{Any, TypeId, type_name};
use std::cell::RefCell;
use std::rc::Rc;

/// A struct that methods run on.
pub trait Owner: Sized + 'static {
    /// Makes the value if the module gives none.
    const DEFAULT: Option<fn() -> Self> = None;
}

impl Owner for () {
    const DEFAULT: Option<fn() -> Self> = Some(|| ());
}

/// Makes a value.
pub(crate) type Make = fn() -> Rc<dyn Any>;

/// The value of a workflow, a group or an entity, as [`module!`](crate::module) gives it.
#[derive(Clone, Copy)]
pub struct Given {
    of: fn() -> TypeId,
    make: fn() -> Rc<dyn Any>,
    /// It is made when the module is loaded, not when it is needed.
    #[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
    early: bool,
}

impl Given {
    pub(crate) const fn new<T: 'static>(make: Make, early: bool) -> Self {
        Given {
            of: TypeId::of::<T>,
            make,
            early,
        }
    }
}

thread_local! {
    /// Values made when the module was loaded, in the order in which they were given. All instances
    /// begin with them. In a test nothing is loaded: each invocation makes the values it needs, and
    /// so finds the same as an instance.
    static MADE: RefCell<Vec<Option<Rc<dyn Any>>>> = const { RefCell::new(Vec::new()) };
}

/// Makes the values that were given.
#[cfg(target_family = "wasm")]
pub(crate) fn make_early(given: &'static [Given]) {
    MADE.set(given.iter().map(|g| g.early.then(g.make)).collect());
}

/// The value that methods of `A` run on.
pub(crate) fn of<A: Owner>(given: &'static [Given]) -> Rc<A> {
    let value = find(given, TypeId::of::<A>()).and_then(|value| value.downcast().ok());
    let value = value.or_else(|| A::DEFAULT.map(|make| Rc::new(make())));
    value.unwrap_or_else(|| panic!("the module has no value for {}", type_name::<A>()))
}

fn find(given: &'static [Given], of: TypeId) -> Option<Rc<dyn Any>> {
    let at = given.iter().position(|g| (g.of)() == of)?;
    let made = MADE.with_borrow(|made| made.get(at).cloned().flatten());
    Some(made.unwrap_or_else(given[at].make))
}
