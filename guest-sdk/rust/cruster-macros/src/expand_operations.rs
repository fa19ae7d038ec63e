//! `#[operations]`: its expansion.
//!
//! The methods stay where they are. Beside them come the implementations of `Entity` and
//! `StatefulEntity`, by which the host runs them, and `__AccountClient`, which has a method
//! for each of them and makes the calls of workflows and of other entities.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{AttrStyle, Attribute, ImplItemFn, Path};

use crate::implementation::is;
use crate::operation::{Operation, value_of};
use crate::signature;

/// The parts of the expansion.
pub(crate) struct Entity<'a> {
    pub(crate) sdk: &'a Path,
    pub(crate) target: &'a Path,
    pub(crate) operations: &'a [Operation],
    /// Whether it takes the context, and the method.
    pub(crate) on_create: Option<&'a (bool, ImplItemFn)>,
    pub(crate) attrs: &'a [Attribute],
}

impl Entity<'_> {
    pub(crate) fn code(&self) -> TokenStream {
        let conditions = self.attrs.iter().filter(|a| is(a, "cfg"));
        let inputs = self
            .operations
            .iter()
            .map(|o| o.parameters.input_struct(self.sdk, o.conditions()));
        let (definition, entity, client) = (self.definition(), self.entity(), self.client());
        quote! {
            #(#conditions)*
            const _: () = {
                #(#inputs)*
                #definition
                #entity
                #client
            };
        }
    }

    fn definition(&self) -> TokenStream {
        let (sdk, target) = (self.sdk, self.target);
        let entries = self.operations.iter().map(|o| o.entry(sdk));
        quote! {
            impl #sdk::Entity for #target {
                const NAME: &'static str = <#target as #sdk::EntityState>::OPTIONS.name;
                const DEFINITION: #sdk::__private::EntityDefinition = #sdk::__private::EntityDefinition {
                    options: <#target as #sdk::EntityState>::OPTIONS,
                    state: ::core::option::Option::Some(#sdk::__private::StateDefinition {
                        shape: <#target as #sdk::schema::Schema>::schema,
                        version: <#target as #sdk::EntityState>::VERSION,
                    }),
                    operations: &[#(#entries),*],
                    groups: &[],
                    run: #sdk::__private::run_operations::<#target>,
                    info: #sdk::__private::EntityDefinition::describe,
                };
            }
        }
    }

    fn entity(&self) -> TokenStream {
        let (sdk, target) = (self.sdk, self.target);
        let arms = self.operations.iter().map(|o| o.arm(sdk, target));
        let created = match self.on_create {
            None => quote! { ::core::result::Result::Ok(()) },
            Some((with_context, method)) => {
                let cx = with_context.then(|| quote!(cx));
                let call = quote!(#target::on_create(self, #cx));
                match value_of(&method.sig.output).1 {
                    true => {
                        quote! { ::core::result::Result::map_err(#call, ::core::convert::Into::into) }
                    }
                    false => quote! { #call; ::core::result::Result::Ok(()) },
                }
            }
        };
        quote! {
            #[allow(unused_variables, deprecated)]
            impl #sdk::StatefulEntity for #target {
                fn perform(
                    &mut self,
                    name: &str,
                    cx: &#sdk::EntityContext,
                    input: &[u8],
                ) -> #sdk::Result<::std::vec::Vec<u8>> {
                    match name {
                        #(#arms)*
                        _ => ::core::result::Result::Err(#sdk::__private::unknown_operation::<#target>(name)),
                    }
                }

                fn created(&mut self, cx: &#sdk::EntityContext) -> #sdk::Result<()> {
                    #created
                }
            }
        }
    }

    fn client(&self) -> TokenStream {
        let (sdk, target) = (self.sdk, self.target);
        let last = target.segments.last().map(|s| signature::plain(&s.ident));
        let name = last.unwrap_or_default();
        let client = format_ident!("__{name}Client");
        let calls = self.operations.iter().map(|o| o.call(sdk));
        let docs = [
            format!(" Calls the `{name}` with an id, from a workflow; an operation of another"),
            " entity can send to it.".to_string(),
        ];
        quote! {
            #[doc(hidden)]
            pub struct #client<'__cx, __C> {
                __cx: &'__cx __C,
                __entity: ::std::string::String,
            }

            // The types of a private entity's values may be private too, and not every operation has a caller yet.
            #[allow(private_interfaces, dead_code)]
            impl<__C: #sdk::CallsEntities> #client<'_, __C> {
                #(#calls)*
            }

            impl #target {
                #(#[doc = #docs])*
                pub fn client<__C: #sdk::CallsEntities>(
                    cx: &__C,
                    id: impl ::core::convert::Into<::std::string::String>,
                ) -> #client<'_, __C> {
                    #client {
                        __cx: cx,
                        __entity: #sdk::__private::entity_name::<#target>(cx, id),
                    }
                }
            }
        }
    }
}

impl Operation {
    /// Attributes that decide whether the operation exists at all.
    fn conditions(&self) -> impl Iterator<Item = &Attribute> {
        self.item.attrs.iter().filter(|a| is(a, "cfg"))
    }

    fn entry(&self, sdk: &Path) -> TokenStream {
        let (name, read_only, value, input) = (
            &self.name,
            self.read_only,
            &self.value,
            self.parameters.input_type(),
        );
        let conditions = self.conditions();
        quote! {
            #(#conditions)*
            #sdk::__private::OperationDefinition {
                name: #name,
                input: <#input as #sdk::schema::Schema>::schema,
                output: <#value as #sdk::schema::Schema>::schema,
                persisted: false,
                read_only: #read_only,
                run: ::core::option::Option::None,
            }
        }
    }

    /// Runs the operation by its name.
    fn arm(&self, sdk: &Path, target: &Path) -> TokenStream {
        let (name, ident, input) = (
            &self.name,
            &self.item.sig.ident,
            self.parameters.input_type(),
        );
        let conditions = self.conditions();
        let (pattern, arguments) = self.parameters.arguments();
        let cx = self.with_context.then(|| quote!(cx,));
        let call = quote!(#target::#ident(self, #cx #arguments));
        let value = match self.fallible {
            true => {
                quote!(::core::result::Result::map_err(#call, ::core::convert::Into::<#sdk::Error>::into)?)
            }
            false => call,
        };
        quote! {
            #(#conditions)*
            #name => {
                let #pattern: #input = #sdk::__private::operation_input(name, input)?;
                #sdk::__private::operation_output(name, &#value)
            }
        }
    }

    /// The method of the client.
    fn call(&self, sdk: &Path) -> TokenStream {
        let (name, ident, value) = (&self.name, &self.item.sig.ident, &self.value);
        let carried = self
            .item
            .attrs
            .iter()
            .filter(|a| matches!(a.style, AttrStyle::Outer))
            .filter(|a| is(a, "doc") || is(a, "cfg") || is(a, "deprecated"));
        let (names, types) = (self.parameters.names(), self.parameters.types());
        let (prepare, input, _) = self.parameters.input_value();
        quote! {
            #(#carried)*
            #[allow(clippy::too_many_arguments)]
            #[track_caller]
            pub fn #ident(&self, #(#names: #types),*) -> __C::Call<#value> {
                #prepare
                let __message = #sdk::__private::message(
                    ::core::clone::Clone::clone(&self.__entity),
                    #name,
                    #input,
                );
                #sdk::CallsEntities::prepare(self.__cx, __message)
            }
        }
    }
}
