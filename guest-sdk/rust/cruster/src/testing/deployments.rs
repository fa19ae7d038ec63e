//! The deployments of a test: the module under test, and the deployments that it works with.

use crate::codes;
use crate::definition::WorkflowDefinition;
use crate::entity::EntityDefinition;
use crate::module::Module;
use crate::testing::refusals::check_key;
use crate::testing::test::Test;
use crate::testing::words::{hinted, quoted};
use crate::testing::world::World;
use crate::wire::Fault;

impl Test {
    /// Adds a module under the name of its deployment, for workflows and entities that call it:
    /// they name it `deployment/Name`, as on a host. An activity of that module is stubbed as
    /// `deployment/activity`. Database, HTTP and configuration of the test serve all modules.
    ///
    /// ```
    /// use cruster::prelude::*;
    /// use cruster::testing::Test;
    ///
    /// mod payments {
    ///     use cruster::prelude::*;
    ///
    ///     #[workflow]
    ///     pub struct Charge;
    ///
    ///     #[workflow_impl]
    ///     impl Charge {
    ///         async fn execute(&self, cents: u64) -> Result<String, Error> {
    ///             Ok(format!("charged {cents}"))
    ///         }
    ///     }
    ///
    ///     cruster::module! { workflows: [Charge] }
    /// }
    ///
    /// #[workflow]
    /// pub struct Order;
    ///
    /// #[workflow_impl]
    /// impl Order {
    ///     async fn execute(&self, cents: u64) -> Result<String, Error> {
    ///         cruster::remote(self, "payments/Charge").execute(cents).await
    ///     }
    /// }
    ///
    /// cruster::module! { workflows: [Order] }
    ///
    /// // In a test:
    /// # fn main() {
    /// let run = Test::new(&MODULE)
    ///     .module("payments", &payments::MODULE)
    ///     .run::<Order>(500);
    /// assert_eq!(run.result.unwrap(), "charged 500");
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If another module has the name.
    pub fn module(mut self, deployment: &str, module: &'static Module) -> Self {
        let before = self.config.modules.insert(deployment.to_owned(), module);
        assert!(
            before.is_none(),
            "the test has two modules of the name {deployment:?}"
        );
        self
    }

    /// The module that has an activity of a test, with the name that it has there.
    pub(crate) fn activity_of<'a>(&self, name: &'a str) -> (&'static Module, &'a str) {
        match name.split_once('/') {
            None => (self.module, name),
            Some((deployment, name)) => match self.config.modules.get(deployment) {
                Some(module) => (module, name),
                None => panic!("the test has no module {deployment:?}; add it with Test::module"),
            },
        }
    }
}

impl<R> World<R> {
    /// The module of a deployment.
    pub(crate) fn module_of(&self, deployment: &str) -> Option<&'static Module> {
        match deployment == self.config.deployment {
            true => Some(self.module),
            false => self.config.modules.get(deployment).copied(),
        }
    }

    /// How a test names a workflow or an activity of a deployment.
    pub(crate) fn name_in_test(&self, deployment: &str, name: &str) -> String {
        match deployment == self.config.deployment {
            true => name.to_owned(),
            false => format!("{deployment}/{name}"),
        }
    }

    fn deployed(&self, deployment: &str) -> Result<&'static Module, Box<Fault>> {
        self.module_of(deployment).ok_or_else(|| {
            let message = format!("there is no deployment {}", quoted(deployment, 80));
            let hint = "Add its module with Test::module, or replace its workflows with Test::stub_workflow.";
            hinted(codes::DEPLOYMENT_NOT_FOUND.fault(message), hint)
        })
    }

    /// A workflow of a deployment, with its module.
    pub(crate) fn workflow(
        &self,
        deployment: &str,
        name: &str,
    ) -> Result<(&'static Module, &'static WorkflowDefinition), Box<Fault>> {
        let module = self.deployed(deployment)?;
        if let Some(workflow) = module.workflow(name) {
            return Ok((module, workflow));
        }
        let known = module
            .workflows()
            .map(|w| format!("{deployment}/{}", w.name));
        let known: Vec<String> = known.collect();
        let message = format!(
            "deployment {} has no workflow {}",
            quoted(deployment, usize::MAX),
            quoted(name, 100)
        );
        let hint = format!("It has {}.", known.join(", "));
        Err(hinted(codes::UNKNOWN_WORKFLOW.fault(message), hint))
    }

    /// An entity as code of a deployment names it: its whole name, its module and its type.
    pub(crate) fn find_entity(
        &self,
        from: &str,
        name: &str,
    ) -> Result<(String, &'static Module, &'static EntityDefinition), Box<Fault>> {
        let parts: Vec<&str> = name.splitn(3, '/').collect();
        let (deployment, entity, id) = match parts[..] {
            [entity, id] => (from, entity, id),
            [deployment, entity, id] => (deployment, entity, id),
            _ => ("", "", ""),
        };
        if deployment.is_empty() || entity.is_empty() || check_key(id.to_owned()).is_err() {
            let message = format!("{} does not name an entity", quoted(name, 200));
            return Err(codes::ENTITY_NAME.fault(message));
        }
        let module = self.deployed(deployment)?;
        let name = format!("{deployment}/{entity}/{id}");
        match module.entity(entity) {
            Some(entity) => Ok((name, module, entity)),
            None => Err(unknown_entity(module, deployment, entity)),
        }
    }

    /// The deployment that has a type of entity: that under test, if it has it.
    pub(crate) fn home_of(&self, entity: &str) -> &str {
        let own = &self.config.deployment;
        let mut others = self.config.modules.iter();
        match self.module.entity(entity) {
            Some(_) => own,
            None => others
                .find(|(_, module)| module.entity(entity).is_some())
                .map_or(own, |(deployment, _)| deployment),
        }
    }
}

/// The deployment and the name of a workflow, as code of a deployment names it.
pub(crate) fn split_workflow<'a>(from: &'a str, workflow: &'a str) -> (&'a str, &'a str) {
    workflow.split_once('/').unwrap_or((from, workflow))
}

fn unknown_entity(module: &Module, deployment: &str, name: &str) -> Box<Fault> {
    let known = module
        .entities()
        .map(|e| format!("{deployment}/{}", e.options.name));
    let known: Vec<String> = known.collect();
    let message = format!(
        "deployment {} has no type of entity {}",
        quoted(deployment, usize::MAX),
        quoted(name, 100)
    );
    let hint = match known.is_empty() {
        true => "Its module declares no entities.".to_owned(),
        false => format!("It has {}.", known.join(", ")),
    };
    hinted(codes::UNKNOWN_ENTITY.fault(message), hint)
}
