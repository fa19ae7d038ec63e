//! The parameters of a method, as the input that is stored and sent: nothing, the one
//! parameter itself, or a struct of several under their names.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Attribute, Pat, PatType, Path, Type};

/// The parameters behind `self`.
pub(crate) struct Parameters {
    list: Vec<(Ident, Type)>,
    /// The struct of several.
    input: Ident,
}

impl Parameters {
    /// `None` if a parameter has no name.
    pub(crate) fn of<'a>(
        parameters: impl Iterator<Item = &'a PatType>,
        input: Ident,
    ) -> Option<Self> {
        let named = parameters.map(|parameter| match &*parameter.pat {
            Pat::Ident(pat) => Some((pat.ident.clone(), (*parameter.ty).clone())),
            _ => None,
        });
        let list = named.collect::<Option<_>>()?;
        Some(Parameters { list, input })
    }

    pub(crate) fn names(&self) -> Vec<&Ident> {
        self.list.iter().map(|(name, _)| name).collect()
    }

    pub(crate) fn types(&self) -> Vec<&Type> {
        self.list.iter().map(|(_, ty)| ty).collect()
    }

    /// The type that the input is decoded into.
    pub(crate) fn input_type(&self) -> TokenStream {
        match self.list.as_slice() {
            [] => quote!(()),
            [(_, ty)] => quote!(#ty),
            _ => {
                let input = &self.input;
                quote!(#input)
            }
        }
    }

    /// The struct that carries several parameters under their names.
    pub(crate) fn input_struct<'a>(
        &self,
        sdk: &Path,
        conditions: impl Iterator<Item = &'a Attribute>,
    ) -> TokenStream {
        if self.list.len() < 2 {
            return TokenStream::new();
        }
        let input = &self.input;
        let serde = quote!(#sdk::serde).to_string().replace(' ', "");
        let (names, types) = (self.names(), self.types());
        quote! {
            #(#conditions)*
            #[allow(non_camel_case_types)]
            #[derive(#sdk::serde::Serialize, #sdk::serde::Deserialize, #sdk::Schema)]
            #[serde(crate = #serde)]
            #[schema(crate = #sdk)]
            struct #input {
                #(#names: #types),*
            }
        }
    }

    /// The pattern that an input is bound to, and the arguments made of it.
    pub(crate) fn arguments(&self) -> (TokenStream, TokenStream) {
        let bound = local("input");
        match self.list.len() {
            0 => (quote!(()), quote!()),
            1 => (quote!(#bound), quote!(#bound)),
            _ => {
                let names = self.names();
                (quote!(#bound), quote!(#(#bound.#names),*))
            }
        }
    }

    /// How a call makes the input of its parameters: its first statements, a reference to the
    /// value, and references to each parameter.
    pub(crate) fn input_value(&self) -> (TokenStream, TokenStream, Vec<TokenStream>) {
        match self.list.as_slice() {
            [] => (quote!(), quote!(&()), Vec::new()),
            [(name, _)] => (quote!(), quote!(&#name), vec![quote!(&#name)]),
            _ => {
                let (input, bound, names) = (&self.input, local("input"), self.names());
                let references = names.iter().map(|name| quote!(&#bound.#name)).collect();
                (
                    quote! { let #bound = #input { #(#names),* }; },
                    quote!(&#bound),
                    references,
                )
            }
        }
    }
}

/// A local name that cannot collide with one of the author.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
