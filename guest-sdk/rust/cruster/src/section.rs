//! Critical sections: entities that a workflow has for itself.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::context::WorkflowContext;
use crate::entity::{self, Entity, RemoteEntity};
use crate::error::Result;
use crate::executor::ContextCore;
use crate::host::{LOCK, UNLOCK};
use crate::op::{Op, RawOp};
use crate::task::Shield;
use crate::wire::{self, Wire};

/// Which entity a workflow [locks](WorkflowContext::lock): `Account::id("ada")`, or an entity of
/// another deployment, [`RemoteEntity::id`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityId {
    /// The name of the type and its id; or the whole name.
    name: Name,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Own(&'static str, String),
    Whole(String),
}

impl EntityId {
    pub(crate) fn of<E: Entity>(id: String) -> Self {
        EntityId {
            name: Name::Own(E::NAME, id),
        }
    }

    fn into_name(self, core: &ContextCore) -> String {
        match self.name {
            Name::Own(name, id) => entity::name_in(core.0.invocation.deployment(), name, &id),
            Name::Whole(name) => name,
        }
    }
}

impl<C> RemoteEntity<'_, C> {
    /// Names the entity for a [lock](WorkflowContext::lock).
    pub fn id(&self) -> EntityId {
        EntityId {
            name: Name::Whole(self.entity.clone()),
        }
    }
}

/// A target a workflow can [lock](WorkflowContext::lock): an [`EntityId`], or a tuple, an array or
/// a vector of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name entities to lock",
    label = "name them by their types and ids: `(Account::id(\"ada\"), Account::id(\"bob\"))`",
    note = "entities with a state can be locked: structs with #[stateful_entity]"
)]
pub trait Lockable {
    /// The entities.
    #[doc(hidden)]
    fn into_ids(self) -> Vec<EntityId>;
}

impl Lockable for EntityId {
    fn into_ids(self) -> Vec<EntityId> {
        vec![self]
    }
}

impl Lockable for Vec<EntityId> {
    fn into_ids(self) -> Vec<EntityId> {
        self
    }
}

impl<const N: usize> Lockable for [EntityId; N] {
    fn into_ids(self) -> Vec<EntityId> {
        self.into()
    }
}

macro_rules! tuples {
    ($(($($name:ident)+))*) => {
        $(
            impl Lockable for ($(tuples!(@id $name),)+) {
                fn into_ids(self) -> Vec<EntityId> {
                    let ($($name,)+) = self;
                    vec![$($name),+]
                }
            }
        )*
    };
    (@id $name:ident) => { EntityId };
}

tuples! { (a) (a b) (a b c) (a b c d) (a b c d e) (a b c d e f) (a b c d e f g) (a b c d e f g h) }

impl<W> WorkflowContext<W> {
    /// Begins a critical section: entities that no one else reaches until it ends. The calls of
    /// others wait, reads included.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[stateful_entity]
    /// # #[derive(Default, Serialize, Deserialize, Schema)]
    /// # pub struct Account {
    /// #     cents: i64,
    /// # }
    /// # #[operations]
    /// # impl Account {
    /// #     fn deposit(&mut self, cents: i64) -> i64 {
    /// #         self.cents += cents;
    /// #         self.cents
    /// #     }
    /// #     #[read_only]
    /// #     fn balance(&self) -> i64 {
    /// #         self.cents
    /// #     }
    /// # }
    /// # #[workflow]
    /// # pub struct Transfer;
    /// # #[workflow_impl]
    /// # impl Transfer {
    /// async fn execute(&self, cents: i64) -> Result<bool, Error> {
    ///     let section = self.lock((Account::id("ada"), Account::id("bob"))).await?;
    ///     let enough = Account::client(self, "ada").balance().await? >= cents;
    ///     if enough {
    ///         Account::client(self, "ada").deposit(-cents).await?;
    ///         Account::client(self, "bob").deposit(cents).await?;
    ///     }
    ///     section.release().await?;
    ///     Ok(enough)
    /// }
    /// # }
    /// ```
    ///
    /// All entities of a section are locked at its beginning, 1 to 32 of them, and it calls no
    /// others (`CR-6011`). In a section a workflow does not lock again, does not call other
    /// workflows, and does not send to an entity that it has locked (`CR-6012`): it calls it. So
    /// workflows never wait for each other. Activities and sleeps are possible; remember that
    /// others wait.
    ///
    /// The section ends when it is [released](Section::release), when the [`Section`] is dropped,
    /// and at the latest with the execution, however that ends.
    #[track_caller]
    pub fn lock(&self, entities: impl Lockable) -> Lock {
        let core = self.core();
        let entities = entities.into_ids().into_iter().map(|id| id.into_name(core));
        let body = wire::Lock {
            entities: entities.collect(),
        };
        Lock {
            op: RawOp::new(core.clone(), &LOCK, Ok(body.encode())),
            core: core.clone(),
            number: 0,
        }
    }
}

/// A critical section that begins; see [`WorkflowContext::lock`]. If it is dropped before it
/// has begun, it does not begin.
#[must_use = "entities are not locked unless the lock is awaited"]
pub struct Lock {
    op: RawOp,
    core: ContextCore,
    /// The number of the op while it is under way; 0 before and after that.
    number: u32,
}

impl Future for Lock {
    type Output = Result<Section>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Section>> {
        let this = &mut *self;
        let poll = Pin::new(&mut this.op).poll(cx);
        let Poll::Ready(result) = poll else {
            this.number = this.op.number();
            this.core.enter(this.number);
            return Poll::Pending;
        };
        let number = std::mem::take(&mut this.number);
        Poll::Ready(match result {
            Ok(_) => Ok(Section {
                core: this.core.clone(),
                number,
            }),
            Err(e) => {
                this.core.leave(number);
                Err(e)
            }
        })
    }
}

/// The host may have delivered the lock together with the delivery that ended the wait for it; then
/// it is too late to cancel it.
impl Drop for Lock {
    fn drop(&mut self) {
        self.core.unlock(self.number);
    }
}

/// A critical section; see [`WorkflowContext::lock`].
///
/// Dropping it ends the section too, without a wait: the workflow's next steps take effect only
/// after that. To keep entities locked to the end of the execution, keep the section in a variable;
/// `let _ = …` would drop it at once.
#[must_use = "the section is over when this is dropped: keep it in a variable, and release it"]
pub struct Section {
    core: ContextCore,
    /// The number of the op that began it; 0 once it has ended.
    number: u32,
}

impl Section {
    /// Ends the section. It is done once that is durable. An interrupt does not keep it back.
    #[track_caller]
    pub fn release(mut self) -> impl Future<Output = Result<()>> {
        let body = wire::Unlock {}.encode();
        let op: Op<()> = Op::new(&self.core, &UNLOCK, "unlock".to_owned(), Ok(body));
        async move {
            if !self.core.leave(std::mem::take(&mut self.number)) {
                return Ok(());
            }
            Shield::new(self.core.clone(), op).await
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        self.core.unlock(self.number);
    }
}

impl ContextCore {
    /// Begins a section with an op, unless there is one.
    fn enter(&self, op: u32) {
        if self.0.section.get() == 0 {
            self.0.section.set(op);
        }
    }

    /// Ends the section that an op began; returns whether there was one.
    fn leave(&self, op: u32) -> bool {
        let is_it = op != 0 && self.0.section.get() == op;
        if is_it {
            self.0.section.set(0);
        }
        is_it
    }

    /// Ends the section that an op began, without waiting for that. The end of the execution
    /// ends it anyway.
    fn unlock(&self, op: u32) {
        if self.closed() || !self.leave(op) {
            return;
        }
        let body = wire::Unlock {}.encode();
        if let Err(refused) = self.issue_and_forget(&UNLOCK, &body) {
            log::warn!("the critical section goes on to the end of the execution: {refused}");
        }
    }
}
