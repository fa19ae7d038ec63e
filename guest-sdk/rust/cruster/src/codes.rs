//! The error codes that an SDK itself uses, with the advice that goes with
//! each. The host's table is the complete one; a test holds the two together.

use crate::wire::Fault;

/// A code, what to do about it, and whether another attempt may help.
pub(crate) struct Code {
    pub(crate) code: &'static str,
    pub(crate) hint: &'static str,
    pub(crate) retryable: bool,
}

impl Code {
    /// A failure with this code.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault {
            code: self.code.to_owned(),
            hint: self.hint.to_owned(),
            message: message.into(),
            retryable: self.retryable,
            ..Fault::default()
        })
    }
}

macro_rules! codes {
    ($all:ident: $($name:ident = $code:literal, $hint:literal, $retryable:literal;)*) => {
        $(pub(crate) const $name: Code = Code { code: $code, hint: $hint, retryable: $retryable };)*

        #[cfg(test)]
        pub(crate) const $all: &[Code] = &[$($name),*];
    };
}

codes! { ALL:
    BAD_INPUT = "CR-2002", "Compare the input with the type shown by 'cruster-host module describe NAME'.", false;
    PAYLOAD_TOO_LARGE = "CR-2005", "Keep large data in your database or object store and pass a reference.", false;
    WORKFLOW_FAILED = "CR-2006", "The message is the workflow's own; 'cruster-host workflow history' shows its steps.", false;
    INTERRUPTED = "CR-2007", "Somebody interrupted the execution; its cleanup has run.", false;
    DEFERRED_REJECTED = "CR-2014", "The message is that of whoever rejected it.", false;
    KEY_FUNCTION = "CR-2017", "The key function must return a string for every request.", false;
    ACTIVITY_FAILED = "CR-3001", "The message is the activity's own.", true;
    UNKNOWN_ACTIVITY = "CR-3004", "Register the activity at package level, so that every instance knows it.", false;
    BAD_BODY = "CR-4001", "Build the module with a guest SDK of the host's version; abi/ABI.md specifies the bodies.", false;
    WRONG_CONTEXT = "CR-4002", "Durable calls belong into a workflow's execute, side effects into activities.", false;
    GUEST_PROTOCOL = "CR-4009", "Build the module with an unmodified guest SDK.", false;
    UNKNOWN_INVOKE = "CR-4011", "Register workflows and activities at package level.", false;
}

/// Those that only the host uses: the test kit stands in for it.
#[cfg(not(target_family = "wasm"))]
mod of_the_host {
    use super::Code;

    codes! { ALL_OF_THE_HOST:
        UNKNOWN_WORKFLOW = "CR-2001", "Workflows are named DEPLOYMENT/NAME; 'cruster-host module list' shows them.", false;
        BAD_KEY = "CR-2003", "Keys are 1 to 512 bytes of UTF-8 without control characters.", false;
        EXECUTION_NOT_FOUND = "CR-2004", "Executions are named DEPLOYMENT/WORKFLOW/KEY; 'cruster-host workflow list' shows them.", false;
        ALREADY_OVER = "CR-2012", "Its result stays readable with 'cruster-host workflow poll'.", false;
        CALL_TO_ITSELF = "CR-2018", "Give the call another key or another request.", false;
        ACTIVITY_TIMEOUT = "CR-3002", "Raise the activity's timeout, or make its work shorter.", true;
        ACTIVITY_CRASHED = "CR-3003", "The message holds the end of what the module wrote to its standard error.", true;
        SQL = "CR-3101", "The message is the database's own.", true;
        HTTP_IN_TX = "CR-3202", "Call out before the activity's first SQL statement, or in an activity of its own: a transaction holds a writer that others wait for.", false;
        HTTP_FAILED = "CR-3203", "The message is that of the connection.", true;
        DEADLOCK = "CR-4012", "Look for a channel, lock or future that nobody serves.", false;
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) use of_the_host::*;
