//! Structs whose fields the module sets.

use std::cell::Cell;

use cruster::prelude::*;
use cruster::testing::Test;

/// It has no default.
pub enum Tone {
    Polite,
    Rude,
}

#[workflow]
pub struct Greet {
    tone: Tone,
    greeted: Cell<u32>,
}

#[workflow_impl(activity_groups(Letters))]
impl Greet {
    async fn execute(&self, name: String) -> Result<String, Error> {
        self.greeted.set(self.greeted.get() + 1);
        let letter = self.write(self.word(name).await?).await?;
        Ok(format!("{letter} {}", self.greeted.get()))
    }

    #[activity]
    async fn word(&self, name: String) -> Result<String, Error> {
        Ok(match self.tone {
            Tone::Polite => format!("dear {name}"),
            Tone::Rude => name,
        })
    }
}

#[workflow]
#[derive(Default)]
pub struct Plain {
    times: u32,
}

#[workflow_impl(activity_groups(Letters))]
impl Plain {
    async fn execute(&self, name: String) -> Result<String, Error> {
        self.write(name.repeat(self.times as usize + 1)).await
    }
}

#[activity_group]
#[derive(Default)]
pub struct Letters {
    end: &'static str,
}

#[activity_group_impl]
impl Letters {
    #[activity]
    async fn write(&self, text: String) -> Result<String, Error> {
        Ok(format!("{text}{}", self.end))
    }
}

#[entity]
pub struct Door {
    bell: String,
}

#[entity_impl(rpc_groups(Mat))]
impl Door {
    #[rpc]
    async fn ring(&self) -> Result<String, Error> {
        Ok(format!("{} {}", self.id(), self.bell))
    }
}

#[rpc_group]
#[derive(Default)]
pub struct Mat {
    says: &'static str,
}

#[rpc_group_impl]
impl Mat {
    #[rpc]
    async fn read(&self) -> Result<String, Error> {
        Ok(self.says.to_owned())
    }
}

fn polite() -> Greet {
    Greet {
        tone: Tone::Polite,
        greeted: Cell::new(0),
    }
}

mod usual {
    use super::*;

    cruster::module! {
        workflows: [Greet = polite(), Plain],
        entities: [Door { bell: "dong".to_owned() }],
        groups: [Letters { end: "!" }, Mat = Mat { says: "welcome" }],
    }
}

mod others {
    use super::*;

    cruster::module! {
        workflows: [Greet { tone: Tone::Rude, ..polite() }, Plain { times: 1 }],
    }
}

#[test]
fn workflows_activities_and_groups_have_the_values_of_their_module() {
    let ada = || "ada".to_owned();
    // A run's changes of the value are not there for the next.
    for _ in 0..2 {
        let run = Test::new(&usual::MODULE).run::<Greet>(ada());
        run.history.replay().unwrap();
        assert_eq!(run.result.unwrap(), "dear ada! 1");
    }
    let run = Test::new(&others::MODULE).run::<Greet>(ada());
    assert_eq!(run.result.unwrap(), "ada 1");
    let run = Test::new(&usual::MODULE).run::<Plain>(ada());
    assert_eq!(run.result.unwrap(), "ada!");
    let run = Test::new(&others::MODULE).run::<Plain>(ada());
    assert_eq!(run.result.unwrap(), "adaada");
}

#[test]
fn entities_and_their_groups_have_the_values_of_their_module() {
    let world = Test::new(&usual::MODULE).entities();
    let door = Door::client(&world, "front");
    assert_eq!(door.ring().call().unwrap(), "front dong");
    assert_eq!(door.read().call().unwrap(), "welcome");
}
