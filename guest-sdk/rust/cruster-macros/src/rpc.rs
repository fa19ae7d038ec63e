//! `#[entity_impl]` and `#[rpc_group_impl]`: their expansion.
//!
//! For `Gateway`, inside an anonymous constant so that no name leaks:
//!
//! - `__GatewayCall`, the `self` of its RPCs, which dereferences to the context with the
//!   immediate calls.
//! - `__GatewayCalls<__Inner>`, a layer of a client with a method for each RPC. An entity's layer
//!   lies around the RPCs of its groups.
//! - the implementation of `Entity`, which holds the definition that `module!` lists, or of
//!   `RpcGroup`, and `client`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{AttrStyle, Attribute, Path, parse_quote};

use crate::expand_workflow::{associated, braces_at, last_span};
use crate::implementation::{is, other_item};
use crate::method::Kind;
use crate::options;
use crate::problems::Problems;
use crate::rpc_block::{Block, Rpc};
use crate::workflow::distinct;

/// Expands the attribute on an `impl` block.
pub(crate) fn expand(kind: Kind, attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let mut sdk: Path = parse_quote!(::cruster);
    let mut groups = Vec::new();
    let mut name = None;
    let known: &[&str] = match kind {
        Kind::Entity => &["rpc_groups", "crate"],
        _ => &["name", "crate"],
    };
    for option in options::parse(kind.on_block(), known, attribute, &mut problems) {
        let result = match option.name.to_string().as_str() {
            "crate" => option.path("crate = ::cruster").map(|path| sdk = path),
            "name" => option
                .name("name = \"Health\"")
                .map(|given| name = Some(given)),
            _ => distinct(&option, "group", "rpc_groups(HealthCheck)", &mut problems)
                .map(|paths| groups = paths),
        };
        problems.keep(result);
    }
    let block = Block::read(kind, item.clone(), &mut problems);
    if let Some(block) = &block {
        if block.rpcs.is_empty() && groups.is_empty() {
            let text = format!(
                "{} needs RPCs\nhelp: mark its methods with `#[rpc]`",
                kind.noun()
            );
            problems.add(&block.rest.target, text);
        }
        if kind == Kind::RpcGroup && name.is_none() {
            block.rest.check_group_name(&mut problems);
        }
    }
    let code = block.map(|block| {
        let struct_name = block.rest.plain_name();
        let prefix = match kind {
            Kind::RpcGroup => format!("{}.", name.as_ref().unwrap_or(&struct_name)),
            _ => String::new(),
        };
        let expansion = Expansion {
            sdk: &sdk,
            groups: &groups,
            prefix,
            call: format_ident!("__{struct_name}Call"),
            calls: format_ident!("__{struct_name}Calls"),
            block: &block,
        };
        expansion.code(kind)
    });
    let code = code.or_else(|| other_item(item));
    let errors = problems.report();
    quote! { #errors #code }
}

/// The parts of the expansion.
struct Expansion<'a> {
    sdk: &'a Path,
    groups: &'a [Path],
    block: &'a Block,
    /// The first part of the names of the RPCs: the name of their group.
    prefix: String,
    /// The type that RPCs have as `self`.
    call: Ident,
    /// The layer of clients.
    calls: Ident,
}

impl Expansion<'_> {
    fn code(&self, kind: Kind) -> TokenStream {
        let conditions = self.block.rest.attrs.iter().filter(|a| is(a, "cfg"));
        let rpcs = &self.block.rpcs;
        let inputs = rpcs
            .iter()
            .map(|rpc| rpc.parameters.input_struct(self.sdk, rpc.conditions()));
        let definition = match kind {
            Kind::Entity => self.entity(),
            _ => self.group(),
        };
        let parts = [
            self.bodies(),
            self.layer(),
            definition,
            self.distinct(),
            associated(&self.block.rest),
        ];
        quote! {
            #(#conditions)*
            const _: () = {
                #(#inputs)*
                #(#parts)*
            };
        }
    }

    /// The RPCs and their helpers.
    fn bodies(&self) -> TokenStream {
        let (sdk, target, call) = (self.sdk, &self.block.rest.target, &self.call);
        let attributes = self
            .block
            .rest
            .attrs
            .iter()
            .filter(|a| !is(a, "cfg") && !is(a, "doc"));
        let bodies = self.block.rpcs.iter().map(|rpc| &rpc.item);
        let helpers = &self.block.helpers;
        quote! {
            struct #call {
                __cx: #sdk::__private::RpcContext<#target>,
            }

            impl ::core::ops::Deref for #call {
                type Target = #sdk::__private::RpcContext<#target>;

                fn deref(&self) -> &Self::Target {
                    &self.__cx
                }
            }

            #(#attributes)*
            #[allow(clippy::unused_async)]
            impl #call {
                #(#bodies)*
                #(#helpers)*
            }
        }
    }

    /// The layer of clients with the calls of the RPCs.
    fn layer(&self) -> TokenStream {
        let (sdk, calls) = (self.sdk, &self.calls);
        let methods = self.block.rpcs.iter();
        let methods = methods.map(|rpc| rpc.call(sdk, &self.prefix));
        quote! {
            #[doc(hidden)]
            pub struct #calls<__Inner> {
                __inner: __Inner,
            }

            impl<__Inner> ::core::ops::Deref for #calls<__Inner> {
                type Target = __Inner;

                fn deref(&self) -> &__Inner {
                    &self.__inner
                }
            }

            impl<__Inner: #sdk::__private::ReachesEntity> #sdk::__private::ReachesEntity for #calls<__Inner> {
                type Caller = __Inner::Caller;

                #[track_caller]
                fn reach<__In: #sdk::serde::Serialize + ?Sized, __Out: #sdk::serde::de::DeserializeOwned>(
                    &self,
                    operation: &str,
                    input: &__In,
                ) -> #sdk::__private::Reached<Self, __Out> {
                    self.__inner.reach(operation, input)
                }
            }

            // The types of private values may be private too, and not every RPC has a caller yet.
            #[allow(private_interfaces, dead_code)]
            impl<__Inner: #sdk::__private::ReachesEntity> #calls<__Inner> {
                #(#methods)*
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = TokenStream> {
        self.block.rpcs.iter().map(|rpc| {
            let name = rpc.full_name(&self.prefix);
            rpc.entry(self.sdk, &name, &self.block.rest.target, &self.call)
        })
    }

    fn group(&self) -> TokenStream {
        let (sdk, target, calls) = (self.sdk, &self.block.rest.target, &self.calls);
        let entries = self.entries();
        quote! {
            impl #sdk::__private::Owner for #target {
                const DEFAULT: ::core::option::Option<fn() -> Self> =
                    ::core::option::Option::Some(<Self as ::core::default::Default>::default);
            }

            impl #sdk::__private::Group for #target {}

            impl #sdk::RpcGroup for #target {
                const OPERATIONS: &'static [#sdk::__private::OperationDefinition] = &[#(#entries),*];
                type Calls<__Inner: #sdk::__private::ReachesEntity> = #calls<__Inner>;

                fn calls<__Inner: #sdk::__private::ReachesEntity>(inner: __Inner) -> Self::Calls<__Inner> {
                    #calls { __inner: inner }
                }
            }
        }
    }

    fn entity(&self) -> TokenStream {
        let (sdk, target, calls) = (self.sdk, &self.block.rest.target, &self.calls);
        let entries = self.entries();
        let lists = self
            .groups
            .iter()
            .map(|g| quote_spanned!(g.span()=> <#g as #sdk::RpcGroup>::OPERATIONS));
        // The entity's own RPCs outermost, then its groups', the first before the others.
        let layers = self.groups.iter().rev().fold(
            quote!(#sdk::RemoteEntity<'_, __C>),
            |inner, group| quote_spanned!(group.span()=> <#group as #sdk::RpcGroup>::Calls<#inner>),
        );
        let wrapped = self.groups.iter().rev().fold(
            quote!(#sdk::remote_entity(cx, #sdk::__private::entity_name::<#target>(cx, id))),
            |inner, group| quote_spanned!(group.span()=> <#group as #sdk::RpcGroup>::calls(#inner)),
        );
        let doc = format!(
            " Calls the `{}` with an id from a workflow, or sends to it.",
            self.block.rest.plain_name()
        );
        quote! {
            impl #sdk::__private::Owner for #target {}

            impl #sdk::Entity for #target {
                const NAME: &'static str = <#target as #sdk::__private::EntityType>::OPTIONS.name;
                const DEFINITION: #sdk::__private::EntityDefinition = #sdk::__private::EntityDefinition {
                    options: <#target as #sdk::__private::EntityType>::OPTIONS,
                    state: ::core::option::Option::None,
                    operations: &[#(#entries),*],
                    groups: &[#(#lists),*],
                    run: #sdk::__private::run_call::<#target>,
                    info: #sdk::__private::EntityDefinition::describe,
                };
            }

            impl #target {
                #[doc = #doc]
                pub fn client<__C: #sdk::CallsEntities>(
                    cx: &__C,
                    id: impl ::core::convert::Into<::std::string::String>,
                ) -> #calls<#layers> {
                    #calls { __inner: #wrapped }
                }
            }
        }
    }

    /// Refuses two methods with one name: only the first could be called.
    fn distinct(&self) -> TokenStream {
        let (sdk, groups) = (self.sdk, self.groups);
        if groups.is_empty() {
            return TokenStream::new();
        }
        let list = |group: &Path| quote!(<#group as #sdk::RpcGroup>::OPERATIONS);
        let mut checks = Vec::new();
        for (i, second) in groups.iter().enumerate() {
            for first in &groups[..i] {
                let (a, b) = (list(first), list(second));
                let clash = braces_at(last_span(second), quote!(__meet(#a, #b)));
                checks.push(quote! { __apart::<#first, #second, #clash>(); });
            }
        }
        for rpc in &self.block.rpcs {
            let (name, conditions) = (&rpc.method, rpc.conditions().collect::<Vec<_>>());
            for group in groups {
                let list = list(group);
                let clash = braces_at(rpc.item.sig.ident.span(), quote!(__has(#list, #name)));
                checks.push(quote! { #(#conditions)* __free::<#group, #clash>(); });
            }
        }
        quote! {
            const _: () = {
                #[allow(unused_imports)]
                use #sdk::__private::{
                    has_rpc as __has, rpc_groups_are_apart as __apart, rpc_is_free as __free, rpcs_meet as __meet,
                };
                #(#checks)*
            };
        }
    }
}

impl Rpc {
    /// Attributes that decide whether the RPC exists at all.
    fn conditions(&self) -> impl Iterator<Item = &Attribute> {
        self.item.attrs.iter().filter(|a| is(a, "cfg"))
    }

    /// The name that the host knows.
    fn full_name(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.method)
    }

    fn entry(&self, sdk: &Path, name: &str, target: &Path, call: &Ident) -> TokenStream {
        let (ident, value, persisted) = (&self.item.sig.ident, &self.value, self.persisted);
        let input = self.parameters.input_type();
        let (pattern, arguments) = self.parameters.arguments();
        let conditions = self.conditions();
        quote! {
            #(#conditions)*
            #sdk::__private::OperationDefinition {
                name: #name,
                input: <#input as #sdk::schema::Schema>::schema,
                output: <#value as #sdk::schema::Schema>::schema,
                persisted: #persisted,
                read_only: false,
                run: ::core::option::Option::Some(|attempt, raw| {
                    #sdk::__private::run_rpc(
                        attempt,
                        #name,
                        raw,
                        |cx: #sdk::__private::RpcContext<#target>, #pattern: #input| async move {
                            #call { __cx: cx }.#ident(#arguments).await
                        },
                    )
                }),
            }
        }
    }

    /// The method of the client.
    fn call(&self, sdk: &Path, prefix: &str) -> TokenStream {
        let (ident, value) = (&self.item.sig.ident, &self.value);
        let name = self.full_name(prefix);
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
            pub fn #ident(&self, #(#names: #types),*) -> #sdk::__private::Reached<__Inner, #value> {
                #prepare
                self.__inner.reach(#name, #input)
            }
        }
    }
}
