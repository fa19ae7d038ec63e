//! Unusual code that compiles.
#![deny(warnings, deprecated, unfulfilled_lint_expectations)]

use cruster::prelude::*;
use cruster::schema::{Field, Shape};

/// Named like a part of generated code, and used where that is.
#[derive(Serialize, Deserialize, Schema)]
pub struct Inner {
    n: u32,
}

/// A group of it.
#[activity_group]
pub struct Names {}

#[activity_group_impl]
impl Names {
    #[activity(key = |_, text| if text.is_empty() { "none" } else { text.as_str() })]
    async fn wrap(&self, inner: Inner, text: String) -> Result<Inner, Error> {
        let n = inner.n + u32::try_from(text.len())?;
        Ok(Inner { n })
    }
}

/// Its fields are named like parts of generated code.
#[workflow]
#[derive(Default)]
pub struct Liberties {
    inner: u32,
    cx: u32,
}

macro_rules! liberties {
    ($retries:literal, $timeout:expr, $number:ty, $group:path) => {
        #[workflow_impl(activity_groups($group))]
        #[expect(unused_variables)]
        impl Liberties {
            #![allow(clippy::needless_arbitrary_self_type, clippy::needless_lifetimes)]

            async fn execute(&self, request: $number) -> Result<$number, Error> {
                let unused = 1;
                let wrapped = self.wrap(Inner { n: request }, self.name().into()).await?;
                Ok(self.step().await? + wrapped.n + self.inner)
            }

            fn name<'a>(self: &'a Self) -> &'a str {
                self.execution_id()
            }

            #[activity(retries = $retries, timeout = $timeout)]
            async fn step(&self) -> Result<$number, Error> {
                #![allow(clippy::no_effect_underscore_binding)]
                //! Said inside.
                Ok(self.cx)
            }

            #[deprecated(note = "old executions still wait for it")]
            #[activity]
            async fn old(&self) -> Result<(), Error> {
                Ok(())
            }
        }
    };
}

liberties!(3, "5s", u32, Names);

/// All of its activities may be elsewhere.
#[workflow]
pub struct Conditional();

#[workflow_impl]
impl Conditional {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[cfg(any())]
    #[activity]
    async fn elsewhere(&self, a: u32, b: u32) -> Result<u32, Error> {
        Ok(a + b)
    }
}

cruster::module! { workflows: [Liberties, Conditional] }

#[test]
fn they_run() {
    let run = cruster::testing::Test::new(&MODULE)
        .execution_id("abc")
        .run::<Liberties>(1);
    assert_eq!(run.result.unwrap(), 4);
}

#[test]
fn what_a_macro_put_together_says_the_same() {
    let activities = MODULE.manifest().activities.unwrap();
    let names: Vec<_> = activities.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["Names.wrap", "old", "step"]);
    assert_eq!(activities[2].timeout, 5_000_000_000);
}

/// Nothing of Rust's prelude is in scope.
pub mod bare {
    #![no_implicit_prelude]

    #[derive(::serde::Serialize, ::serde::Deserialize, ::cruster::Schema)]
    struct Part {
        text: ::std::string::String,
    }

    /// A request with a part in line.
    #[derive(::serde::Serialize, ::serde::Deserialize, ::cruster::Schema)]
    pub struct Request {
        id: u32,
        #[serde(flatten)]
        part: Part,
    }

    /// A workflow of nothing.
    #[::cruster::workflow]
    pub struct Bare;

    #[::cruster::workflow_impl(key = |request| request.id)]
    impl Bare {
        async fn execute(&self, request: Request) -> ::cruster::Result<usize> {
            self.step(request.id, request.part.text).await
        }

        #[activity(key = |_, text| text)]
        async fn step(&self, id: u32, text: ::std::string::String) -> ::cruster::Result<usize> {
            ::cruster::Result::Ok(text.len() + id as usize)
        }
    }
}

#[derive(Serialize, Deserialize, Schema)]
struct Tree(Vec<Tree>);

#[derive(Serialize, Deserialize, Schema)]
#[serde(transparent)]
struct Forest {
    trees: std::collections::BTreeMap<String, Forest>,
}

#[test]
fn wrappers_may_contain_themselves() {
    assert_eq!(Tree::schema(), Shape::list(Shape::any()));
    assert_eq!(Forest::schema(), Shape::map(Shape::any()));
}

#[derive(Serialize, Deserialize, Schema)]
struct Aliased {
    #[serde(alias = "old", alias = "older")]
    id: String,
}

#[test]
fn a_field_has_the_names_that_it_is_read_from() {
    let want = ["id", "old", "older"].map(|name| Field::optional(name, Shape::string()));
    assert_eq!(Aliased::schema(), Shape::structure(want.into()));
}
