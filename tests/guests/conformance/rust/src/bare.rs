//! Steps without arguments.

use cruster::prelude::*;

use crate::deferreds::GATE;
use crate::entities::Ledger;
use crate::signals::told;
use crate::{Seen, seen};

/// Takes steps without arguments and without results, before the gate and behind it.
#[workflow]
pub struct Bare;

/// A signal without a value.
#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Nudge;

#[workflow_impl(key = |id: &String| id.clone(), hash = false, signals(Nudge), deferreds(GATE))]
impl Bare {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let mut all = self.steps(&id).await;
        self.await_deferred(GATE).await?;
        all.extend(self.steps(&id).await);
        Ok(all)
    }

    async fn steps(&self, id: &str) -> Vec<Seen> {
        let me = self.execution_id().to_owned();
        let ledger = Ledger::client(self, id);
        vec![
            told(self.bare().await),
            told(BareChild::client(self).execute(()).await),
            told(self.signal(&me, Nudge).await),
            told(self.receive::<Nudge>().await.map(drop)),
            seen(ledger.check().await),
            told(ledger.check().send().await),
        ]
    }

    #[activity]
    async fn bare(&self) -> Result<()> {
        Ok(())
    }
}

/// Asks for nothing, and yields nothing.
#[workflow]
pub struct BareChild;

#[workflow_impl]
impl BareChild {
    async fn execute(&self, _: ()) -> Result<()> {
        Ok(())
    }
}
