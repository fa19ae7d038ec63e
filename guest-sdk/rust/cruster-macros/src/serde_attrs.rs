//! The options of `#[serde(…)]` that decide the form of a type on the wire.
//!
//! serde reports errors in its attributes. This only reads them, and ignores attributes that it
//! does not know.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, LitStr, Token};

use crate::problems::Problems;

/// The options of a struct or an enum.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) rename_all: Option<Case>,
    pub(crate) default: bool,
    pub(crate) transparent: bool,
    /// The type is not written as its fields.
    pub(crate) opaque: bool,
}

/// The options of a field.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) rename: Option<String>,
    /// Other names that it is read from.
    pub(crate) aliases: Vec<String>,
    pub(crate) default: bool,
    pub(crate) flatten: bool,
    pub(crate) skip: bool,
    /// It may be left out when it is written, or is passed over when it is read.
    pub(crate) optional: bool,
    /// The value is not written as its type.
    pub(crate) opaque: bool,
}

impl Container {
    pub(crate) fn read(attrs: &[Attribute], problems: &mut Problems) -> Self {
        let mut found = Container::default();
        each(attrs, |meta| {
            match name(&meta).as_str() {
                "rename_all" => {
                    found.rename_all =
                        one_name(&meta, problems)?.and_then(|rule| Case::parse(&rule))
                }
                "default" => found.default = true,
                "transparent" => found.transparent = true,
                "from" | "try_from" | "into" | "remote" | "tag" | "content" | "untagged" => {
                    found.opaque = true
                }
                _ => {}
            }
            rest(&meta)
        });
        found
    }
}

impl Field {
    pub(crate) fn read(attrs: &[Attribute], problems: &mut Problems) -> Self {
        let mut found = Field::default();
        each(attrs, |meta| {
            match name(&meta).as_str() {
                "rename" => found.rename = one_name(&meta, problems)?,
                "alias" => {
                    let alias = meta.value()?.parse::<LitStr>()?;
                    found.aliases.push(alias.value());
                }
                "default" => found.default = true,
                "flatten" => found.flatten = true,
                "skip" => found.skip = true,
                "skip_serializing" | "skip_serializing_if" | "skip_deserializing" => {
                    found.optional = true
                }
                "with" | "serialize_with" | "deserialize_with" => found.opaque = true,
                _ => {}
            }
            rest(&meta)
        });
        // A field that is neither written nor read is skipped.
        found.skip |= both_skips(attrs);
        found
    }
}

fn both_skips(attrs: &[Attribute]) -> bool {
    let (mut writing, mut reading) = (false, false);
    each(attrs, |meta| {
        writing |= meta.path.is_ident("skip_serializing");
        reading |= meta.path.is_ident("skip_deserializing");
        rest(&meta)
    });
    writing && reading
}

fn name(meta: &ParseNestedMeta) -> String {
    meta.path
        .get_ident()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Calls `f` for each option in each `#[serde(…)]`.
fn each(attrs: &[Attribute], mut f: impl FnMut(ParseNestedMeta) -> syn::Result<()>) {
    for attr in attrs.iter().filter(|a| a.path().is_ident("serde")) {
        // serde reports attributes that do not parse.
        let _ = attr.parse_nested_meta(&mut f);
    }
}

/// The string of `rename = "x"`. Two names, one for writing and one for reading, cannot
/// work here: a workflow reads its own writes from its journal.
fn one_name(meta: &ParseNestedMeta, problems: &mut Problems) -> syn::Result<Option<String>> {
    if meta.input.peek(Token![=]) {
        return Ok(Some(meta.value()?.parse::<LitStr>()?.value()));
    }
    let mut names: Vec<(bool, LitStr)> = Vec::new();
    meta.parse_nested_meta(|inner| {
        names.push((inner.path.is_ident("serialize"), inner.value()?.parse()?));
        Ok(())
    })?;
    match names.as_slice() {
        [(a, written), (b, read)] if a != b && written.value() == read.value() => {
            Ok(Some(written.value()))
        }
        _ => {
            problems.add(
                &meta.path,
                "a value of a workflow is written and read back, so it has one name for both\nhelp: write `rename = \"…\"`; \
                 to read an older name too, add `alias = \"…\"`",
            );
            Ok(None)
        }
    }
}

/// Consumes the rest of an option, so that the next one can be read.
fn rest(meta: &ParseNestedMeta) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let inner;
        syn::parenthesized!(inner in meta.input);
        inner.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}

/// The rules of `rename_all`, as serde applies them to fields, whose names are taken to
/// be in snake case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Case {
    AsIs,
    Upper,
    Pascal,
    Camel,
    Kebab,
    UpperKebab,
}

impl Case {
    fn parse(rule: &str) -> Option<Case> {
        match rule {
            "lowercase" | "snake_case" => Some(Case::AsIs),
            "UPPERCASE" | "SCREAMING_SNAKE_CASE" => Some(Case::Upper),
            "PascalCase" => Some(Case::Pascal),
            "camelCase" => Some(Case::Camel),
            "kebab-case" => Some(Case::Kebab),
            "SCREAMING-KEBAB-CASE" => Some(Case::UpperKebab),
            _ => None,
        }
    }

    pub(crate) fn apply(self, field: &str) -> String {
        match self {
            Case::AsIs => field.to_string(),
            Case::Upper => field.to_ascii_uppercase(),
            Case::Kebab => field.replace('_', "-"),
            Case::UpperKebab => field.to_ascii_uppercase().replace('_', "-"),
            Case::Pascal => pascal(field),
            Case::Camel => {
                let pascal = pascal(field);
                match pascal.chars().next() {
                    Some(first) => {
                        first.to_ascii_lowercase().to_string() + &pascal[first.len_utf8()..]
                    }
                    None => pascal,
                }
            }
        }
    }
}

fn pascal(field: &str) -> String {
    let mut out = String::new();
    let mut capital = true;
    for c in field.chars() {
        if c == '_' {
            capital = true;
        } else {
            out.push(if capital { c.to_ascii_uppercase() } else { c });
            capital = false;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn rules_of_rename_all() {
        let cases = [
            ("lowercase", "order_id"),
            ("UPPERCASE", "ORDER_ID"),
            ("PascalCase", "OrderId"),
            ("camelCase", "orderId"),
            ("snake_case", "order_id"),
            ("SCREAMING_SNAKE_CASE", "ORDER_ID"),
            ("kebab-case", "order-id"),
            ("SCREAMING-KEBAB-CASE", "ORDER-ID"),
        ];
        for (rule, want) in cases {
            assert_eq!(Case::parse(rule).unwrap().apply("order_id"), want, "{rule}");
        }
        assert_eq!(Case::parse("Title Case"), None);
    }

    #[test]
    fn options_of_a_field() {
        let mut problems = Problems::default();
        let attrs: Vec<Attribute> = vec![
            parse_quote!(#[serde(bound(serialize = "T: X"), default = "path::to", rename = "id")]),
            parse_quote!(#[serde(alias = "old", skip_serializing_if = "Option::is_none", flatten)]),
        ];
        let field = Field::read(&attrs, &mut problems);
        assert_eq!(problems.count(), 0);
        assert_eq!(field.rename.as_deref(), Some("id"));
        assert_eq!(field.aliases, ["old"]);
        assert!(field.default && field.optional && field.flatten && !field.skip && !field.opaque);
    }

    #[test]
    fn skipped_both_ways_is_skipped() {
        let mut problems = Problems::default();
        let attrs: Vec<Attribute> =
            vec![parse_quote!(#[serde(skip_serializing, skip_deserializing)])];
        assert!(Field::read(&attrs, &mut problems).skip);
        let attrs: Vec<Attribute> = vec![parse_quote!(#[serde(skip_serializing)])];
        assert!(!Field::read(&attrs, &mut problems).skip);
    }

    #[test]
    fn a_name_for_each_direction_is_refused() {
        let mut problems = Problems::default();
        let attrs: Vec<Attribute> =
            vec![parse_quote!(#[serde(rename(serialize = "a", deserialize = "a"), default)])];
        let field = Field::read(&attrs, &mut problems);
        assert_eq!(
            (field.rename.as_deref(), field.default, problems.count()),
            (Some("a"), true, 0)
        );

        let attrs: Vec<Attribute> =
            vec![parse_quote!(#[serde(rename(serialize = "a", deserialize = "b"))])];
        Field::read(&attrs, &mut problems);
        assert!(problems.report().to_string().contains("one name for both"));
    }
}
