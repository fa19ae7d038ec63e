//! Keys of workflows that borrow from the request.

use cruster::prelude::*;
use cruster::testing::Test;

/// A request whose parts serve as keys.
#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct Parcel {
    id: String,
    tags: Vec<String>,
}

/// Its key is borrowed, and not hashed.
#[workflow]
pub struct Borrowed;

#[workflow_impl(key = |parcel| parcel.id.as_str(), hash = false)]
impl Borrowed {
    async fn execute(&self, _parcel: Parcel) -> Result<(), Error> {
        Ok(())
    }
}

/// Its key is borrowed by a closure with typed parameters.
#[workflow]
pub struct Typed;

#[workflow_impl(key = |parcel: &Parcel| &parcel.id, hash = false)]
impl Typed {
    async fn execute(&self, _parcel: Parcel) -> Result<(), Error> {
        Ok(())
    }
}

/// Its key is borrowed by a function, and hashed.
#[workflow]
pub struct Hashed;

#[workflow_impl(key = Self::key_of)]
impl Hashed {
    async fn execute(&self, _parcel: Parcel) -> Result<(), Error> {
        Ok(())
    }

    fn key_of(parcel: &Parcel) -> (&str, &[String]) {
        (&parcel.id, &parcel.tags)
    }
}

/// The same key, owned.
#[workflow]
pub struct Owned;

#[workflow_impl(key = |parcel| (parcel.id.clone(), parcel.tags.clone()))]
impl Owned {
    async fn execute(&self, _parcel: Parcel) -> Result<(), Error> {
        Ok(())
    }
}

/// Its key is of another type that converts to text.
#[workflow]
pub struct Letter;

#[workflow_impl(key = |request| request.0, hash = false)]
impl Letter {
    async fn execute(&self, _request: (char, u32)) -> Result<(), Error> {
        Ok(())
    }
}

cruster::module! { workflows: [Borrowed, Typed, Hashed, Owned, Letter] }

/// The key of the execution that a request begins.
fn key<W: cruster::Workflow>(request: W::Request) -> String {
    let run = Test::new(&MODULE).run::<W>(request);
    assert!(run.result.is_ok());
    let prefix = format!("test/{}/", W::NAME);
    run.history
        .execution
        .strip_prefix(&prefix)
        .unwrap()
        .to_owned()
}

#[test]
fn keys_may_borrow_from_the_request() {
    let parcel = Parcel {
        id: "p-1".into(),
        tags: vec!["fragile".into()],
    };
    assert_eq!(key::<Borrowed>(parcel.clone()), "p-1");
    assert_eq!(key::<Typed>(parcel.clone()), "p-1");
    assert_eq!(key::<Hashed>(parcel.clone()), key::<Owned>(parcel));
    assert_eq!(key::<Letter>(('x', 1)), "x");
}
