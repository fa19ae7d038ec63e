//! The options of `#[activity(…)]`, and the defaults of `#[activity_group_impl(…)]`.

use proc_macro2::TokenStream;
use syn::{Expr, ExprLit, Lit};

use crate::duration;
use crate::names;
use crate::options::{self, Opt};
use crate::problems::Problems;

/// The options of retrying and timing, which an activity may take from its group.
pub(crate) const POLICY: [&str; 5] = ["retries", "backoff", "base", "jitter", "timeout"];

/// All options of `#[activity]`.
const OPTIONS: [&str; 7] = [
    "retries", "backoff", "base", "jitter", "timeout", "name", "key",
];

/// How an activity is retried and how long an attempt may take. An option that was
/// not given is `None`.
#[derive(Clone, Default, Debug, PartialEq)]
pub(crate) struct Policy {
    pub(crate) retries: Option<u32>,
    pub(crate) backoff: Option<&'static str>,
    /// Nanoseconds.
    pub(crate) base: Option<i64>,
    pub(crate) jitter: Option<f64>,
    /// Nanoseconds.
    pub(crate) timeout: Option<i64>,
}

/// The options of one activity.
#[derive(Default)]
pub(crate) struct ActivityOptions {
    pub(crate) policy: Policy,
    pub(crate) name: Option<String>,
    pub(crate) key: Option<Expr>,
}

impl ActivityOptions {
    pub(crate) fn parse(tokens: TokenStream, problems: &mut Problems) -> Self {
        let mut parsed = ActivityOptions::default();
        for option in options::parse("#[activity]", &OPTIONS, tokens, problems) {
            let result = match option.name.to_string().as_str() {
                "name" => option
                    .name("name = \"reserve\"")
                    .map(|name| parsed.name = Some(name)),
                "key" => {
                    key(&option, "key = |items| items.id.clone()").map(|key| parsed.key = Some(key))
                }
                _ => parsed.policy.set(&option),
            };
            problems.keep(result);
        }
        parsed
    }
}

impl Policy {
    /// Sets one of the options of [`POLICY`].
    pub(crate) fn set(&mut self, option: &Opt) -> syn::Result<()> {
        match option.name.to_string().as_str() {
            "retries" => self.retries = Some(retries(option)?),
            "backoff" => self.backoff = Some(backoff(option)?),
            "base" => self.base = Some(nanoseconds(option, "base = \"1s\"")?),
            "jitter" => self.jitter = Some(jitter(option)?),
            "timeout" => self.timeout = Some(nanoseconds(option, "timeout = \"30s\"")?),
            _ => {}
        }
        Ok(())
    }

    /// This policy, with missing options taken from `defaults`.
    pub(crate) fn or(&self, defaults: &Policy) -> Policy {
        // A base belongs to the backoff that it was written beside.
        let (backoff, base) = match (self.backoff, self.base) {
            (None, None) => (defaults.backoff, defaults.base),
            own => own,
        };
        Policy {
            retries: self.retries.or(defaults.retries),
            backoff,
            base,
            jitter: self.jitter.or(defaults.jitter),
            timeout: self.timeout.or(defaults.timeout),
        }
    }

    /// The name of the backoff on the wire. A base alone means exponential delays;
    /// without either it is empty, for the host's default.
    pub(crate) fn backoff_name(&self) -> &'static str {
        match (self.backoff, self.base) {
            (Some(name), _) => name,
            (None, Some(_)) => "exponential",
            (None, None) => "",
        }
    }
}

fn retries(option: &Opt) -> syn::Result<u32> {
    let example = "retries = 3";
    match option.expr(example)? {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse().map_err(|_| {
            syn::Error::new(
                number.span(),
                format!("`retries` is at most {}, without a suffix", u32::MAX),
            )
        }),
        other => Err(option.wrong(
            other,
            "a whole number, how many attempts may follow the first",
            example,
        )),
    }
}

fn backoff(option: &Opt) -> syn::Result<&'static str> {
    const KNOWN: [&str; 2] = ["exponential", "constant"];
    let text = option.string("backoff = \"exponential\"")?;
    let value = text.value();
    if let Some(known) = KNOWN.into_iter().find(|k| *k == value) {
        return Ok(known);
    }
    let alias = match value.as_str() {
        "fixed" | "linear" | "none" => Some("constant"),
        other => names::closest(other, &KNOWN),
    };
    let meant = alias
        .map(|close| format!(": did you mean \"{close}\"?"))
        .unwrap_or_default();
    Err(syn::Error::new(
        text.span(),
        format!(
            "there is no backoff \"{value}\"{meant}\nhelp: delays double (\"exponential\") or stay the same (\"constant\")"
        ),
    ))
}

fn jitter(option: &Opt) -> syn::Result<f64> {
    let example = "jitter = 0.2";
    let what = "a fraction from 0 to 1";
    let expr = option.expr(example)?;
    let value = match expr {
        Expr::Lit(ExprLit {
            lit: Lit::Float(number),
            ..
        }) => number.base10_parse::<f64>().ok(),
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse::<f64>().ok(),
        _ => None,
    };
    match value {
        Some(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err(option.wrong(expr, what, example)),
    }
}

fn nanoseconds(option: &Opt, example: &str) -> syn::Result<i64> {
    match option.expr(example)? {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => duration::parse(&text.value()).map_err(|e| syn::Error::new(text.span(), e)),
        other => Err(option.wrong(other, "a string with a number and a unit", example)),
    }
}

/// The expression of a key: a closure, or the path of a function.
pub(crate) fn key(option: &Opt, example: &str) -> syn::Result<Expr> {
    match option.expr(example)? {
        Expr::Closure(closure) if closure.asyncness.is_some() => Err(syn::Error::new_spanned(
            closure.asyncness,
            "`key` cannot be async: it computes the key from the input alone\nhelp: remove `async`",
        )),
        expr @ (Expr::Closure(_) | Expr::Path(_)) => Ok(expr.clone()),
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Err(syn::Error::new(
            text.span(),
            format!("`key` is a closure that computes the key from the input: `{example}`"),
        )),
        other => Err(option.wrong(other, "a closure", example)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn parse(tokens: TokenStream) -> (ActivityOptions, String) {
        let mut problems = Problems::default();
        let options = ActivityOptions::parse(tokens, &mut problems);
        (options, problems.report().to_string())
    }

    #[test]
    fn everything_said() {
        let (options, errors) = parse(quote! {
            retries = 3, backoff = "constant", base = "100ms", jitter = 0.25, timeout = "30s", name = "x", key = |a, b| a.clone()
        });
        assert_eq!(errors, "");
        let want = Policy {
            retries: Some(3),
            backoff: Some("constant"),
            base: Some(100_000_000),
            jitter: Some(0.25),
            timeout: Some(30_000_000_000),
        };
        assert_eq!(options.policy, want);
        assert_eq!(options.name.as_deref(), Some("x"));
        assert!(matches!(options.key, Some(Expr::Closure(_))));
    }

    #[test]
    fn wrong_values() {
        let cases = [
            (quote! { retries = "3" }, "`retries` is a whole number"),
            (quote! { retries = -1 }, "`retries` is a whole number"),
            (quote! { retries = 4294967296 }, "at most 4294967295"),
            (quote! { retries }, "`retries` takes a value"),
            (
                quote! { backoff = "exponetial" },
                "did you mean \\\"exponential\\\"?",
            ),
            (
                quote! { backoff = "fixed" },
                "did you mean \\\"constant\\\"?",
            ),
            (quote! { backoff = "wild" }, "there is no backoff"),
            (quote! { base = 100 }, "a string with a number and a unit"),
            (quote! { timeout = "soon" }, "is not a duration"),
            (quote! { jitter = 1.5 }, "a fraction from 0 to 1"),
            (quote! { jitter = -0.5 }, "a fraction from 0 to 1"),
            (quote! { name = "a b" }, "is not a valid name"),
            (quote! { key = "order" }, "a closure that computes the key"),
            (
                quote! { key = async |order| order.id },
                "`key` cannot be async",
            ),
        ];
        for (tokens, want) in cases {
            let (_, errors) = parse(tokens);
            assert!(errors.contains(want), "{errors} should say {want}");
        }
    }

    #[test]
    fn a_group_fills_in_what_is_not_said() {
        let group = Policy {
            retries: Some(5),
            backoff: Some("constant"),
            base: Some(7),
            ..Policy::default()
        };
        let own = Policy {
            retries: Some(1),
            timeout: Some(9),
            ..Policy::default()
        };
        let merged = own.or(&group);
        assert_eq!(
            merged,
            Policy {
                retries: Some(1),
                timeout: Some(9),
                ..group.clone()
            }
        );

        // A backoff of its own does not run with the base of another.
        let own = Policy {
            backoff: Some("exponential"),
            ..Policy::default()
        };
        assert_eq!(
            own.or(&group),
            Policy {
                backoff: Some("exponential"),
                base: None,
                ..group
            }
        );
    }

    #[test]
    fn a_base_alone_is_exponential() {
        assert_eq!(Policy::default().backoff_name(), "");
        assert_eq!(
            Policy {
                base: Some(1),
                ..Policy::default()
            }
            .backoff_name(),
            "exponential"
        );
    }
}
