//! The values that a module gives its structs.

use std::rc::Rc;

use crate::entity::EntityType;
use crate::owner::{Given, Make, Owner};
use crate::workflow::Workflow;

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

/// The default of a workflow or an entity.
pub const fn by_default<T: HasDefault + 'static>() -> Given {
    Given::new::<T>(|| Rc::new(T::make()), false)
}

/// The value of a workflow.
pub const fn workflow<W: Workflow>(make: Make) -> Given {
    Given::new::<W>(make, true)
}

/// The value of an entity without a state. One with a state begins with its default.
pub const fn entity<E: Stateless>(make: Make) -> Given {
    Given::new::<E>(make, true)
}

/// The value of a group.
pub const fn group<G: Group>(make: Make) -> Given {
    Given::new::<G>(make, true)
}
