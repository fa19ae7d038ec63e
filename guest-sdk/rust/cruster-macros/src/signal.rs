//! `#[derive(Signal)]`: the name of a signal.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Meta, Path, parse_quote};

use crate::names;
use crate::options;
use crate::problems::Problems;
use crate::signature::plain;

/// Expands the derive.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    if !input.generics.params.is_empty() {
        problems.add(
            &input.generics,
            "a signal has no type parameters or lifetimes: the host knows it by its name alone",
        );
    }
    let options = Options::read(&input, &mut problems);
    if problems.count() > 0 {
        return problems.report();
    }
    let (sdk, ident, name) = (options.sdk, &input.ident, options.name);
    quote! {
        #[automatically_derived]
        impl #sdk::Signal for #ident {
            const NAME: &'static str = #name;
        }
    }
}

/// The options of `#[signal(…)]`.
struct Options {
    name: String,
    sdk: Path,
}

impl Options {
    fn read(input: &DeriveInput, problems: &mut Problems) -> Self {
        let mut given = None;
        let mut sdk: Path = parse_quote!(::cruster);
        for attr in input.attrs.iter().filter(|a| a.path().is_ident("signal")) {
            let Meta::List(list) = &attr.meta else {
                problems.add(
                    attr,
                    "the options of a signal go in parentheses: `#[signal(name = \"paid\")]`",
                );
                continue;
            };
            let tokens = list.tokens.clone();
            for option in options::parse("#[signal]", &["name", "crate"], tokens, problems) {
                if option.name == "name" {
                    given = problems.keep(option.name("name = \"paid\""));
                } else if let Some(path) = problems.keep(option.path("crate = ::cruster")) {
                    sdk = path;
                }
            }
        }
        let name = given.unwrap_or_else(|| snake_case(&plain(&input.ident)));
        if let Some(complaint) = names::complain(&name) {
            problems.add(
                &input.ident,
                format!(
                    "{complaint}\nhelp: give the signal another name with `#[signal(name = \"…\")]`"
                ),
            );
        }
        Options { name, sdk }
    }
}

/// `PaymentReceived` as `payment_received`, and `HTTPDone` as `http_done`.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, letter) in letters.iter().enumerate() {
        let starts_word = letter.is_uppercase()
            && i > 0
            && letters[i - 1] != '_'
            && (!letters[i - 1].is_uppercase()
                || letters.get(i + 1).is_some_and(|next| next.is_lowercase()));
        if starts_word {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_snake_case() {
        for (name, want) in [
            ("Paid", "paid"),
            ("PaymentReceived", "payment_received"),
            ("HTTPDone", "http_done"),
            ("Step2Done", "step2_done"),
            ("Paid_Twice", "paid_twice"),
            ("already_so", "already_so"),
        ] {
            assert_eq!(snake_case(name), want);
        }
    }
}
