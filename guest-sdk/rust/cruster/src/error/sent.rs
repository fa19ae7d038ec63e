//! Errors as the host gets them.

use crate::codes::{self, Code};
use crate::error::Error;
use crate::wire::Fault;

impl Error {
    /// Whether the error has neither context nor marks.
    fn is_bare(&self) -> bool {
        self.0.context.is_empty() && !self.0.last
    }

    /// The error under a code. The application's type and details are kept.
    pub(crate) fn under(&self, code: &Code) -> Box<Fault> {
        let mut out = code.fault(self.to_string());
        if let Some(f) = self.fault() {
            out.details.clone_from(&f.details);
            out.kind.clone_from(&f.kind);
            if self.is_bare() && own_words(&f.code) {
                out.message.clone_from(&f.message);
            }
        }
        out
    }

    /// The error of an answer, as the host gets it. One of an input that does not decode is not the
    /// workflow's.
    pub(crate) fn of_answer(&self, code: &Code) -> Box<Fault> {
        match self.fault() {
            Some(f) if self.0.misfit && f.code == codes::BAD_INPUT.code => Box::new(f.clone()),
            _ => self.under(code),
        }
    }

    /// The error of an activity, as the host gets it. A code of the host is kept, so
    /// that the host can tell a refused statement from a failure of the activity.
    pub(crate) fn of_activity(&self) -> Box<Fault> {
        let mut out = self.under(&codes::ACTIVITY_FAILED);
        if let Some(f) = self.fault() {
            out.retryable = f.retryable;
            if !own_words(&f.code) {
                out.code.clone_from(&f.code);
                out.hint.clone_from(&f.hint);
            }
            if self.is_bare() {
                out.message.clone_from(&f.message);
            }
        }
        out.retryable &= !self.0.last;
        out
    }

    /// The error of an operation, as the host gets it. It is its outcome: another attempt
    /// would be another call.
    pub(crate) fn of_operation(&self) -> Box<Fault> {
        let mut out = self.under(&codes::OPERATION_FAILED);
        if let Some(f) = self.fault().filter(|f| !own_words(&f.code)) {
            out.code.clone_from(&f.code);
            out.hint.clone_from(&f.hint);
            out.retryable = f.retryable;
            if self.is_bare() {
                out.message.clone_from(&f.message);
            }
        }
        out
    }

    /// The error of a workflow, as the host gets it.
    pub(crate) fn of_workflow(&self, interrupt_reason: &str) -> Box<Fault> {
        if !self.is_interrupted() {
            let mut out = self.under(&codes::WORKFLOW_FAILED);
            let coded = self.fault().filter(|f| !own_words(&f.code));
            if let Some(cause) = coded.filter(|f| !f.hint.is_empty()) {
                // It helps more than one on failed workflows in general.
                out.hint.clone_from(&cause.hint);
            }
            return out;
        }
        let mut message = self.to_string();
        if !interrupt_reason.is_empty() {
            message = format!("{message}: {interrupt_reason}");
        }
        codes::INTERRUPTED.fault(message)
    }
}

/// The codes whose messages are the application's own. The next error does not
/// repeat such a code in its text.
#[cold]
#[inline(never)]
fn own_words(code: &str) -> bool {
    [
        "",
        codes::ACTIVITY_FAILED.code,
        codes::WORKFLOW_FAILED.code,
        codes::DEFERRED_REJECTED.code,
        codes::OPERATION_FAILED.code,
    ]
    .contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload;

    #[test]
    fn an_input_that_does_not_decode_is_not_the_workflows() {
        let misfit = format_args!("the input of query q does not fit");
        let unfit = payload::decode::<u32>(b"\xa1x", &codes::BAD_INPUT, misfit).unwrap_err();
        let fault = unfit.of_answer(&codes::QUERY_FAILED);
        assert_eq!(fault.code, codes::BAD_INPUT.code);
        let begins = "the input of query q does not fit: ";
        assert!(fault.message.starts_with(begins), "{}", fault.message);
        assert_eq!(fault.hint, codes::BAD_INPUT.hint);
        let other = Error::from_fault(codes::WORKFLOW_FAILED.fault("no"));
        let fault = other.of_answer(&codes::QUERY_FAILED);
        assert_eq!(fault.code, codes::QUERY_FAILED.code);
        assert_eq!(fault.message, "no");
    }

    #[test]
    fn an_input_of_what_the_answer_has_called_is() {
        let called = Error::from_fault(codes::BAD_INPUT.fault("it does not fit activity a"));
        let fault = called.of_answer(&codes::QUERY_FAILED);
        assert_eq!(fault.code, codes::QUERY_FAILED.code);
        assert_eq!(fault.message, "CR-2002: it does not fit activity a");
    }
}
