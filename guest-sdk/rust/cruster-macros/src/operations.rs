//! `#[operations]`: the block of an entity with a state.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ImplItem, ItemImpl, Path, parse_quote};

use crate::expand_operations::Entity;
use crate::implementation::{self, other_item};
use crate::method::Kind;
use crate::operation::{Member, read};
use crate::options;
use crate::problems::Problems;

/// Expands the attribute on an `impl` block.
pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let mut sdk: Path = parse_quote!(::cruster);
    for option in options::parse("#[operations]", &["crate"], attribute, &mut problems) {
        if let Some(path) = problems.keep(option.path("crate = ::cruster")) {
            sdk = path;
        }
    }
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            implementation::misplaced(Kind::Stateful, item.clone(), error, &mut problems);
            let (errors, item) = (problems.report(), other_item(item));
            return quote! { #errors #item };
        }
    };
    let target = implementation::target(Kind::Stateful, "#[operations]", &block, &mut problems);
    let mut operations = Vec::new();
    let mut on_create = None;
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let before = problems.count();
        let member = read(method, &mut problems);
        if problems.count() > before {
            // Without a body it causes no errors of the compiler on top of those reported.
            method.block = parse_quote!({ ::core::unreachable!() });
            method.attrs.push(parse_quote!(#[allow(unused)]));
        }
        match member {
            Some(Member::Operation(operation)) => operations.push(*operation),
            Some(Member::OnCreate(with_context)) => {
                on_create = Some((with_context, method.clone()))
            }
            None => {}
        }
    }
    let complete = problems.count() > 0 || !operations.is_empty();
    if let Some(target) = target.as_ref().filter(|_| !complete) {
        problems.add(
            target,
            "the entity has no operations\nhelp: add methods with `&mut self`, or with `&self` and `#[read_only]`",
        );
    }
    let code = target.filter(|_| problems.count() == 0).map(|target| {
        let entity = Entity {
            sdk: &sdk,
            target: &target,
            operations: &operations,
            on_create: on_create.as_ref(),
            attrs: &block.attrs,
        };
        entity.code()
    });
    let errors = problems.report();
    quote! { #errors #block #code }
}
