//! A test: a module, and its surroundings.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::activity::{ActivityContext, run_activity};
use crate::attempt::Attempt;
use crate::codec;
use crate::codes;
use crate::error::{Error, Result};
use crate::http_call::{HttpRequest, HttpResponse};
use crate::logging;
use crate::module::Module;
use crate::payload;
use crate::testing::api::Api;
use crate::testing::config::Config;
use crate::testing::database::Database;
use crate::testing::outside_event::OutsideEvent;
use crate::timestamp::Timestamp;
use crate::value::Value;
use crate::wire::Wire;

/// A test of a workflow: its surroundings, and its events.
#[must_use = "a test does nothing before `run`"]
pub struct Test {
    pub(super) module: &'static Module,
    pub(super) config: Config,
    pub(super) api: Api,
    pub(super) outside: Vec<OutsideEvent>,
}

impl Test {
    /// A test with the workflows and activities of a module.
    pub fn new(module: &'static Module) -> Self {
        logging::init();
        Test {
            module,
            config: Config::default(),
            api: Api::default(),
            outside: Vec::new(),
        }
    }

    /// Replaces an activity: `charge`, `Payments.charge` of a group, or `deployment/charge` of
    /// another [module](Test::module). Input and
    /// result are still encoded and decoded, and errors are retried by the policy of
    /// the activity.
    ///
    /// The closure gets the context of the attempt and the input: the parameter of
    /// the activity, a tuple if it has several, `()` if it has none.
    ///
    /// # Panics
    ///
    /// If the module has no activity of that name.
    pub fn stub<In, Out>(
        mut self,
        activity: &str,
        mut stub: impl FnMut(&ActivityContext<()>, In) -> Result<Out> + 'static,
    ) -> Self
    where
        In: DeserializeOwned + 'static,
        Out: Serialize + 'static,
    {
        self.check_activity(activity);
        let run = move |attempt| {
            run_activity(attempt, |cx: ActivityContext<()>, input: Value| {
                let result = stub_input(input).and_then(|input| stub(&cx, input));
                async { result }
            })
        };
        self.config
            .activities
            .insert(activity.to_owned(), RefCell::new(Box::new(run)));
        self
    }

    /// Sets how much virtual time each attempt of an activity takes. Defaults to none.
    /// An attempt that takes longer than the activity's timeout fails.
    ///
    /// # Panics
    ///
    /// If the module has no activity of that name.
    pub fn takes(self, activity: &str, time: Duration) -> Self {
        self.takes_with(activity, move |_, _: Value| time)
    }

    /// [`takes`](Test::takes) for an activity whose attempts take different times: the
    /// closure gets the context of the attempt and its input, as a stub does.
    ///
    /// # Panics
    ///
    /// If the module has no activity of that name.
    pub fn takes_with<In: DeserializeOwned + 'static>(
        mut self,
        activity: &str,
        mut time: impl FnMut(&ActivityContext<()>, In) -> Duration + 'static,
    ) -> Self {
        self.check_activity(activity);
        let takes = move |attempt: Attempt| {
            let input = attempt.0.invocation.body.clone().unwrap_or_default();
            let input = Value::decode(&input).map_err(Error::from)?;
            Ok(time(&ActivityContext::of(attempt), stub_input(input)?))
        };
        self.config
            .takes
            .insert(activity.to_owned(), RefCell::new(Box::new(takes)));
        self
    }

    fn check_activity(&self, name: &str) {
        let (module, name) = self.activity_of(name);
        if module.activity(name).is_none() {
            let manifest = module.manifest();
            let names: Vec<String> = manifest
                .activities
                .into_iter()
                .flatten()
                .map(|a| a.name)
                .collect();
            panic!(
                "the module has no activity {name:?}; it has {}",
                names.join(", ")
            );
        }
    }

    /// Replaces a workflow that the tested one calls: `Name`, or `deployment/Name`
    /// for one of another deployment.
    pub fn stub_workflow<Req, Res>(
        mut self,
        workflow: &str,
        mut stub: impl FnMut(Req) -> Result<Res> + 'static,
    ) -> Self
    where
        Req: DeserializeOwned,
        Res: Serialize,
    {
        let name = workflow.to_owned();
        let run = move |body: &[u8]| {
            let misfit = format_args!("the request does not fit the stub of {name}");
            payload::decode(body, &codes::BAD_INPUT, misfit)
                .and_then(&mut stub)
                .and_then(|response| {
                    payload::encode(format_args!("the result of the stub of {name}"), &response)
                })
                .map_err(|e| e.of_workflow(""))
                .into()
        };
        self.config
            .workflows
            .insert(workflow.to_owned(), Rc::new(RefCell::new(Box::new(run))));
        self
    }

    /// Says that the execution had passed the point of a change before it was made:
    /// [`patched`](crate::WorkflowContext::patched) is false for this id. Without it,
    /// the execution is new and takes all changes.
    pub fn unpatched(mut self, id: &str) -> Self {
        self.config.unpatched.insert(id.to_owned());
        self
    }

    /// Sets a configuration value that activities read.
    pub fn config(mut self, name: &str, value: &str) -> Self {
        self.config.config.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Answers the HTTP calls of activities.
    pub fn http(
        mut self,
        handler: impl FnMut(HttpRequest) -> Result<HttpResponse> + 'static,
    ) -> Self {
        self.config.http = Some(RefCell::new(Box::new(handler)));
        self
    }

    /// Answers the SQL of activities: a [`Database`], or a closure from a statement
    /// and its parameters to [`Rows`](super::Rows).
    pub fn sql(mut self, database: impl Database + 'static) -> Self {
        self.config.database = Some(RefCell::new(Box::new(database)));
        self
    }

    /// When the execution starts. Defaults to the first of January 2030, UTC.
    pub fn start_time(mut self, time: Timestamp) -> Self {
        self.config.start = time;
        self
    }

    /// Names the deployment of the module, with which the names of its executions
    /// begin. Defaults to `test`.
    pub fn deployment(mut self, name: &str) -> Self {
        name.clone_into(&mut self.config.deployment);
        self
    }

    /// The tenant of the executions. Defaults to `test`.
    pub fn namespace(mut self, name: &str) -> Self {
        name.clone_into(&mut self.config.namespace);
        self
    }

    /// Says that the host is away from one virtual time after the start to another: stopped, or too
    /// busy. Ops that become due meanwhile are delivered when the host is back, in the order in
    /// which they became due. Clients reach it then too, and running activities go on.
    pub fn downtime(mut self, from: Duration, to: Duration) -> Self {
        self.config.down.push(from..to);
        self
    }

    /// How long the transaction of an activity, or of a call of an entity without a state, may be
    /// open, from its first statement on, in real time. As on a host it is rolled back after that
    /// time, and later calls on it, its commit included, fail with `CR-3103`, which is retried if
    /// the activity has retries. Defaults to 2 seconds, as on the embedded store; Postgres has 5
    /// seconds. `Duration::ZERO` has the second statement fail, `Duration::MAX` is for a debugger.
    pub fn transaction_limit(mut self, limit: Duration) -> Self {
        self.config.transaction_limit = limit;
        self
    }

    /// Bounds the real time that the workflow may run without waiting for a durable call, and the
    /// real time of an operation. Defaults to 10 seconds; an attempt of an activity has its
    /// timeout if that is longer. Code that does not come back cannot be stopped: the kit says
    /// which it is, and where a workflow was, in the words of a host, and ends the process of the
    /// tests. `Duration::MAX` waits for as long as it takes, in a debugger for instance.
    pub fn turn_limit(mut self, limit: Duration) -> Self {
        self.config.turn_limit = limit;
        self
    }

    /// Names the execution. Defaults to `DEPLOYMENT/WORKFLOW/KEY`.
    pub fn execution_id(mut self, id: &str) -> Self {
        self.config.execution_id = Some(id.to_owned());
        self
    }
}

/// The input of a stub. Several parameters are encoded as a map, in their order; a
/// stub takes them as a tuple.
fn stub_input<In: DeserializeOwned>(input: Value) -> Result<In> {
    let misfit = |e| Error::message_only(format!("the input of the stub: {e}"));
    match codec::decode(&input.encode()) {
        Ok(input) => Ok(input),
        Err(e) => match input {
            Value::Map(entries) => {
                let values: Vec<Value> = entries.into_iter().map(|(_, v)| v).collect();
                codec::decode(&values.encode()).map_err(|_| misfit(e))
            }
            _ => Err(misfit(e)),
        },
    }
}
