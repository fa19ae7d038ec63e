//! Collects compile errors.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The errors found in one item. A macro reports all of them at once, so that an
/// author can fix all of them at once.
#[derive(Default)]
pub(crate) struct Problems {
    errors: Option<syn::Error>,
    count: usize,
}

impl Problems {
    /// Adds an error that points at `place`.
    pub(crate) fn add(&mut self, place: impl ToTokens, text: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(place, text));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        self.count += 1;
        match &mut self.errors {
            Some(all) => all.combine(error),
            None => self.errors = Some(error),
        }
    }

    /// Takes the value of a result, and keeps its error.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|e| self.push(e)).ok()
    }

    /// How many errors there are so far. Compare before and after a step to see whether
    /// it found any.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The errors as `compile_error!` calls; nothing if there are none.
    pub(crate) fn report(self) -> TokenStream {
        self.errors
            .map(|e| e.to_compile_error())
            .unwrap_or_default()
    }
}
