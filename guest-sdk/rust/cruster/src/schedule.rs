//! Schedules that come with a module.

use std::time::Duration;

use crate::names::fail;
use crate::nanos::{clamp, nanos};
use crate::payload;
use crate::wire::{self, Encoded};
use crate::workflow::Workflow;

/// When a workflow is started while the module is deployed. List schedules in
/// [`module!`](crate::module), each with its workflow and the request of the runs:
///
/// ```
/// use cruster::prelude::*;
/// use cruster::{Overlap, Schedule};
///
/// #[workflow]
/// pub struct Report;
///
/// #[workflow_impl]
/// impl Report {
///     async fn execute(&self, days: u32) -> Result<u32, Error> {
///         Ok(days)
///     }
/// }
///
/// cruster::module! {
///     workflows: [Report],
///     schedules: [
///         Schedule::cron("nightly", "0 3 * * *").zone("Europe/Zurich") => Report(1),
///         Schedule::every("often", Duration::from_secs(600)).overlap(Overlap::Queue) => Report(7),
///     ],
/// }
/// # fn main() {}
/// ```
///
/// The host makes them when the module is deployed, and removes the ones missing from the next
/// module.
#[derive(Clone, Copy)]
#[must_use]
pub struct Schedule {
    pub(crate) name: &'static str,
    pub(crate) workflow: &'static str,
    input: fn() -> Vec<u8>,
    cron: &'static str,
    every: u64,
    always: bool,
    zone: &'static str,
    overlap: Overlap,
    jitter: u64,
    catch_up: u64,
    pub(crate) info: fn(&Schedule) -> Encoded,
}

/// The policy of a schedule if the previous run has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It leaves this one out.
    #[default]
    Skip,
    /// It starts when the run before has ended.
    Queue,
    /// It asks the run before to stop, and starts.
    Cancel,
    /// It starts beside it.
    Allow,
}

impl Overlap {
    const fn name(self) -> &'static str {
        match self {
            Overlap::Skip => "",
            Overlap::Queue => "queue",
            Overlap::Cancel => "cancel",
            Overlap::Allow => "allow",
        }
    }
}

impl Schedule {
    const fn new(name: &'static str) -> Self {
        Schedule {
            name,
            workflow: "",
            input: Vec::new,
            cron: "",
            every: 0,
            always: false,
            zone: "",
            overlap: Overlap::Skip,
            jitter: 0,
            catch_up: 0,
            info: Schedule::describe,
        }
    }

    /// Starts at the times of a cron expression, `"0 3 * * *"` or `"@daily"`, in UTC unless it
    /// has a [zone](Schedule::zone).
    ///
    /// # Panics
    ///
    /// If the expression is empty; in [`module!`](crate::module) that is a compile error, as are
    /// the panics below.
    pub const fn cron(name: &'static str, expression: &'static str) -> Self {
        if expression.is_empty() {
            fail(&["the schedule `", name, "` has an empty cron expression"]);
        }
        Schedule {
            cron: expression,
            ..Schedule::new(name)
        }
    }

    /// Starts at an interval.
    ///
    /// # Panics
    ///
    /// If it is zero.
    pub const fn every(name: &'static str, interval: Duration) -> Self {
        if interval.is_zero() {
            fail(&["the interval of the schedule `", name, "` is zero"]);
        }
        Schedule {
            every: nanos(interval),
            ..Schedule::new(name)
        }
    }

    /// Starts whenever the run before has ended: there is one at any time, on one host.
    pub const fn always(name: &'static str) -> Self {
        Schedule {
            always: true,
            ..Schedule::new(name)
        }
    }

    /// The time zone of a cron expression, by its IANA name.
    ///
    /// # Panics
    ///
    /// If the schedule has no cron expression.
    pub const fn zone(self, name: &'static str) -> Self {
        if self.cron.is_empty() {
            fail(&[
                "the schedule `",
                self.name,
                "` has a zone, but no cron expression",
            ]);
        }
        Schedule { zone: name, ..self }
    }

    /// The policy if the run before has not ended. Defaults to [`Overlap::Skip`].
    pub const fn overlap(self, overlap: Overlap) -> Self {
        Schedule { overlap, ..self }
    }

    /// By how much a start may be late, at random: so that not all begin at once.
    pub const fn jitter(self, time: Duration) -> Self {
        Schedule {
            jitter: nanos(time),
            ..self
        }
    }

    /// How late a start may be made up for that was missed while no host ran.
    pub const fn catch_up(self, time: Duration) -> Self {
        Schedule {
            catch_up: nanos(time),
            ..self
        }
    }

    /// For macros: the workflow, and how its request is made.
    #[doc(hidden)]
    pub const fn __starts<W: Workflow>(self, input: fn() -> Vec<u8>) -> Self {
        Schedule {
            workflow: W::NAME,
            input,
            ..self
        }
    }

    fn describe(&self) -> Encoded {
        let info = wire::ScheduleInfo {
            always: self.always,
            catch_up: clamp(self.catch_up),
            cron: self.cron.to_owned(),
            every: clamp(self.every),
            input: Some((self.input)()),
            jitter: clamp(self.jitter),
            name: self.name.to_owned(),
            overlap: self.overlap.name().to_owned(),
            workflow: self.workflow.to_owned(),
            zone: self.zone.to_owned(),
        };
        Encoded::new(self.name, &info)
    }
}

/// The request of a schedule, encoded.
pub fn schedule_input<W: Workflow>(request: &W::Request) -> Vec<u8> {
    let what = format_args!("the request of a schedule of {}", W::NAME);
    payload::encode(what, request).unwrap_or_else(|e| panic!("{e}"))
}
