//! Generated code does not depend on the names in scope, and adds none.

/// The SDK under another name.
pub mod sdk {
    pub use ::cruster::*;
}

/// A module in which the names of the prelude mean something else.
pub mod shadowed {
    use super::sdk;
    use super::sdk::{Error, Result};

    macro_rules! shadow {
        ($($name:ident),*) => {
            $(
                /// Shadows the name of the prelude.
                #[allow(dead_code)]
                pub struct $name;
            )*
        };
    }

    shadow!(
        Option, Vec, String, Box, Some, None, Ok, Err, Default, Clone, Into, FnOnce, Deref, Field,
        Shape, K, Inner
    );

    /// Expanded code must not use these modules.
    pub mod cruster {}
    /// Expanded code must not use these modules.
    pub mod std {}
    /// Expanded code must not use these modules.
    pub mod core {}

    /// A group by another name of the SDK.
    #[sdk::activity_group(crate = super::sdk)]
    pub struct Group;

    #[sdk::activity_group_impl(crate = super::sdk)]
    impl Group {
        /// Its names occur in generated code elsewhere.
        #[activity(key = |key, input, cx| format!("{key}{input}{cx}"))]
        async fn step(&self, key: u32, input: u32, cx: u32) -> Result<u32, Error> {
            Result::Ok(key + input + cx)
        }
    }

    /// A workflow by another name of the SDK.
    #[sdk::workflow(crate = super::sdk)]
    pub struct Workflow;

    #[sdk::workflow_impl(crate = super::sdk, activity_groups(Group), key = |request| *request, hash = true)]
    impl Workflow {
        async fn execute(&self, request: u32) -> Result<u32, Error> {
            self.step(request, request, request).await?;
            self.r#try(request, request).await
        }

        #[activity]
        async fn r#try(&self, r#type: u32, attempt: u32) -> Result<u32, Error> {
            Result::Ok(r#type + attempt)
        }
    }
}

/// A workflow whose block is in another module than its struct.
pub mod apart {
    use cruster::prelude::*;

    /// Has fields of its own.
    #[workflow]
    pub struct Apart {
        limit: u32,
    }

    impl Default for Apart {
        fn default() -> Self {
            Apart { limit: 3 }
        }
    }

    mod block {
        use cruster::prelude::*;

        #[workflow_impl(crate = ::cruster)]
        #[allow(clippy::needless_pass_by_value)]
        impl super::Apart {
            const STEP: u32 = 1;

            async fn execute(&self, request: u32) -> Result<u32, Error> {
                let this = self.clone();
                let task =
                    self.spawn(async move { this.helper(&request, |n| n + Self::STEP).await });
                task.await
            }

            async fn helper<F: Fn(u32) -> u32>(&self, n: &u32, f: F) -> Result<u32, Error> {
                self.step(f(*n), Private { n: self.limit }).await
            }

            #[activity]
            async fn step(&self, n: u32, private: Private) -> Result<u32, Error> {
                Ok(n.min(self.limit) + private.n + Self::STEP)
            }
        }

        #[derive(Serialize, Deserialize, Schema)]
        struct Private {
            n: u32,
        }
    }
}

/// Workflows whose types are private.
mod private {
    use cruster::prelude::*;

    #[derive(Serialize, Deserialize, Schema)]
    struct Request {
        n: u32,
    }

    #[activity_group]
    struct Hidden;

    #[activity_group_impl]
    impl Hidden {
        #[activity]
        async fn look(&self, request: Request) -> Result<Request, Error> {
            Ok(request)
        }
    }

    #[workflow]
    pub(super) struct Alone;

    #[workflow_impl(activity_groups(Hidden))]
    impl Alone {
        async fn execute(&self, n: u32) -> Result<u32, Error> {
            Ok(self.look(Request { n }).await?.n)
        }
    }
}

cruster::module! { workflows: [shadowed::Workflow, apart::Apart, private::Alone] }

#[test]
fn all_of_them_are_in_the_module() {
    let manifest = MODULE.manifest();
    let workflows: Vec<_> = manifest
        .workflows
        .unwrap()
        .into_iter()
        .map(|w| w.name)
        .collect();
    assert_eq!(workflows, ["Alone", "Apart", "Workflow"]);
    let activities: Vec<_> = manifest
        .activities
        .unwrap()
        .into_iter()
        .map(|a| a.name)
        .collect();
    assert_eq!(activities, ["Group.step", "Hidden.look", "step", "try"]);
}

#[test]
fn parameters_are_stored_under_their_plain_names() {
    let mut activities = MODULE.manifest().activities.unwrap().into_iter();
    let found = activities.find(|a| a.name == "try").unwrap();
    let names: Vec<_> = found
        .input
        .unwrap()
        .fields
        .unwrap()
        .into_iter()
        .map(|f| f.name)
        .collect();
    assert_eq!(names, ["attempt", "type"]);
}
