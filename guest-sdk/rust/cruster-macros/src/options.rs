//! The list in the parentheses of an attribute: `name = value, name(values)`.

use std::ops::RangeInclusive;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, Token, Type, parenthesized, token};

use crate::names;
use crate::problems::Problems;
use crate::stateless;

/// One entry of the list.
pub(crate) struct Opt {
    pub(crate) name: Ident,
    pub(crate) value: Value,
}

/// The part behind the name of an option.
pub(crate) enum Value {
    /// Nothing: `hash`.
    Absent,
    /// `= expression`.
    Is(Expr),
    /// `= type`.
    Type(Box<Type>),
    /// `(tokens)`.
    List(TokenStream),
}

/// The option whose value is a type. Not every type reads as an expression.
const TYPED: &str = "answer";

impl Parse for Opt {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        // `crate` is a keyword and the name of an option.
        let name = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            if input.is_empty() || input.peek(Token![,]) {
                return Err(syn::Error::new(
                    name.span(),
                    format!("`{name} =` has no value"),
                ));
            }
            match name == TYPED {
                true => Value::Type(input.parse()?),
                false => Value::Is(input.parse()?),
            }
        } else if input.peek(token::Paren) {
            let inner;
            parenthesized!(inner in input);
            Value::List(inner.parse()?)
        } else {
            Value::Absent
        };
        Ok(Opt { name, value })
    }
}

/// Reads the list and refuses names that `known` does not have, and names that
/// come twice. `attribute` is as the author wrote it, for messages.
pub(crate) fn parse(
    attribute: &str,
    known: &[&str],
    tokens: TokenStream,
    problems: &mut Problems,
) -> Vec<Opt> {
    let parsed = Punctuated::<Opt, Token![,]>::parse_terminated.parse2(tokens);
    let mut options: Vec<Opt> = Vec::new();
    for option in problems.keep(parsed).into_iter().flatten() {
        let name = option.name.to_string();
        if !known.contains(&name.as_str()) {
            problems.add(&option.name, unknown(attribute, known, &name));
        } else if options.iter().any(|o| o.name == option.name) {
            problems.add(&option.name, format!("`{name}` is given twice"));
        } else {
            options.push(option);
        }
    }
    options
}

/// Names of options in other systems, and their names here.
const ALSO_KNOWN_AS: [(&str, &str); 26] = [
    ("accepts", "signals"),
    ("answers", "queries"),
    ("search_attributes", "attributes"),
    ("takes", "updates"),
    ("validate", "validated"),
    ("validator", "validated"),
    ("publishes", "state"),
    ("attempts", "retries"),
    ("delay", "base"),
    ("groups", "activity_groups"),
    ("groups", "rpc_groups"),
    ("id", "key"),
    ("idempotency_key", "key"),
    ("initial_interval", "base"),
    ("interval", "base"),
    ("output", "answer"),
    ("mailbox", "mailbox_capacity"),
    ("max_attempts", "retries"),
    ("max_retries", "retries"),
    ("raw", "hash"),
    ("reply", "answer"),
    ("rename", "name"),
    ("retry", "retries"),
    ("returns", "answer"),
    ("start_to_close_timeout", "timeout"),
    ("strategy", "backoff"),
];

/// Options that another attribute has.
const ELSEWHERE: [(&str, &str, &[&str]); 7] = [
    (
        "#[workflow]",
        "#[workflow_impl]",
        &[
            "key",
            "hash",
            "activity_groups",
            "signals",
            "queries",
            "updates",
            "state",
            "attributes",
            "name",
        ],
    ),
    (
        "#[workflow_impl]",
        "#[activity]",
        &["retries", "backoff", "base", "jitter", "timeout"],
    ),
    (
        "#[activity_group]",
        "#[activity_group_impl]",
        &["retries", "backoff", "base", "jitter", "timeout", "name"],
    ),
    ("#[activity_group_impl]", "#[activity]", &["key"]),
    ("#[entity]", "#[entity_impl]", &["rpc_groups"]),
    ("#[entity_impl]", "#[entity]", ON_ENTITY),
    ("#[operations]", "#[stateful_entity]", ON_ENTITY),
];

/// The options of an entity.
const ON_ENTITY: &[&str] = &[
    "name",
    "mailbox_capacity",
    "concurrency",
    "max_idle_time_secs",
    "shard_group",
    "migrate",
];

fn unknown(attribute: &str, known: &[&str], name: &str) -> String {
    if name == "state" {
        return match attribute {
            "#[entity]" | "#[entity_impl]" | "#[rpc_group]" => stateless::ENTITIES.to_string(),
            _ => stateless::WORKFLOWS.to_string(),
        };
    }
    if let Some((_, other, _)) = ELSEWHERE
        .iter()
        .find(|(a, _, names)| *a == attribute && names.contains(&name))
    {
        return format!("`{name}` is an option of `{other}`, not of `{attribute}`");
    }
    let alias = ALSO_KNOWN_AS
        .iter()
        .find(|(a, n)| *a == name && known.contains(n))
        .map(|(_, n)| *n);
    let meant = match alias.or_else(|| names::closest(name, known)) {
        Some(close) => format!(": did you mean `{close}`?"),
        None => String::new(),
    };
    format!(
        "`{attribute}` has no option `{name}`{meant}\nhelp: it takes {}",
        names::list(known)
    )
}

impl Opt {
    /// The expression behind `=`.
    pub(crate) fn expr(&self, example: &str) -> syn::Result<&Expr> {
        match &self.value {
            Value::Is(expr) => Ok(unwrap_groups(expr)),
            Value::Absent | Value::Type(_) | Value::List(_) => Err(syn::Error::new(
                self.name.span(),
                format!("`{}` takes a value: `{example}`", self.name),
            )),
        }
    }

    pub(crate) fn string(&self, example: &str) -> syn::Result<LitStr> {
        match self.expr(example)? {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Ok(text.clone()),
            other => Err(self.wrong(other, "a string", example)),
        }
    }

    pub(crate) fn bool(&self, example: &str) -> syn::Result<bool> {
        match self.expr(example)? {
            Expr::Lit(ExprLit {
                lit: Lit::Bool(value),
                ..
            }) => Ok(value.value),
            other => Err(self.wrong(other, "`true` or `false`", example)),
        }
    }

    /// An option without a value.
    pub(crate) fn flag(&self, example: &str) -> syn::Result<()> {
        match &self.value {
            Value::Absent => Ok(()),
            _ => Err(syn::Error::new(
                self.name.span(),
                format!("`{}` takes no value: `{example}`", self.name),
            )),
        }
    }

    /// A path, as in `crate = path`.
    pub(crate) fn path(&self, example: &str) -> syn::Result<Path> {
        match self.expr(example)? {
            Expr::Path(path) if path.qself.is_none() => Ok(path.path.clone()),
            other => Err(self.wrong(other, "a path", example)),
        }
    }

    /// The type behind `=`.
    pub(crate) fn type_of(&self, example: &str) -> syn::Result<Type> {
        match &self.value {
            Value::Type(ty) => Ok(Type::clone(ty)),
            _ => Err(syn::Error::new(
                self.name.span(),
                format!("`{}` is a type: `{example}`", self.name),
            )),
        }
    }

    /// The paths in `name(A, B)`.
    pub(crate) fn paths(&self, example: &str) -> syn::Result<Vec<Path>> {
        let wrong = || format!("`{}` takes a list in parentheses: `{example}`", self.name);
        match &self.value {
            Value::Absent => Err(syn::Error::new(self.name.span(), wrong())),
            Value::Is(expr) => Err(syn::Error::new_spanned(expr, wrong())),
            Value::Type(ty) => Err(syn::Error::new_spanned(ty, wrong())),
            Value::List(tokens) => {
                let paths =
                    Punctuated::<Path, Token![,]>::parse_terminated.parse2(tokens.clone())?;
                Ok(paths.into_iter().collect())
            }
        }
    }

    /// A whole number in a range.
    pub(crate) fn number(&self, range: RangeInclusive<u32>, example: &str) -> syn::Result<u32> {
        let (least, most) = (range.start(), range.end());
        let what = format!("a whole number from {least} to {most}");
        match self.expr(example)? {
            Expr::Lit(ExprLit {
                lit: Lit::Int(number),
                ..
            }) => match number.base10_parse::<u32>() {
                Ok(value) if range.contains(&value) => Ok(value),
                _ => Err(self.wrong(number, &what, example)),
            },
            other => Err(self.wrong(other, &what, example)),
        }
    }

    /// A name of a workflow or activity.
    pub(crate) fn name(&self, example: &str) -> syn::Result<String> {
        let text = self.string(example)?;
        match names::complain(&text.value()) {
            Some(complaint) => Err(syn::Error::new(text.span(), complaint)),
            None => Ok(text.value()),
        }
    }

    /// The error of a value that the option does not take.
    pub(crate) fn wrong(&self, place: impl ToTokens, what: &str, example: &str) -> syn::Error {
        syn::Error::new_spanned(place, format!("`{}` is {what}: `{example}`", self.name))
    }
}

/// An expression from a `macro_rules!` fragment is wrapped in an invisible group.
fn unwrap_groups(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => unwrap_groups(&group.expr),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn errors(tokens: TokenStream) -> String {
        let mut problems = Problems::default();
        parse(
            "#[activity]",
            &["retries", "backoff", "timeout"],
            tokens,
            &mut problems,
        );
        problems.report().to_string()
    }

    #[test]
    fn a_list_of_options() {
        let mut problems = Problems::default();
        let tokens = quote! { key = |r: &Request| (r.a, r.b), hash = false, activity_groups(A, b::C), crate = ::sdk };
        let options = parse(
            "#[workflow_impl]",
            &["key", "hash", "activity_groups", "crate"],
            tokens,
            &mut problems,
        );
        assert_eq!(problems.count(), 0);
        assert!(matches!(options[0].expr("").unwrap(), Expr::Closure(_)));
        assert!(!options[1].bool("").unwrap());
        assert_eq!(options[2].paths("").unwrap().len(), 2);
        assert_eq!(options[3].path("").unwrap().segments.len(), 1);
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        assert!(errors(quote! { retires = 3 }).contains("did you mean `retries`?"));
        assert!(errors(quote! { max_attempts = 3 }).contains("did you mean `retries`?"));
        assert!(!errors(quote! { colour = 3 }).contains("did you mean"));
        assert!(
            errors(quote! { colour = 3 }).contains("it takes `retries`, `backoff` and `timeout`")
        );
        assert!(errors(quote! { state = 3 }).contains("workflows are stateless"));
    }

    #[test]
    fn lists_that_are_no_lists() {
        assert!(errors(quote! { retries = 1, retries = 2 }).contains("given twice"));
        assert!(errors(quote! { retries = }).contains("`retries =` has no value"));
        assert!(errors(quote! { "retries" }).contains("expected"));
    }
}
