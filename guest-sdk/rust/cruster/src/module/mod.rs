//! A module: its workflows, its activities, its entities, its migrations.

mod checks;
pub mod given;

use std::rc::Rc;

use crate::attempt::Attempt;
use crate::codes;
use crate::definition::{ActivityDefinition, WorkflowDefinition};
use crate::entity::EntityDefinition;
use crate::execution::Execution;
use crate::host::Host;
use crate::migration::Migration;
use crate::names::sort;
use crate::nanos::clamp;
use crate::owner::Given;
use crate::schedule::Schedule;
use crate::schema::Shape;
use crate::wire::{self, ActivityInfo, Invocation, Manifest, Outcome, WorkflowInfo, sorted};

pub use given::Group;

use checks::{
    check_activities, check_entities, check_migrations, check_schedules, check_workflows,
};

/// The name of this SDK in the manifest.
const SDK: &str = concat!("rust/", env!("CARGO_PKG_VERSION"));

/// Everything that a module contains; [`module!`](crate::module) makes it.
pub struct Module {
    workflows: &'static [&'static WorkflowDefinition],
    entities: &'static [&'static EntityDefinition],
    migrations: &'static [Migration],
    schedules: &'static [Schedule],
    given: &'static [Given],
}

impl Module {
    /// Puts a module together.
    ///
    /// # Panics
    ///
    /// If a name is invalid or used twice, or if two migrations have one version. In a
    /// constant that is a compile error.
    pub const fn new(
        workflows: &'static [&'static WorkflowDefinition],
        entities: &'static [&'static EntityDefinition],
        migrations: &'static [Migration],
        schedules: &'static [Schedule],
        given: &'static [Given],
    ) -> Self {
        assert!(
            !workflows.is_empty() || !entities.is_empty(),
            "a module needs at least one workflow or entity"
        );
        check_workflows(workflows);
        check_activities(workflows);
        check_entities(entities);
        check_migrations(migrations);
        check_schedules(schedules, workflows);
        Module {
            workflows,
            entities,
            migrations,
            schedules,
            given,
        }
    }

    /// The values of its structs.
    pub(crate) fn given(&self) -> &'static [Given] {
        self.given
    }

    /// The migrations, as they were given.
    pub fn migrations(&self) -> &'static [Migration] {
        self.migrations
    }

    /// Whether a workflow answers queries, or is asked about updates. The code for that is left out of a module without.
    #[doc(hidden)]
    pub const fn answers_queries(&self) -> bool {
        let mut w = 0;
        while w < self.workflows.len() {
            if !self.workflows[w].queries.is_empty() || !self.workflows[w].updates.is_empty() {
                return true;
            }
            w += 1;
        }
        false
    }

    pub(crate) fn workflow(&self, name: &str) -> Option<&'static WorkflowDefinition> {
        self.workflows.iter().copied().find(|w| w.name == name)
    }

    pub(crate) fn entity(&self, name: &str) -> Option<&'static EntityDefinition> {
        let mut entities = self.entities.iter().copied();
        entities.find(|e| e.options.name == name)
    }

    #[cfg(not(target_family = "wasm"))] // for the test kit
    pub(crate) fn workflows(&self) -> impl Iterator<Item = &'static WorkflowDefinition> {
        self.workflows.iter().copied()
    }

    #[cfg(not(target_family = "wasm"))] // for the test kit
    pub(crate) fn entities(&self) -> impl Iterator<Item = &'static EntityDefinition> {
        self.entities.iter().copied()
    }

    pub(crate) fn activity(&self, name: &str) -> Option<&'static ActivityDefinition> {
        self.activities().find(|a| a.name == name)
    }

    fn activities(&self) -> impl Iterator<Item = &'static ActivityDefinition> {
        self.workflows.iter().flat_map(|w| {
            w.activities
                .iter()
                .chain(w.groups.iter().copied().flatten())
        })
    }

    /// Describes the module.
    pub fn manifest(&self) -> Manifest {
        let mut activities: Vec<ActivityInfo> = self.activities().map(activity_info).collect();
        sort(&mut activities, |a, b| a.name < b.name);
        activities.dedup_by(|a, b| a.name == b.name);
        let mut workflows: Vec<WorkflowInfo> =
            self.workflows.iter().map(|w| workflow_info(w)).collect();
        sort(&mut workflows, |a, b| a.name < b.name);
        let mut migrations: Vec<wire::Migration> =
            self.migrations.iter().map(migration_info).collect();
        sort(&mut migrations, |a, b| {
            (a.version, &a.dialect) < (b.version, &b.dialect)
        });
        Manifest {
            activities: Some(activities),
            entities: sorted(self.entities.iter().map(|e| (e.info)(e)).collect()),
            migrations: (!migrations.is_empty()).then_some(migrations),
            schedules: sorted(self.schedules.iter().map(|s| (s.info)(s)).collect()),
            sdk: SDK.to_owned(),
            workflows: Some(workflows),
        }
    }

    /// Begins an invocation. A workflow may wait and be resumed later; anything else ends at once.
    pub(crate) fn start(&self, host: Rc<dyn Host>, invocation: Invocation) -> Started {
        match invocation.kind.as_str() {
            "workflow" => match self.workflow(&invocation.name) {
                None => Started::Over(unknown_workflow(&invocation.name)),
                Some(workflow) => {
                    Started::Workflow(Execution::start(host, workflow, invocation, self.given))
                }
            },
            "activity" => Started::Over(match self.activity(&invocation.name) {
                None => unknown(&codes::UNKNOWN_ACTIVITY, "activity", &invocation.name),
                Some(activity) => (activity.run)(Attempt::new(host, invocation, self.given)),
            }),
            "key" => Started::Over(self.key(&invocation)),
            "operations" | "call" => Started::Over(match self.entity(&invocation.name) {
                Some(entity) if entity.state.is_some() == (invocation.kind == "operations") => {
                    (entity.run)(Attempt::new(host, invocation, self.given))
                }
                _ => unknown(&codes::UNKNOWN_ENTITY, "entity", &invocation.name),
            }),
            kind => {
                let message = format!("the SDK knows no invocation of kind {kind:?}");
                Started::Over(failed(&codes::UNKNOWN_INVOKE, message))
            }
        }
    }

    /// Computes the idempotency key of a request.
    fn key(&self, invocation: &Invocation) -> Outcome {
        let name = &invocation.name;
        let Some(workflow) = self.workflow(name) else {
            return unknown_workflow(name);
        };
        match workflow.key_fn {
            None => failed(
                &codes::UNKNOWN_INVOKE,
                format!("workflow {name:?} has no key function"),
            ),
            Some(key) => key(invocation.body.as_deref().unwrap_or_default()),
        }
    }
}

/// An invocation after its first turn.
pub(crate) enum Started {
    Workflow(Execution),
    Over(Outcome),
}

fn unknown_workflow(name: &str) -> Outcome {
    unknown(&codes::UNKNOWN_INVOKE, "workflow", name)
}

fn unknown(code: &codes::Code, what: &str, name: &str) -> Outcome {
    failed(code, format!("the module has no {what} {name:?}"))
}

fn failed(code: &codes::Code, message: String) -> Outcome {
    Outcome::failed(code.fault(message))
}

fn shape(f: fn() -> Shape) -> Option<Box<wire::Schema>> {
    Some(Box::new(f().into_wire()))
}

fn workflow_info(w: &WorkflowDefinition) -> WorkflowInfo {
    WorkflowInfo {
        attributes: sorted(w.attributes.iter().map(|a| (a.info)(a)).collect()),
        // The list is there even if it is empty: the host is to refuse other deferreds.
        deferreds: Some(
            sorted(w.deferreds.iter().map(|d| (d.info)(d)).collect()).unwrap_or_default(),
        ),
        input: shape(w.input),
        key: w.key.name().to_owned(),
        name: w.name.to_owned(),
        output: shape(w.output),
        queries: sorted(w.queries.iter().map(|q| (q.info)(q)).collect()),
        signals: sorted(w.signals.iter().map(|s| (s.info)(s)).collect()),
        state: sorted(w.state.iter().map(|s| (s.info)(s)).collect()),
        updates: sorted(w.updates.iter().map(|u| (u.info)(u)).collect()),
    }
}

fn activity_info(a: &'static ActivityDefinition) -> ActivityInfo {
    ActivityInfo {
        input: shape(a.input),
        name: a.name.to_owned(),
        output: shape(a.output),
        retry: a.retry.to_wire(),
        timeout: clamp(a.timeout),
    }
}

fn migration_info(m: &Migration) -> wire::Migration {
    wire::Migration {
        dialect: m.dialect.to_owned(),
        name: m.name.to_owned(),
        sql: m.sql.to_owned(),
        version: i64::from(m.version),
    }
}

/// Declares the contents of a module, and exports them to the host.
///
/// ```
/// # use cruster::prelude::*;
/// # #[workflow]
/// # pub struct ProcessOrder;
/// # #[workflow_impl]
/// # impl ProcessOrder {
/// #     async fn execute(&self, id: String) -> Result<String, Error> {
/// #         Ok(id)
/// #     }
/// # }
/// cruster::module! {
///     workflows: [ProcessOrder],
///     migrations: [Migration::new(1, "orders", "CREATE TABLE orders (id TEXT PRIMARY KEY)")],
/// }
/// # fn main() {}
/// ```
///
/// Between the two, `entities: [Account]` lists entities, and `schedules: […]` says when
/// workflows are started: see [`Schedule`](crate::Schedule). A module may also have entities
/// alone. It defines the static `MODULE`, for tests. Activities come with the workflows
/// that use them. A name that is used twice does not compile.
///
/// # Fields
///
/// A workflow, or an entity without a state, whose struct has fields begins with its `Default`,
/// unless it is given a value here: `Name { field: … }`, or `Name = expression`. `groups: […]`
/// behind the entities does the same for groups, whose structs have a `Default` all the same.
///
/// ```
/// # use cruster::prelude::*;
/// #[workflow]
/// pub struct ProcessOrder {
///     shops: Vec<&'static str>,
/// }
///
/// #[activity_group]
/// #[derive(Default)]
/// pub struct Payments {
///     gateway: String,
/// }
/// # #[workflow_impl(activity_groups(Payments))]
/// # impl ProcessOrder {
/// #     async fn execute(&self, id: String) -> Result<String, Error> {
/// #         self.charge(id).await
/// #     }
/// # }
/// # #[activity_group_impl]
/// # impl Payments {
/// #     #[activity]
/// #     async fn charge(&self, id: String) -> Result<String, Error> {
/// #         Ok(format!("{} {id}", self.gateway))
/// #     }
/// # }
///
/// cruster::module! {
///     workflows: [ProcessOrder { shops: "corner market".split(' ').collect() }],
///     groups: [Payments { gateway: "https://pay.example".to_owned() }],
/// }
/// # fn main() {}
/// ```
///
/// The expression runs when the host loads the module, once, and all instances begin with the
/// value: it may take its time. It runs in the sandbox, and cannot ask for configuration. Changes
/// by an invocation, in a `Cell` for instance, are gone with the invocation.
#[macro_export]
macro_rules! module {
    (entities: $($rest:tt)*) => {
        $crate::module! { workflows: [], entities: $($rest)* }
    };
    (
        workflows: [$($workflow:path $({ $($field:tt)* })? $(= $value:expr)?),* $(,)?]
        $(, entities: [$($entity:path $({ $($entity_field:tt)* })? $(= $entity_value:expr)?),* $(,)?])?
        $(, groups: [$($group:path $({ $($group_field:tt)* })? $(= $group_value:expr)?),* $(,)?])?
        $(, schedules: [$($schedule:expr => $($started:ident)::+ ($($request:expr)?)),* $(,)?])?
        $(, migrations: [$($migration:expr),* $(,)?])?
        $(,)?
    ) => {
        /// The contents of this module.
        pub static MODULE: $crate::Module = $crate::Module::new(
            &[$(&<$workflow as $crate::Workflow>::DEFINITION),*],
            &[$($(&<$entity as $crate::Entity>::DEFINITION),*)?],
            &[$($($migration),*)?],
            &[$($($crate::__schedule!($schedule, $($started)::+, $($request)?)),*)?],
            &[
                $($crate::__given!(workflow $workflow $({ $($field)* })? $(= $value)?),)*
                $($($crate::__given!(entity $entity $({ $($entity_field)* })? $(= $entity_value)?),)*)?
                $($($crate::__given!(group $group $({ $($group_field)* })? $(= $group_value)?),)*)?
            ],
        );

        #[cfg(target_family = "wasm")]
        #[doc(hidden)]
        mod __cruster_exports {
            #[unsafe(no_mangle)]
            extern "C" fn cruster_abi() -> i32 {
                $crate::__private::exports::abi(&super::MODULE)
            }

            #[unsafe(no_mangle)]
            extern "C" fn cruster_describe() {
                $crate::__private::exports::describe(&super::MODULE);
            }

            #[unsafe(no_mangle)]
            extern "C" fn cruster_start(len: usize) -> i32 {
                $crate::__private::exports::start(&super::MODULE, len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn cruster_resume(len: usize) -> i32 {
                $crate::__private::exports::resume(len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn cruster_query(len: usize) -> i32 {
                if const { super::MODULE.answers_queries() } {
                    $crate::__private::exports::query(len)
                } else {
                    $crate::__private::exports::no_queries()
                }
            }
        }
    };
}

/// A schedule with its workflow and request.
#[doc(hidden)]
#[macro_export]
macro_rules! __schedule {
    ($schedule:expr, $workflow:path, ) => {
        $crate::__schedule!($schedule, $workflow, ())
    };
    ($schedule:expr, $workflow:path, $request:expr) => {
        $schedule
            .__starts::<$workflow>(|| $crate::__private::schedule_input::<$workflow>(&$request))
    };
}

/// The value of a workflow, an entity or a group.
#[doc(hidden)]
#[macro_export]
macro_rules! __given {
    (group $of:path) => {
        ::std::compile_error!("give the group a value: `Name { … }`; a group that is not listed has its `Default`")
    };
    ($kind:ident $of:path) => {
        $crate::__private::given::by_default::<$of>()
    };
    ($kind:ident $of:path { $($field:tt)* }) => {
        $crate::__given!($kind $of = {
            type __Given = $of;
            __Given { $($field)* }
        })
    };
    ($kind:ident $of:path = $value:expr) => {
        $crate::__private::given::$kind::<$of>(|| {
            let value: $of = $value;
            ::std::rc::Rc::new(value)
        })
    };
}
