//! `Self` in bodies that move to another type.
//!
//! The methods of `impl ProcessOrder` move to generated types. `Self` would mean one of
//! those there; the author means `ProcessOrder`.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ImplItemFn, Item, Macro, Path};

/// Puts a struct's path wherever its methods say `Self`.
pub(crate) struct Rename<'a>(pub(crate) &'a Path);

impl Rename<'_> {
    pub(crate) fn method(&mut self, method: &mut ImplItemFn) {
        self.visit_signature_mut(&mut method.sig);
        self.visit_block_mut(&mut method.block);
    }

    pub(crate) fn expr(&mut self, expr: &Expr) -> Expr {
        let mut renamed = expr.clone();
        self.visit_expr_mut(&mut renamed);
        renamed
    }

    /// The path, placed where `Self` stood, so that errors and editors point there.
    fn at(&self, place: &Ident) -> Path {
        let mut path = self.0.clone();
        for segment in &mut path.segments {
            segment.ident.set_span(place.span());
        }
        path
    }

    fn tokens(&self, tokens: TokenStream) -> TokenStream {
        tokens
            .into_iter()
            .flat_map(|tree| match tree {
                TokenTree::Ident(ident) if ident == "Self" => self.at(&ident).into_token_stream(),
                TokenTree::Group(group) => {
                    let mut renamed = Group::new(group.delimiter(), self.tokens(group.stream()));
                    renamed.set_span(group.span());
                    TokenTree::Group(renamed).into()
                }
                other => other.into(),
            })
            .collect()
    }
}

impl VisitMut for Rename<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        let first = &path.segments[0];
        if path.leading_colon.is_none() && first.ident == "Self" {
            let mut renamed = self.at(&first.ident);
            renamed
                .segments
                .extend(path.segments.iter().skip(1).cloned());
            *path = renamed;
        }
        visit_mut::visit_path_mut(self, path);
    }

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        mac.tokens = self.tokens(mac.tokens.clone());
    }

    // An item inside a body has its own `Self`, or none.
    fn visit_item_mut(&mut self, _: &mut Item) {}
}

#[cfg(test)]
mod tests {
    use super::Rename;
    use quote::{ToTokens, quote};
    use syn::{ImplItemFn, parse_quote};

    #[test]
    fn self_becomes_the_struct() {
        let mut method: ImplItemFn = parse_quote! {
            fn helper(&self, other: Option<Self>) -> Self {
                struct Inner;
                impl Inner { fn new() -> Self { Self } }
                let a = Self::LIMIT + Self::pure::<Self>(1);
                let b = <Self as Default>::default();
                let c = Self { field: 1, ..b };
                vec![Self::pure(a), (Self::pure)(a)];
                self.go(c)
            }
        };
        Rename(&parse_quote!(crate::Order)).method(&mut method);
        let want = quote! {
            fn helper(&self, other: Option<crate::Order>) -> crate::Order {
                struct Inner;
                impl Inner { fn new() -> Self { Self } }
                let a = crate::Order::LIMIT + crate::Order::pure::<crate::Order>(1);
                let b = <crate::Order as Default>::default();
                let c = crate::Order { field: 1, ..b };
                vec![crate::Order::pure(a), (crate::Order::pure)(a)];
                self.go(c)
            }
        };
        assert_eq!(method.into_token_stream().to_string(), want.to_string());
    }
}
