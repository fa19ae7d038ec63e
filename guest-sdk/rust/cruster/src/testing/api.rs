//! The API of the simulated host.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::codes;
use crate::error::{Error, Result};
use crate::signal::Signal;
use crate::testing::published::Published;
use crate::testing::run::{Run, encode, no_execution};
use crate::testing::world::World;
use crate::wire;

/// The API of the simulated host, for events outside of a workflow while it runs. A
/// [stub](super::Test::stub), or a handler of [HTTP](super::Test::http) or [SQL](super::Test::sql),
/// uses it to act as a client. Get it from [`Test::api`](super::Test::api).
///
/// ```
/// use cruster::prelude::*;
/// use cruster::testing::Test;
///
/// #[derive(Serialize, Deserialize, Schema, Signal)]
/// pub struct Paid {
///     pub cents: u64,
/// }
///
/// #[workflow]
/// pub struct Invoice;
///
/// #[workflow_impl(signals(Paid))]
/// impl Invoice {
///     async fn execute(&self, cents: u64) -> Result<u64, Error> {
///         self.ask(cents).await?;
///         Ok(self.receive::<Paid>().await?.cents)
///     }
///
///     #[activity]
///     async fn ask(&self, cents: u64) -> Result<(), Error> {
///         let url = format!("https://pay.example/?cents={cents}&for={}", self.execution_id());
///         self.http().post(url).send()?;
///         Ok(())
///     }
/// }
///
/// cruster::module! { workflows: [Invoice] }
///
/// // In a test, the payment service calls back:
/// # fn main() {
/// let test = Test::new(&MODULE);
/// let api = test.api();
/// let run = test
///     .stub("ask", move |cx, cents: u64| api.signal(cx.execution_id(), Paid { cents }))
///     .run::<Invoice>(500);
/// assert_eq!(run.result.unwrap(), 500);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Api(Rc<RefCell<Weak<World<Run>>>>);

impl Api {
    /// Says which world it is the API of.
    pub(crate) fn open(&self, world: &Rc<World<Run>>) {
        *self.0.borrow_mut() = Rc::downgrade(world);
    }

    pub(crate) fn world(&self) -> Result<Rc<World<Run>>> {
        self.0.borrow().upgrade().ok_or_else(|| {
            let message = "the test does not run: there is no execution to reach";
            Error::with_code(&codes::EXECUTION_NOT_FOUND, message)
        })
    }

    /// Sends a signal to an execution, which is named by its id. The errors are a host's.
    pub fn signal<S: Signal>(&self, execution: &str, value: S) -> Result<()> {
        let body = wire::Signal {
            execution: execution.to_owned(),
            name: S::NAME.to_owned(),
            value: Some(encode(&format!("the value of signal {}", S::NAME), &value)),
        };
        let sent = self.world()?.signal(&body);
        sent.map(drop).map_err(Error::from_fault)
    }

    /// The published values of an execution, which is named by its id.
    pub fn published(&self, execution: &str) -> Result<Published> {
        let run = self.world()?.run(execution);
        let run = run.ok_or_else(|| Error::from_fault(no_execution(execution)))?;
        let published = run.published.borrow().clone();
        Ok(published)
    }
}
