//! The error codes, with the advice that goes with each. The table is generated
//! from the one in Go, `abi.Codes`.

use crate::wire::Fault;

/// A code, its remedy, and whether another attempt may help.
pub struct Code {
    /// `CR-2001`.
    pub code: &'static str,
    /// Its remedy.
    pub hint: &'static str,
    /// Another attempt may help.
    pub retryable: bool,
}

impl Code {
    /// A failure with this code.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Box<Fault> {
        self.fault_of(message.into())
    }

    /// Not one for each type of message.
    #[cold]
    #[inline(never)]
    fn fault_of(&self, message: String) -> Box<Fault> {
        Box::new(Fault {
            code: self.code.to_owned(),
            hint: self.hint.to_owned(),
            message,
            retryable: self.retryable,
            ..Fault::default()
        })
    }
}

/// Makes a constant of each row.
macro_rules! table {
    ($($name:ident = $code:literal, $hint:literal, $retryable:literal;)*) => {
        $(
            #[doc = $hint]
            #[allow(dead_code)] // most codes are the host's alone
            pub const $name: $crate::codes::Code = $crate::codes::Code {
                code: $code,
                hint: $hint,
                retryable: $retryable,
            };
        )*
    };
}

mod table;

pub use table::*;
