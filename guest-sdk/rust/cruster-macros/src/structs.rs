//! `#[workflow]` and `#[activity_group]`: the structs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, ImplItemFn, Item, ItemStruct, Path, Token, punctuated::Punctuated};

use crate::implementation::{self, is};
use crate::method::Kind;
use crate::options;
use crate::problems::Problems;
use crate::stateless;

/// Expands the attribute on a struct.
pub(crate) fn expand(kind: Kind, attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    check_options(kind, attribute, &mut problems);
    let Some(mut definition) = read(kind, item.clone(), &mut problems) else {
        let errors = problems.report();
        return quote! { #errors #item };
    };
    check(kind, &mut definition, &mut problems);
    let default = default_of_unit(&definition);
    let errors = problems.report();
    quote! { #errors #definition #default }
}

/// The generated code does not use the SDK. The attribute takes the option because all
/// attributes of a workflow do.
fn check_options(kind: Kind, attribute: TokenStream, problems: &mut Problems) {
    for option in options::parse(kind.on_struct(), &["crate"], attribute, problems) {
        problems.keep(option.path("crate = ::cruster"));
    }
}

/// The struct; reports the attribute on anything else.
pub(crate) fn read(kind: Kind, item: TokenStream, problems: &mut Problems) -> Option<ItemStruct> {
    let (on_struct, on_block) = (kind.on_struct(), kind.on_block());
    let misplaced = format!("put `{on_struct}` on a struct");
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(definition)) => return Some(definition),
        Ok(Item::Impl(block)) => problems.add(
            &block.self_ty,
            format!("{misplaced}\nhelp: on an `impl` block, write `{on_block}`"),
        ),
        Ok(Item::Fn(function)) => problems.add(&function.sig.ident, on_function(kind, &misplaced)),
        Ok(Item::Enum(item)) => problems.add(&item.ident, misplaced),
        Ok(other) => problems.add(other, misplaced),
        Err(error) => match syn::parse2::<ImplItemFn>(item) {
            Ok(method) => problems.add(&method.sig.ident, on_function(kind, &misplaced)),
            Err(_) => problems.push(error),
        },
    }
    None
}

fn on_function(kind: Kind, misplaced: &str) -> String {
    match kind {
        Kind::Workflow => {
            "workflows have a single execute entry point; use client calls for cross-workflow interaction\n\
             help: put `#[workflow]` on a struct, and `#[workflow_impl]` on its `impl` block"
        }
        .to_string(),
        Kind::Group => format!(
            "{misplaced}\nhelp: mark a single activity, a method of a block, with `#[activity]`"
        ),
        Kind::Stateful | Kind::Entity | Kind::RpcGroup => misplaced.to_string(),
    }
}

fn check(kind: Kind, definition: &mut ItemStruct, problems: &mut Problems) {
    if !definition.generics.params.is_empty() {
        problems.add(
            &definition.generics,
            format!(
                "{} has no type parameters or lifetimes: the host knows it by its name alone",
                kind.noun()
            ),
        );
    }
    implementation::refuse_attributes(&definition.attrs, problems);
    implementation::strip(&mut definition.attrs);
    for field in &mut definition.fields {
        for attr in field.attrs.iter().filter(|a| is(a, "state")) {
            let advice = match kind {
                Kind::RpcGroup => stateless::ENTITIES,
                _ => stateless::WORKFLOWS,
            };
            problems.add(attr, advice);
        }
        implementation::strip(&mut field.attrs);
    }
}

/// A struct without fields has one value, which is its default.
pub(crate) fn default_of_unit(definition: &ItemStruct) -> TokenStream {
    if !definition.fields.is_empty()
        || derives_default(&definition.attrs)
        || !definition.generics.params.is_empty()
    {
        return TokenStream::new();
    }
    let name = &definition.ident;
    quote! {
        #[automatically_derived]
        impl ::core::default::Default for #name {
            fn default() -> Self {
                #name {}
            }
        }
    }
}

fn derives_default(attrs: &[Attribute]) -> bool {
    attrs
        .iter()
        .filter(|a| a.path().is_ident("derive"))
        .any(|derive| {
            derive
                .parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)
                .is_ok_and(|paths| {
                    paths
                        .iter()
                        .any(|p| p.segments.last().is_some_and(|s| s.ident == "Default"))
                })
        })
}

/// An attribute of methods outside of a block that reads it; `text` says where it goes.
pub(crate) fn outside(text: &str, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    match syn::parse2::<ImplItemFn>(item.clone()) {
        Ok(method) => problems.add(&method.sig.ident, text),
        Err(_) => problems.add(&item, text),
    }
    let errors = problems.report();
    quote! { #errors #item }
}
