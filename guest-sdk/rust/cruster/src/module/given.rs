//! The values of the structs that workflows, activities and RPCs are methods of.

use std::any::{Any, TypeId, type_name};
use std::cell::RefCell;
use std::rc::Rc;

use crate::entity::EntityType;
use crate::workflow::Workflow;

/// The value of a workflow, a group or an entity, as [`module!`](crate::module) gives it.
#[derive(Clone, Copy)]
pub struct Given {
    of: fn() -> TypeId,
    make: fn() -> Rc<dyn Any>,
    /// It is made when the module is loaded, not when it is needed.
    #[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
    early: bool,
}

/// A struct that methods run on.
pub trait Owner: Sized + 'static {
    /// Makes the value if the module gives none.
    const DEFAULT: Option<fn() -> Self> = None;
}

/// A group: activities or RPCs that others use.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group",
    note = "mark the struct with #[activity_group] or #[rpc_group], and its impl block with #[activity_group_impl] or #[rpc_group_impl]"
)]
pub trait Group: Owner {}

/// A struct that has a value without being given one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has fields and no `Default`",
    label = "give its fields values here: `{Self} {{ … }}`",
    note = "or derive `Default` for it"
)]
pub trait HasDefault: Sized {
    /// Its value.
    fn make() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> HasDefault for T {
    fn make() -> Self {
        T::default()
    }
}

/// An entity whose struct is not its state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given a value here",
    label = "list it by its name",
    note = "an entity with a state begins with the `Default` of its struct"
)]
pub trait Stateless: 'static {}

#[diagnostic::do_not_recommend]
impl<T: EntityType> Stateless for T {}

impl Owner for () {
    const DEFAULT: Option<fn() -> Self> = Some(|| ());
}

/// Makes a value.
type Make = fn() -> Rc<dyn Any>;

impl Given {
    const fn new<T: 'static>(make: Make, early: bool) -> Self {
        Given {
            of: TypeId::of::<T>,
            make,
            early,
        }
    }

    /// The default of a workflow or an entity.
    pub const fn by_default<T: HasDefault + 'static>() -> Self {
        Given::new::<T>(|| Rc::new(T::make()), false)
    }

    /// The value of a workflow.
    pub const fn workflow<W: Workflow>(make: Make) -> Self {
        Given::new::<W>(make, true)
    }

    /// The value of an entity without a state. One with a state begins with its default.
    pub const fn entity<E: Stateless>(make: Make) -> Self {
        Given::new::<E>(make, true)
    }

    /// The value of a group.
    pub const fn group<G: Group>(make: Make) -> Self {
        Given::new::<G>(make, true)
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
pub(crate) fn owner<A: Owner>(given: &'static [Given]) -> Rc<A> {
    let value = find(given, TypeId::of::<A>()).and_then(|value| value.downcast().ok());
    let value = value.or_else(|| A::DEFAULT.map(|make| Rc::new(make())));
    value.unwrap_or_else(|| panic!("the module has no value for {}", type_name::<A>()))
}

fn find(given: &'static [Given], of: TypeId) -> Option<Rc<dyn Any>> {
    let at = given.iter().position(|g| (g.of)() == of)?;
    let made = MADE.with_borrow(|made| made.get(at).cloned().flatten());
    Some(made.unwrap_or_else(given[at].make))
}
