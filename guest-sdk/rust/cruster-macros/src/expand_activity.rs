//! Expands the activities of a block, of workflows and groups alike.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{AttrStyle, Attribute, Expr, ImplItemFn, Path, Type, parse_quote};

use crate::activity::Policy;
use crate::implementation::{Implementation, is};
use crate::method::{Method, Role};
use crate::parameters::{Parameters, local};
use crate::selfless::Rename;
use crate::signature;

/// An activity, ready to be expanded.
pub(crate) struct Activity {
    /// Its name for the host.
    name: String,
    /// The method, with the struct's name for `Self`.
    item: ImplItemFn,
    parameters: Parameters,
    result: Type,
    policy: Policy,
    key: Option<Expr>,
    /// The constant with its definition.
    definition: Ident,
}

/// The common parts of all activities of a block.
pub(crate) struct Owner<'a> {
    /// The SDK.
    pub(crate) sdk: &'a Path,
    /// The struct of the workflow or group.
    pub(crate) target: &'a Path,
    /// Its name.
    name: String,
    /// The type that their bodies have as `self`.
    pub(crate) attempt: Ident,
}

impl<'a> Owner<'a> {
    pub(crate) fn new(sdk: &'a Path, block: &'a Implementation) -> Self {
        let name = block.plain_name();
        Owner {
            sdk,
            target: &block.target,
            attempt: format_ident!("__{name}Attempt"),
            name,
        }
    }
}

impl Activity {
    /// Prepares a method that is an activity. `None` for other methods, and if its
    /// signature cannot be generated. Default names begin with `prefix`.
    pub(crate) fn of(
        method: &Method,
        prefix: &str,
        defaults: &Policy,
        target: &Path,
    ) -> Option<Self> {
        let Role::Activity(options) = &method.role else {
            return None;
        };
        let item = prepared(method, target);
        let ident = &item.sig.ident;
        let plain = signature::plain(ident);
        Some(Activity {
            name: options
                .name
                .clone()
                .unwrap_or_else(|| format!("{prefix}{plain}")),
            parameters: Parameters::of(
                signature::parameters(&item),
                format_ident!("__{plain}_Input"),
            )?,
            result: signature::ok_type(&item.sig.output)?.clone(),
            policy: options.policy.or(defaults),
            key: options.key.as_ref().map(|key| Rename(target).expr(key)),
            definition: format_ident!("__DEFINITION_{plain}"),
            item,
        })
    }

    /// Attributes that decide whether the activity exists at all.
    fn conditions(&self) -> impl Iterator<Item = &Attribute> {
        self.item.attrs.iter().filter(|a| is(a, "cfg"))
    }

    pub(crate) fn input_struct(&self, owner: &Owner) -> TokenStream {
        self.parameters.input_struct(owner.sdk, self.conditions())
    }

    /// The constant that the module's list refers to, an associated one of the attempt's type.
    pub(crate) fn definition(&self, owner: &Owner) -> TokenStream {
        let (sdk, target, attempt) = (owner.sdk, owner.target, &owner.attempt);
        let (definition, name, ident, result) = (
            &self.definition,
            &self.name,
            &self.item.sig.ident,
            &self.result,
        );
        let conditions = self.conditions();
        let origin = format!("::{}::{}", owner.name, signature::plain(ident));
        let origin = quote!(::core::concat!(::core::module_path!(), #origin));
        let (input, retry) = (self.parameters.input_type(), self.retry(sdk));
        let timeout = self.policy.timeout.unwrap_or(0).unsigned_abs();
        let (pattern, arguments) = self.parameters.arguments();
        quote! {
            #(#conditions)*
            #[allow(deprecated)]
            const #definition: #sdk::__private::ActivityDefinition = #sdk::__private::ActivityDefinition {
                name: #name,
                origin: #origin,
                input: <#input as #sdk::schema::Schema>::schema,
                output: <#result as #sdk::schema::Schema>::schema,
                retry: #retry,
                timeout: #timeout,
                run: |attempt| {
                    #sdk::__private::run_activity(
                        attempt,
                        |cx: #sdk::__private::ActivityContext<#target>, #pattern: #input| async move {
                            #attempt { __cx: cx }.#ident(#arguments).await
                        },
                    )
                },
            };
        }
    }

    fn retry(&self, sdk: &Path) -> TokenStream {
        let policy = &self.policy;
        let retries = policy.retries.unwrap_or(0);
        let jitter = policy.jitter.unwrap_or(0.0);
        let base = policy.base.unwrap_or(0).unsigned_abs();
        let backoff = match policy.backoff_name() {
            "" => quote!(::core::option::Option::None),
            name => {
                let exponential = name == "exponential";
                quote!(::core::option::Option::Some(#sdk::Backoff::__of(#exponential, #base)))
            }
        };
        quote! { #sdk::__private::RetryPolicy { retries: #retries, backoff: #backoff, jitter: #jitter } }
    }

    /// The entry in a list of definitions.
    pub(crate) fn entry(&self, owner: &Owner) -> TokenStream {
        let (attempt, definition, conditions) =
            (&owner.attempt, &self.definition, self.conditions());
        quote! { #(#conditions)* #attempt::#definition }
    }

    /// The method that `execute` calls.
    pub(crate) fn stub(&self, owner: &Owner, visibility: &TokenStream) -> TokenStream {
        let (sdk, attempt, definition) = (owner.sdk, &owner.attempt, &self.definition);
        let (ident, result) = (&self.item.sig.ident, &self.result);
        let carried = self
            .item
            .attrs
            .iter()
            .filter(|a| matches!(a.style, AttrStyle::Outer))
            .filter(|a| is(a, "doc") || is(a, "cfg") || is(a, "deprecated"));
        let (names, types) = (self.parameters.names(), self.parameters.types());
        let (prepare, value, references) = self.parameters.input_value();
        let call = quote! { #sdk::__private::activity_call(self, &#attempt::#definition, #value) };
        let call = match &self.key {
            None => call,
            Some(key) => {
                let compute = local("key");
                let derived = called_at_key(key, &quote!(#key, #(#references),*));
                quote! {{
                    // Gives the closure the types of its parameters; its result may borrow from them.
                    fn __key_of<'__k, __K>(
                        #compute: impl ::core::ops::FnOnce(#(&'__k #types),*) -> __K,
                        #(#names: &'__k #types),*
                    ) -> __K {
                        #compute(#(#names),*)
                    }
                    #call.key(#sdk::__private::key_text(#derived))
                }}
            }
        };
        quote! {
            #(#carried)*
            #[allow(clippy::too_many_arguments)]
            #[track_caller]
            #visibility fn #ident(&self, #(#names: #types),*) -> #sdk::ActivityCall<#result> {
                #prepare
                #call
            }
        }
    }

    /// The body, as a method of the attempt.
    pub(crate) fn body(&self) -> &ImplItemFn {
        &self.item
    }
}

/// A call of `__key_of` with the span of the key, where errors about its type are shown.
pub(crate) fn called_at_key(key: &Expr, arguments: &TokenStream) -> TokenStream {
    let spans: Vec<Span> = key
        .to_token_stream()
        .into_iter()
        .map(|t| t.span())
        .collect();
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        return TokenStream::new();
    };
    // Spans of one origin are shown as one.
    let here = |span: &Span| span.resolved_at(Span::call_site());
    let function = Ident::new("__key_of", here(first));
    let mut parentheses = Group::new(Delimiter::Parenthesis, arguments.clone());
    parentheses.set_span(here(last));
    quote!(#function #parentheses)
}

/// The type of `self` in the bodies of activities.
pub(crate) fn attempt_type(owner: &Owner) -> TokenStream {
    let (sdk, target, attempt) = (owner.sdk, owner.target, &owner.attempt);
    quote! {
        struct #attempt {
            __cx: #sdk::__private::ActivityContext<#target>,
        }

        impl ::core::ops::Deref for #attempt {
            type Target = #sdk::__private::ActivityContext<#target>;

            fn deref(&self) -> &Self::Target {
                &self.__cx
            }
        }
    }
}

/// A method for another type: without `Self`, and without its body if that has errors.
pub(crate) fn prepared(method: &Method, target: &Path) -> ImplItemFn {
    let mut item = method.item.clone();
    if method.broken {
        item.block = parse_quote!({ ::core::unreachable!() });
        item.attrs
            .push(parse_quote!(#[allow(unused_variables, clippy::unused_async)]));
        crate::implementation::strip(&mut item.attrs);
    }
    Rename(target).method(&mut item);
    item
}
