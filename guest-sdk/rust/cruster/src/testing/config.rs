//! The settings of a test.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use crate::attempt::Attempt;
use crate::error::Result;
use crate::http_call::{HttpRequest, HttpResponse};
use crate::module::Module;
use crate::testing::database::Database;
use crate::testing::entity_store::Stored;
use crate::testing::transaction;
use crate::testing::watchdog;
use crate::timestamp::Timestamp;
use crate::wire::Outcome;

pub(crate) type ActivityStub = Box<dyn FnMut(Attempt) -> Outcome>;
/// How much virtual time an attempt takes.
pub(crate) type Takes = Box<dyn FnMut(Attempt) -> Result<Duration>>;
pub(crate) type WorkflowStub = Box<dyn FnMut(&[u8]) -> Outcome>;
pub(crate) type HttpHandler = Box<dyn FnMut(HttpRequest) -> Result<HttpResponse>>;

pub(crate) struct Config {
    pub(crate) activities: BTreeMap<String, RefCell<ActivityStub>>,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) database: Option<RefCell<Box<dyn Database>>>,
    pub(crate) deployment: String,
    /// The states of entities before the test.
    pub(crate) entities: Vec<(String, Stored)>,
    /// When the host is away, since the start.
    pub(crate) down: Vec<Range<Duration>>,
    pub(crate) execution_id: Option<String>,
    pub(crate) http: Option<RefCell<HttpHandler>>,
    /// The modules that the module under test works with, by their deployments.
    pub(crate) modules: BTreeMap<String, &'static Module>,
    pub(crate) namespace: String,
    /// The signals that were sent before the execution starts.
    pub(crate) signals: Vec<(&'static str, Vec<u8>)>,
    pub(crate) start: Timestamp,
    pub(crate) takes: BTreeMap<String, RefCell<Takes>>,
    /// How long a transaction may be open, in real time.
    pub(crate) transaction_limit: Duration,
    /// How long a turn may take, in real time.
    pub(crate) turn_limit: Duration,
    /// The changes whose points the execution had passed before they were made.
    pub(crate) unpatched: BTreeSet<String>,
    pub(crate) workflows: BTreeMap<String, Rc<RefCell<WorkflowStub>>>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            activities: BTreeMap::new(),
            config: BTreeMap::new(),
            database: None,
            deployment: "test".to_owned(),
            down: Vec::new(),
            entities: Vec::new(),
            execution_id: None,
            http: None,
            modules: BTreeMap::new(),
            namespace: "test".to_owned(),
            signals: Vec::new(),
            // The first of January 2030.
            start: Timestamp::from_unix_seconds(1_893_456_000),
            takes: BTreeMap::new(),
            transaction_limit: transaction::LIMIT,
            turn_limit: watchdog::TURN_LIMIT,
            unpatched: BTreeSet::new(),
            workflows: BTreeMap::new(),
        }
    }
}
