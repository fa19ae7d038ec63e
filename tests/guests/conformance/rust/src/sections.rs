//! Workflows with critical sections.

use std::time::Duration;

use cruster::prelude::*;
use cruster::{Empty, remote_entity};

use crate::deferreds::GATE;
use crate::entities::{Tally, TallyReported};
use crate::signals::told;
use crate::{Seen, seen};

/// Passes a part from one tally to another under a lock, and tries in the section things that are
/// not allowed there.
#[workflow]
pub struct Sections;

#[workflow_impl]
impl Sections {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let (from, to, other) = (
            format!("{id}-from"),
            format!("{id}-to"),
            format!("{id}-other"),
        );
        let mut all = vec![seen(Tally::client(self, &from).add(100).await)];
        let section = self
            .lock((Tally::id(to.clone()), Tally::id(from.clone())))
            .await?;
        all.extend([
            seen(Tally::client(self, &from).add(-30).await),
            seen(Tally::client(self, &to).add(30).await),
            seen(Tally::client(self, &from).read(Empty {}).await),
            locks(self.lock(Tally::id(other.clone()))).await,
            seen(TallyReported::client(self).execute(other.clone()).await),
            seen(Tally::client(self, &other).add(1).await),
            told(Tally::client(self, &to).add(1).send().await),
            told(Tally::client(self, &other).add(5).send().await),
            told(section.release().await),
            // The second release of the twin, which the types do not allow.
            told(Ok(())),
            seen(Tally::client(self, &other).add(0).await),
            locks(self.lock(Tally::id(other.clone()))).await,
            seen(Tally::client(self, &to).read(Empty {}).await),
        ]);
        Ok(all)
    }
}

/// Says whether a section could begin, and ends it.
async fn locks(lock: cruster::Lock) -> Seen {
    match lock.await {
        Ok(section) => told(section.release().await),
        Err(e) => told(Err(e)),
    }
}

/// Asks for sections that there cannot be. None of them leaves the workflow in one.
#[workflow]
pub struct SectionsRefused;

#[workflow_impl]
impl SectionsRefused {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let tally = || Tally::id(id.clone());
        let named = |name: &str| remote_entity(self, format!("{name}/{id}")).id();
        let slash = remote_entity(self, format!("conformance/Tally/{id}/with a slash")).id();
        Ok(vec![
            locks(self.lock((tally(), tally()))).await,
            locks(self.lock(named("conformance/Ledger"))).await,
            locks(self.lock((tally(), named("conformance/Missing")))).await,
            locks(self.lock(named(""))).await,
            seen(Tally::client(self, id.as_str()).add(1).await),
            locks(self.lock((tally(), slash))).await,
        ])
    }
}

/// Has other executions end in a section, each in its way, and locks the same.
#[workflow]
pub struct SectionEnds;

#[workflow_impl]
impl SectionEnds {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let mut all = Vec::new();
        for end in ["value", "error", "continue"] {
            let left = SectionLeft::client(self).with_key_raw(format!("{id}-{end}"));
            let (end, id) = (end.to_owned(), id.clone());
            let tally = Tally::id(id.clone());
            all.push(seen(left.execute(SectionLeftRequest { end, id }).await));
            all.push(locks(self.lock(tally)).await);
        }
        all.push(seen(Tally::client(self, id).add(0).await));
        Ok(all)
    }
}

/// Says how to end.
#[derive(Serialize, Deserialize, Schema)]
pub struct SectionLeftRequest {
    end: String,
    id: String,
}

/// Ends in a section.
#[workflow]
pub struct SectionLeft;

#[workflow_impl]
impl SectionLeft {
    async fn execute(&self, request: SectionLeftRequest) -> Result<i64> {
        let SectionLeftRequest { end, id } = request;
        // It is not dropped, which would end the section before the execution ends.
        std::mem::forget(self.lock(Tally::id(id.clone())).await?);
        let sum = Tally::client(self, id.as_str()).add(1).await?;
        match end.as_str() {
            "error" => Err(cruster::err!("left", "it ended in a section")),
            "continue" => {
                let end = "value".to_owned();
                self.continue_as_new(SectionLeftRequest { end, id })
            }
            _ => Ok(sum),
        }
    }
}

/// Sees no change of others in its section: neither of an execution that locks too, nor of a mere
/// caller. Both go on after it.
#[workflow]
pub struct SectionShared;

#[workflow_impl]
impl SectionShared {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let section = self.lock(Tally::id(id.clone())).await?;
        let locking = || SectionAdds::client(self).with_key_raw(id.as_str());
        let calling = || TallyReported::client(self).with_key_raw(id.as_str());
        locking().start(id.clone()).await?;
        calling().start(id.clone()).await?;
        self.sleep(Duration::from_millis(20)).await?;
        let tally = Tally::client(self, id.as_str());
        let mut all = vec![
            seen(tally.read(Empty {}).await),
            seen(tally.add(5).await),
            told(section.release().await),
        ];
        cruster::join!(locking().execute(id.clone()), calling().execute(id.clone())).await?;
        all.push(seen(tally.read(Empty {}).await));
        Ok(all)
    }
}

/// Adds ten under a lock.
#[workflow]
pub struct SectionAdds;

#[workflow_impl]
impl SectionAdds {
    async fn execute(&self, id: String) -> Result<i64> {
        let other = Tally::id(format!("{id}-other"));
        let section = self.lock((Tally::id(id.clone()), other)).await?;
        let sum = Tally::client(self, id).add(10).await?;
        section.release().await?;
        Ok(sum)
    }
}

/// Is asked to stop in its section, and cleans up there.
#[workflow]
pub struct SectionInterrupted;

#[workflow_impl(deferreds(GATE))]
impl SectionInterrupted {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let section = self.lock(Tally::id(id.clone())).await?;
        let tally = Tally::client(self, id.as_str());
        let mut all = vec![seen(tally.add(1).await)];
        match self.await_deferred(GATE).await {
            Err(e) if e.is_interrupted() => {}
            _ => return Err(Error::new("unexpected", "not interrupted")),
        }
        all.push(seen(self.shield(tally.add(-1)).await));
        all.push(told(section.release().await));
        let other = self.lock(Tally::id(format!("{id}-other")));
        all.push(self.shield(locks(other)).await);
        Ok(all)
    }
}
