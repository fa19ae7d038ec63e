//! The bodies of the guest ABI, field by field as its specification has them.

use super::{Binary, Encoded, Malformed, Reader, Wire, put_map, put_str, utf8};
use crate::value::Value;

/// Declares a body. Fields are in the alphabetical order of their names on the wire,
/// which are given where they are not Rust names.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident { $($field:ident $(= $wire:literal)? : $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        #[allow(missing_docs)] // the specification describes the fields
        pub struct $name { $(pub $field: $ty),* }

        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                const NAMES: &[&str] = &[$(body!(@name $field $($wire)?)),*];
                put_map(out, NAMES.len());
                $(
                    put_str(out, body!(@name $field $($wire)?));
                    self.$field.put(out);
                )*
            }

            #[allow(unused_mut, unused_variables)] // a body may have no fields
            fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                let mut body = Self::default();
                r.enter()?;
                for _ in 0..r.map()? {
                    let name = r.text()?;
                    $(
                        if name == body!(@name $field $($wire)?).as_bytes() {
                            body.$field = Wire::take(r)?;
                            continue;
                        }
                    )*
                    utf8(name)?;
                    r.skip()?;
                }
                r.leave();
                Ok(body)
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $wire:literal) => { $wire };
}

body! {
    /// The task of `cruster_start`.
    Invocation {
        attempt: i64,
        body: Binary,
        deadline: i64,
        execution: String,
        idempotency_key: String,
        kind: String,
        name: String,
        namespace: String,
        seed: Binary,
        time: i64,
        unread: Option<Vec<String>>,
    }
}
body! {
    /// The deliveries for `cruster_resume`.
    Resume { deliveries: Vec<Delivery>, entries: i64, time: i64 }
}
body! {
    /// A question to a workflow that waits, for `cruster_query`.
    Query { input: Binary, name: String, update: bool }
}
body! {
    /// The result of an op.
    Delivery { error: Option<Box<Fault>>, op: u32, value: Binary }
}
body! {
    /// How an invocation ended.
    Outcome { next = "continue": Option<Box<Continue>>, error: Option<Box<Fault>>, value: Binary }
}
body! {
    /// Another run takes the place of this one.
    Continue { input: Binary, unread: Option<Vec<String>> }
}
body! {
    /// A failure. The specification calls it Error.
    Fault {
        code: String,
        details: Binary,
        hint: String,
        message: String,
        retryable: bool,
        kind = "type": String,
    }
}
body! {
    /// Waits for some time.
    Sleep { duration: i64, name: String }
}
body! {
    /// Performs an activity.
    Activity { input: Binary, key: String, name: String, retry: Retry, timeout: i64 }
}
body! {
    /// The retry policy of an activity.
    Retry { backoff: String, base: i64, jitter: f64, retries: u32 }
}
body! {
    /// Waits for a promise.
    Deferred { name: String }
}
body! {
    /// Settles a promise.
    Resolve { error: Option<Box<Fault>>, execution: String, name: String, value: Binary }
}
body! {
    /// Starts a workflow, or finds its execution.
    Call { input: Binary, key: String, key_mode: String, on_cancel: String, workflow: String }
}
body! {
    /// Asks an execution to stop.
    Interrupt { execution: String, reason: String }
}
body! {
    /// Waits for the next signal of a name.
    Receive { name: String }
}
body! {
    /// Sends a signal to an execution.
    Signal { execution: String, name: String, value: Binary }
}
body! {
    /// Begins a critical section.
    Lock { entities: Vec<String> }
}
body! {
    /// Ends the critical section.
    Unlock {}
}
body! {
    /// Waits for the next update.
    Update {}
}
body! {
    /// An update that is to be answered.
    UpdateRequest { id: String, input: Binary, name: String }
}
body! {
    /// Answers an update.
    Answer { error: Option<Box<Fault>>, id: String, value: Binary }
}
body! {
    /// Changes the published state of a run.
    Publish {
        attributes: Option<Vec<Published>>,
        progress: Option<Box<Progress>>,
        state: Option<Vec<Published>>,
    }
}
body! {
    /// A name with a value.
    Published { name: String, value: Binary }
}
body! {
    /// How far a run is.
    Progress { done: u64, note: String, total: u64 }
}
body! {
    /// Looks at an execution.
    Poll { execution: String }
}
body! {
    /// The reply to a poll.
    PollReply { outcome: Option<Box<Outcome>>, state: String }
}
body! {
    /// Waits for an interrupt.
    Interrupted {}
}
body! {
    /// Undoes a transaction.
    TxRollback {}
}
body! {
    /// An interrupt.
    Interruption { reason: String }
}
body! {
    /// Asks whether the run takes a change of the code.
    Patched { id: String }
}
body! {
    /// A statement.
    SQL { args: Binary, query: String }
}
body! {
    /// The reply to a statement.
    ExecReply { rows_affected: i64 }
}
body! {
    /// The reply to a query.
    QueryReply { columns: Vec<String>, rows: Vec<Vec<Value>> }
}
body! {
    /// A header of an HTTP message.
    Header { name: String, value: String }
}
body! {
    /// An HTTP call.
    HTTPRequest { body: Binary, headers: Vec<Header>, method: String, timeout: i64, url: String }
}
body! {
    /// The answer to an HTTP call.
    HTTPResponse { body: Binary, headers: Vec<Header>, status: i64 }
}
body! {
    /// Several HTTP calls at the same time.
    HTTPAll { requests: Vec<HTTPRequest> }
}
body! {
    /// The outcomes of several HTTP calls.
    HTTPAllReply { results: Vec<HTTPResult> }
}
body! {
    /// The outcome of one of several HTTP calls.
    HTTPResult { error: Option<Box<Fault>>, response: Option<Box<HTTPResponse>> }
}
body! {
    /// Asks for a configured value.
    ConfigRequest { name: String }
}
body! {
    /// A configured value.
    ConfigReply { found: bool, value: String }
}
body! {
    /// The contents of a module.
    Manifest {
        activities: Option<Vec<ActivityInfo>>,
        entities: Option<Vec<Encoded>>,
        migrations: Option<Vec<Migration>>,
        schedules: Option<Vec<Encoded>>,
        sdk: String,
        workflows: Option<Vec<WorkflowInfo>>,
    }
}
body! {
    /// A workflow of a module.
    WorkflowInfo {
        attributes: Option<Vec<Encoded>>,
        deferreds: Option<Vec<Encoded>>,
        input: Option<Box<Schema>>,
        key: String,
        name: String,
        output: Option<Box<Schema>>,
        queries: Option<Vec<Encoded>>,
        signals: Option<Vec<Encoded>>,
        state: Option<Vec<Encoded>>,
        updates: Option<Vec<Encoded>>,
    }
}
body! {
    /// An attribute of a workflow.
    AttributeInfo { name: String, kind = "type": String }
}
body! {
    /// A value that the runs of a workflow publish.
    StateInfo { name: String, value: Option<Box<Schema>> }
}
body! {
    /// An update of a workflow.
    UpdateInfo {
        input: Option<Box<Schema>>,
        name: String,
        output: Option<Box<Schema>>,
        validated: bool,
    }
}
body! {
    /// A schedule of a module.
    ScheduleInfo {
        always: bool,
        catch_up: i64,
        cron: String,
        every: i64,
        input: Binary,
        jitter: i64,
        name: String,
        overlap: String,
        workflow: String,
        zone: String,
    }
}
body! {
    /// A query of a workflow.
    QueryInfo { input: Option<Box<Schema>>, name: String, output: Option<Box<Schema>> }
}
body! {
    /// A deferred of a workflow.
    DeferredInfo { dynamic: bool, name: String, value: Option<Box<Schema>> }
}
body! {
    /// A signal of a workflow.
    SignalInfo { name: String, value: Option<Box<Schema>> }
}
body! {
    /// An activity of a module.
    ActivityInfo {
        input: Option<Box<Schema>>,
        name: String,
        output: Option<Box<Schema>>,
        retry: Retry,
        timeout: i64,
    }
}
body! {
    /// A type of entity of a module.
    EntityInfo {
        concurrency: u32,
        idle_time: i64,
        mailbox: u32,
        name: String,
        operations: Option<Vec<OperationInfo>>,
        shard_group: String,
        state: Option<Box<Schema>>,
        state_version: u32,
    }
}
body! {
    /// An operation of an entity.
    OperationInfo {
        input: Option<Box<Schema>>,
        name: String,
        output: Option<Box<Schema>>,
        persisted: bool,
        read_only: bool,
    }
}
body! {
    /// One operation of an entity without a state.
    EntityCall { input: Binary, operation: String }
}
body! {
    /// Operations of an entity with a state, one after the other.
    Operations { operations: Vec<EntityCall>, state: Binary, version: u32 }
}
body! {
    /// The results of operations.
    OperationsReply { replies: Vec<OperationReply>, state: Binary, version: u32 }
}
body! {
    /// The outcome of one operation.
    OperationReply {
        error: Option<Box<Fault>>,
        sent: Option<Vec<EntityMessage>>,
        started: Option<Vec<Call>>,
        value: Binary,
    }
}
body! {
    /// A call of an operation.
    EntityMessage { entity: String, input: Binary, operation: String }
}
body! {
    /// A step of the SQL schema.
    Migration { dialect: String, name: String, sql: String, version: i64 }
}
body! {
    /// The shape of a value.
    Schema {
        bits: i64,
        elem: Option<Box<Schema>>,
        fields: Option<Vec<Field>>,
        nullable: bool,
        kind = "type": String,
    }
}
body! {
    /// A field of a struct.
    Field { name: String, required: bool, schema: Option<Box<Schema>> }
}

/// A result, or the failure in its place.
pub(crate) type Settled<T = Vec<u8>> = Result<T, Box<Fault>>;

impl Outcome {
    pub(crate) fn failed(fault: Box<Fault>) -> Self {
        Outcome {
            error: Some(fault),
            ..Outcome::default()
        }
    }

    pub(crate) fn continued(input: Vec<u8>) -> Self {
        let next = Continue {
            input: Some(input),
            unread: None,
        };
        Outcome {
            next: Some(Box::new(next)),
            ..Outcome::default()
        }
    }

    pub(crate) fn into_result(self) -> Settled {
        self.error
            .map_or_else(|| Ok(self.value.unwrap_or_default()), Err)
    }
}

impl From<Settled> for Outcome {
    fn from(result: Settled) -> Self {
        match result {
            Ok(value) => Outcome {
                value: Some(value),
                ..Outcome::default()
            },
            Err(fault) => Outcome::failed(fault),
        }
    }
}

impl Invocation {
    /// The deployment, with which the names of executions and entities begin.
    pub(crate) fn deployment(&self) -> &str {
        let name = self.execution.as_str();
        name.split_once('/')
            .map_or(name, |(deployment, _)| deployment)
    }
}

impl Delivery {
    pub(crate) fn into_result(self) -> Settled {
        self.error
            .map_or_else(|| Ok(self.value.unwrap_or_default()), Err)
    }
}
