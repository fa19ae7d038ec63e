//! The options of a start, beside its request.

use crate::cluster::request_id;
use crate::proto;

/// The effect of a start if a run under its key has ended. An open run is
/// found, whatever it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IfFinished {
    /// It answers with the ended run.
    #[default]
    Return,
    /// It starts a new run.
    Restart,
    /// It starts a new run, unless the ended run has completed.
    RestartFailed,
    /// It fails with `CR-2044`.
    Refuse,
}

impl IfFinished {
    fn wire(self) -> proto::IfFinished {
        match self {
            IfFinished::Return => proto::IfFinished::Return,
            IfFinished::Restart => proto::IfFinished::Restart,
            IfFinished::RestartFailed => proto::IfFinished::RestartFailed,
            IfFinished::Refuse => proto::IfFinished::Refuse,
        }
    }
}

/// The options of a start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    pub(crate) key: Option<proto::start_options::Idempotency>,
    pub(crate) if_finished: IfFinished,
    pub(crate) request_id: Option<String>,
}

impl Start {
    pub(crate) fn options(
        &self,
        namespace: &str,
        workflow: String,
        input: Option<proto::Payload>,
    ) -> proto::StartOptions {
        // A start that finds a run is known again by its key.
        let request_id = match self.if_finished {
            IfFinished::Return => self.request_id.clone().unwrap_or_default(),
            _ => request_id(self.request_id.as_deref()),
        };
        proto::StartOptions {
            namespace: namespace.to_owned(),
            workflow,
            input,
            if_finished: self.if_finished.wire().into(),
            request_id,
            idempotency: self.key.clone(),
        }
    }
}
