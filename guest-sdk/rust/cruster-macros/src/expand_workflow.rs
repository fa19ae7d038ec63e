//! `#[workflow_impl]`: its expansion.
//!
//! For `ProcessOrder`, inside an anonymous constant so that no name leaks:
//!
//! - `__ProcessOrderRun`, the `self` of `execute` and its helpers. It dereferences through one
//!   layer for each activity group to the context with the durable primitives, and from there to
//!   the struct's own fields. Everything is an inherent method, so nothing has to be imported.
//! - `__ProcessOrderAttempt`, the `self` of activities, which dereferences to the context with
//!   the immediate calls.
//! - the implementation of `Workflow`, which holds the definition that `module!` lists, and `client`.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, ImplItem, Path, Type};

use crate::activity::Policy;
use crate::expand_activity::{Activity, Owner, attempt_type, called_at_key, prepared};
use crate::implementation::{Implementation, is, other_item};
use crate::method::{Kind, Method, Role};
use crate::names;
use crate::parameters::local;
use crate::problems::Problems;
use crate::selfless::Rename;
use crate::signature;
use crate::workflow::WorkflowOptions;

/// Expands the attribute on an `impl` block.
pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let options = WorkflowOptions::parse(attribute, &mut problems);
    let read = Implementation::read(Kind::Workflow, item.clone(), &mut problems);
    if let Some(block) = &read {
        check_name(&options, block, &mut problems);
    }
    let code = read
        .as_ref()
        .and_then(|block| Workflow::new(&options, block))
        .map(|workflow| workflow.code());
    let code = code.or_else(|| other_item(item));
    let errors = problems.report();
    quote! { #errors #code }
}

/// A name that the host does not take has to be changed, unless one is given.
fn check_name(options: &WorkflowOptions, block: &Implementation, problems: &mut Problems) {
    if options.name.is_none() {
        if let Some(complaint) = names::complain(&block.plain_name()) {
            problems.add(
                block.name(),
                format!("{complaint}\nhelp: give the workflow another name with `name = \"…\"`"),
            );
        }
    }
}

/// The parts of the expansion.
struct Workflow<'a> {
    options: &'a WorkflowOptions,
    block: &'a Implementation,
    owner: Owner<'a>,
    /// The type that `execute` has as `self`.
    run: Ident,
    execute: &'a Method,
    request: Type,
    response: Type,
    activities: Vec<Activity>,
}

impl<'a> Workflow<'a> {
    /// `None` if a signature cannot be generated.
    fn new(options: &'a WorkflowOptions, block: &'a Implementation) -> Option<Self> {
        let execute = block
            .methods
            .iter()
            .find(|m| matches!(m.role, Role::Execute))?;
        let sig = prepared(execute, &block.target).sig;
        let mut requests = sig.inputs.iter().filter_map(|arg| match arg {
            FnArg::Typed(parameter) => Some(&*parameter.ty),
            _ => None,
        });
        let request = requests.next()?.clone();
        if requests.next().is_some() {
            return None;
        }
        let response = signature::ok_type(&sig.output)?.clone();
        let steps = block
            .methods
            .iter()
            .filter(|m| matches!(m.role, Role::Activity(_)));
        let activities: Option<Vec<Activity>> = steps
            .map(|m| Activity::of(m, "", &Policy::default(), &block.target))
            .collect();
        Some(Workflow {
            options,
            block,
            owner: Owner::new(&options.sdk, block),
            run: format_ident!("__{}Run", block.plain_name()),
            execute,
            request,
            response,
            activities: activities?,
        })
    }

    fn code(&self) -> TokenStream {
        let conditions = self.block.attrs.iter().filter(|a| is(a, "cfg"));
        let parts = [
            self.run_type(),
            self.run_methods(),
            self.attempt(),
            self.associated(),
            self.definition(),
            self.distinct(),
        ];
        quote! {
            #(#conditions)*
            const _: () = {
                #(#parts)*
            };
        }
    }

    /// Attributes of the block that its methods live under, lints for instance.
    fn attributes(&self) -> impl Iterator<Item = &'a Attribute> {
        self.block
            .attrs
            .iter()
            .filter(|a| !is(a, "cfg") && !is(a, "doc") && !is(a, "state"))
    }

    /// The context under one layer for each group, the first group outermost.
    fn layers(&self) -> TokenStream {
        let (sdk, target) = (&self.options.sdk, &self.block.target);
        self.options.groups.iter().rev().fold(
            quote!(#sdk::__private::WorkflowContext<#target>),
            |inner, group| quote_spanned!(group.span()=> <#group as #sdk::ActivityGroup>::Calls<#inner>),
        )
    }

    fn run_type(&self) -> TokenStream {
        let (sdk, run, layers) = (&self.options.sdk, &self.run, self.layers());
        quote! {
            #[derive(::core::clone::Clone)]
            struct #run {
                __inner: #layers,
            }

            impl ::core::ops::Deref for #run {
                type Target = #layers;

                fn deref(&self) -> &Self::Target {
                    &self.__inner
                }
            }

            impl #sdk::InWorkflow for #run {
                fn context(&self) -> &#sdk::__private::ContextCore {
                    #sdk::InWorkflow::context(&self.__inner)
                }
            }
        }
    }

    fn run_methods(&self) -> TokenStream {
        let (run, attributes) = (&self.run, self.attributes());
        let execute = prepared(self.execute, &self.block.target);
        let helpers = self
            .block
            .methods
            .iter()
            .filter(|m| matches!(m.role, Role::Helper))
            .map(|m| prepared(m, &self.block.target));
        let stubs = self.activities.iter().map(|a| {
            let stub = a.stub(&self.owner, &TokenStream::new());
            // Old executions may still wait for an activity that no code calls any more.
            quote! { #[allow(dead_code)] #stub }
        });
        quote! {
            #(#attributes)*
            impl #run {
                // It is async because it must be.
                #[allow(clippy::unused_async)]
                #execute
                #(#helpers)*
                #(#stubs)*
            }
        }
    }

    fn attempt(&self) -> TokenStream {
        if self.activities.is_empty() {
            return TokenStream::new();
        }
        let (attempt, attributes, owner) = (&self.owner.attempt, self.attributes(), &self.owner);
        let attempt_type = attempt_type(owner);
        let inputs = self.activities.iter().map(|a| a.input_struct(owner));
        let definitions = self.activities.iter().map(|a| a.definition(owner));
        let bodies = self.activities.iter().map(Activity::body);
        quote! {
            #attempt_type
            #(#inputs)*

            #[allow(non_upper_case_globals)]
            impl #attempt {
                #(#definitions)*
            }

            #(#attributes)*
            #[allow(clippy::unused_async)]
            impl #attempt {
                #(#bodies)*
            }
        }
    }

    /// The code that stays on the struct.
    fn associated(&self) -> TokenStream {
        associated(self.block)
    }

    fn definition(&self) -> TokenStream {
        let (sdk, target, run, layers) = (
            &self.options.sdk,
            &self.block.target,
            &self.run,
            self.wrap(),
        );
        let (request, response) = (&self.request, &self.response);
        let name = self
            .options
            .name
            .clone()
            .unwrap_or_else(|| self.block.plain_name());
        let entries = self.activities.iter().map(|a| a.entry(&self.owner));
        let groups = self
            .options
            .groups
            .iter()
            .map(|g| quote!(<#g as #sdk::ActivityGroup>::ACTIVITIES));
        let (lists, marks) = self.declared();
        let (key_mode, key_fn) = self.key();
        let docs = self.client_docs(&name);
        let begins =
            quote_spanned!(self.execute.ident().span()=> ::core::panic::Location::caller());
        quote! {
            impl #sdk::__private::Owner for #target {}

            impl #sdk::Workflow for #target {
                const NAME: &'static str = #name;
                type Request = #request;
                type Response = #response;
                const DEFINITION: #sdk::__private::WorkflowDefinition = #sdk::__private::WorkflowDefinition {
                    name: #name,
                    begins: #begins,
                    key: #sdk::__private::KeyMode::#key_mode,
                    input: <#request as #sdk::schema::Schema>::schema,
                    output: <#response as #sdk::schema::Schema>::schema,
                    run: |start| {
                        #sdk::__private::run_workflow(
                            start,
                            |cx: #sdk::__private::WorkflowContext<#target>, request: #request| async move {
                                #run { __inner: #layers }.execute(request).await
                            },
                        )
                    },
                    key_fn: #key_fn,
                    activities: &[#(#entries),*],
                    groups: &[#(#groups),*],
                    #lists
                };
            }

            #marks

            impl #target {
                #(#[doc = #docs])*
                pub fn client<__C: #sdk::CallsWorkflows>(cx: &__C) -> __C::Client<Self> {
                    #sdk::CallsWorkflows::client_of(cx)
                }
            }
        }
    }

    /// The exchanges of the workflow with the world: the lists of its definition, and the
    /// implementations that let its code use them.
    fn declared(&self) -> (TokenStream, TokenStream) {
        let (sdk, target, options) = (&self.options.sdk, &self.block.target, self.options);
        let kinds = [
            (
                quote!(signals),
                quote!(Signal),
                quote!(Accepts),
                &options.signals,
            ),
            (
                quote!(queries),
                quote!(Query),
                quote!(Answers),
                &options.queries,
            ),
            (
                quote!(updates),
                quote!(Update),
                quote!(Takes),
                &options.updates,
            ),
            (
                quote!(state),
                quote!(State),
                quote!(Publishes),
                &options.state,
            ),
            (
                quote!(attributes),
                quote!(Attribute),
                quote!(Publishes),
                &options.attributes,
            ),
        ];
        let (mut lists, mut marks) = (TokenStream::new(), TokenStream::new());
        for (list, kind, mark, types) in kinds {
            let entries = types
                .iter()
                .map(|t| quote_spanned!(t.span()=> <#t as #sdk::#kind>::DEFINITION));
            lists.extend(quote! { #list: &[#(#entries),*], });
            for t in types {
                marks.extend(quote_spanned!(t.span()=> impl #sdk::#mark<#t> for #target {}));
            }
        }
        let deferreds = options
            .deferreds
            .iter()
            .map(|d| quote_spanned!(d.span()=> #d.definition()));
        lists.extend(quote! { deferreds: &[#(#deferreds),*], });
        let listen = match options.updates.is_empty() {
            true => quote!(None),
            false => quote!(Some(#sdk::__private::listen)),
        };
        lists.extend(quote! { listen: ::core::option::Option::#listen, });
        (lists, marks)
    }

    /// The value of [`Workflow::layers`], made of `cx`.
    fn wrap(&self) -> TokenStream {
        let sdk = &self.options.sdk;
        self.options.groups.iter().rev().fold(quote!(cx), |inner, group| {
            quote_spanned!(group.span()=> <#group as #sdk::ActivityGroup>::calls(#inner))
        })
    }

    /// Refuses two methods with one name: only the first could be called.
    fn distinct(&self) -> TokenStream {
        let (sdk, groups) = (&self.options.sdk, &self.options.groups);
        if groups.is_empty() {
            return TokenStream::new();
        }
        let list = |group: &Path| quote!(<#group as #sdk::ActivityGroup>::ACTIVITIES);
        let mut checks = Vec::new();
        for (i, second) in groups.iter().enumerate() {
            let place = last_span(second);
            for first in &groups[..i] {
                let (a, b) = (list(first), list(second));
                let clash = braces_at(place, quote!(__meet(#a, #b)));
                checks.push(quote! { __apart::<#first, #second, #clash>(); });
            }
        }
        let methods = self.block.methods.iter();
        for method in methods.filter(|m| matches!(m.role, Role::Helper | Role::Activity(_))) {
            let name = signature::plain(method.ident());
            let conditions: Vec<_> = method.item.attrs.iter().filter(|a| is(a, "cfg")).collect();
            for group in groups {
                let list = list(group);
                let clash = braces_at(method.ident().span(), quote!(__has(#list, #name)));
                checks.push(quote! { #(#conditions)* __free::<#group, #clash>(); });
            }
        }
        quote! {
            const _: () = {
                #[allow(unused_imports)]
                use #sdk::__private::{
                    groups_are_apart as __apart, has as __has, meet as __meet, name_is_free as __free,
                };
                #(#checks)*
            };
        }
    }

    fn key(&self) -> (TokenStream, TokenStream) {
        let (sdk, target) = (&self.options.sdk, &self.block.target);
        let Some(key) = &self.options.key else {
            return (quote!(Request), quote!(::core::option::Option::None));
        };
        let key = Rename(target).expr(key);
        let (body, request) = (local("body"), local("request"));
        // A key that is not hashed must be text; a hashed key may be of any type.
        let (mode, encode) = match self.options.hash {
            true => (quote!(FunctionHashed), quote!(hashed_key)),
            false => (quote!(FunctionRaw), quote!(raw_key)),
        };
        let derived = called_at_key(&key, &quote!(#request, #key));
        (
            mode,
            quote! {
                ::core::option::Option::Some(|#body| {
                    use #sdk::__private::{#encode as __encode, key_of as __key_of};
                    #sdk::__private::derive_key::<#target>(#body, |#request| __encode(#derived))
                })
            },
        )
    }

    /// The documentation of `execute` is the client's too.
    fn client_docs(&self, name: &str) -> Vec<TokenStream> {
        let first =
            format!(" Calls the workflow `{name}`: from another one, or from outside of modules.");
        let mut lines = vec![quote!(#first)];
        for attr in self
            .execute
            .item
            .attrs
            .iter()
            .filter(|a| a.path().is_ident("doc"))
        {
            if let syn::Meta::NameValue(pair) = &attr.meta {
                if lines.len() == 1 {
                    lines.push(quote!(""));
                }
                let value = &pair.value;
                lines.push(quote!(#value));
            }
        }
        lines
    }
}

/// A block with the span of another place, where errors about its value are shown.
pub(crate) fn braces_at(place: Span, code: TokenStream) -> TokenStream {
    let mut braces = Group::new(Delimiter::Brace, code);
    braces.set_span(place.resolved_at(Span::call_site()));
    quote!(#braces)
}

/// The span of the last name of a path.
pub(crate) fn last_span(path: &Path) -> Span {
    path.segments
        .last()
        .map_or_else(Span::call_site, |segment| segment.ident.span())
}

/// Constants, and functions without `self`.
pub(crate) fn associated(block: &Implementation) -> TokenStream {
    let functions = block
        .methods
        .iter()
        .filter(|m| matches!(m.role, Role::Associated));
    let functions: Vec<_> = functions
        .map(|m| {
            let mut item = m.item.clone();
            crate::implementation::strip(&mut item.attrs);
            ImplItem::Fn(item)
        })
        .collect();
    let others = &block.others;
    if functions.is_empty() && others.is_empty() {
        return TokenStream::new();
    }
    let target: &Path = &block.target;
    let attributes = block
        .attrs
        .iter()
        .filter(|a| !is(a, "cfg") && !is(a, "state"));
    quote! {
        #(#attributes)*
        impl #target {
            #(#others)*
            #(#functions)*
        }
    }
}
