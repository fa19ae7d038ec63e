//! `#[activity_group_impl]`: its options and its expansion.
//!
//! `__PaymentsCalls<__Inner>` is the layer that a workflow which uses the group puts around the layers it
//! has already: it adds the calls of the group's activities and dereferences to the rest.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Path, parse_quote};

use crate::activity::{POLICY, Policy};
use crate::expand_activity::{Activity, Owner, attempt_type, prepared};
use crate::expand_workflow::associated;
use crate::implementation::{Implementation, is, other_item};
use crate::method::{Kind, Role};
use crate::options;
use crate::problems::Problems;

/// The options of a group.
struct GroupOptions {
    name: Option<String>,
    policy: Policy,
    sdk: Path,
}

impl GroupOptions {
    fn parse(tokens: TokenStream, problems: &mut Problems) -> Self {
        let mut parsed = GroupOptions {
            name: None,
            policy: Policy::default(),
            sdk: parse_quote!(::cruster),
        };
        let known: Vec<&str> = POLICY.into_iter().chain(["name", "crate"]).collect();
        for option in options::parse("#[activity_group_impl]", &known, tokens, problems) {
            let result = match option.name.to_string().as_str() {
                "name" => option
                    .name("name = \"Payments\"")
                    .map(|name| parsed.name = Some(name)),
                "crate" => option
                    .path("crate = ::cruster")
                    .map(|path| parsed.sdk = path),
                _ => parsed.policy.set(&option),
            };
            problems.keep(result);
        }
        parsed
    }
}

/// Expands the attribute on an `impl` block.
pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let options = GroupOptions::parse(attribute, &mut problems);
    let read = Implementation::read(Kind::Group, item.clone(), &mut problems);
    let code = read.and_then(|block| {
        check(&options, &block, &mut problems);
        code(&options, &block)
    });
    let code = code.or_else(|| other_item(item));
    let errors = problems.report();
    quote! { #errors #code }
}

fn check(options: &GroupOptions, block: &Implementation, problems: &mut Problems) {
    if options.name.is_none() {
        block.check_group_name(problems);
    }
    if !block
        .methods
        .iter()
        .any(|m| matches!(m.role, Role::Activity(_)))
    {
        problems.add(
            &block.target,
            format!(
                "the group `{}` has no activities\nhelp: mark its methods with `#[activity]`",
                block.name()
            ),
        );
    }
}

/// `None` if a signature cannot be generated.
fn code(options: &GroupOptions, block: &Implementation) -> Option<TokenStream> {
    let (sdk, target) = (&options.sdk, &block.target);
    let name = options.name.clone().unwrap_or_else(|| block.plain_name());
    let prefix = format!("{name}.");
    let steps = block
        .methods
        .iter()
        .filter(|m| matches!(m.role, Role::Activity(_)));
    let activities: Vec<Activity> = steps
        .map(|m| Activity::of(m, &prefix, &options.policy, target))
        .collect::<Option<_>>()?;

    let owner = Owner::new(sdk, block);
    let attempt = &owner.attempt;
    let attempt_type = attempt_type(&owner);
    let conditions = block.attrs.iter().filter(|a| is(a, "cfg"));
    let attributes = block
        .attrs
        .iter()
        .filter(|a| !is(a, "cfg") && !is(a, "doc") && !is(a, "state"));
    let inputs = activities.iter().map(|a| a.input_struct(&owner));
    let definitions = activities.iter().map(|a| a.definition(&owner));
    let bodies = activities.iter().map(Activity::body);
    let helpers = block
        .methods
        .iter()
        .filter(|m| matches!(m.role, Role::Helper))
        .map(|m| prepared(m, target));
    let layer = layer(&owner, &name, &activities, block);
    let associated = associated(block);
    Some(quote! {
        #(#conditions)*
        const _: () = {
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
                #(#helpers)*
            }

            #layer
            #associated
        };
    })
}

fn layer(
    owner: &Owner,
    name: &str,
    activities: &[Activity],
    block: &Implementation,
) -> TokenStream {
    let (sdk, target) = (owner.sdk, owner.target);
    // Type parameters are not hygienic: a plain name could hide a type of the author.
    let calls = format_ident!("__{}Calls", block.plain_name());
    // The workflows that use a group may be anywhere, so its calls are public.
    let stubs = activities.iter().map(|a| a.stub(owner, &quote!(pub)));
    let entries = activities.iter().map(|a| a.entry(owner));
    quote! {
        #[doc(hidden)]
        #[derive(::core::clone::Clone)]
        pub struct #calls<__Inner> {
            __inner: __Inner,
        }

        impl<__Inner> ::core::ops::Deref for #calls<__Inner> {
            type Target = __Inner;

            fn deref(&self) -> &__Inner {
                &self.__inner
            }
        }

        impl<__Inner: #sdk::InWorkflow> #sdk::InWorkflow for #calls<__Inner> {
            fn context(&self) -> &#sdk::__private::ContextCore {
                #sdk::InWorkflow::context(&self.__inner)
            }
        }

        // The types of a private group's values may be private too, and not every activity has a caller yet.
        #[allow(private_interfaces, dead_code)]
        impl<__Inner: #sdk::InWorkflow> #calls<__Inner> {
            #(#stubs)*
        }

        impl #sdk::__private::Owner for #target {
            const DEFAULT: ::core::option::Option<fn() -> Self> =
                ::core::option::Option::Some(<Self as ::core::default::Default>::default);
        }

        impl #sdk::__private::Group for #target {}

        impl #sdk::ActivityGroup for #target {
            const NAME: &'static str = #name;
            type Calls<__Inner: #sdk::InWorkflow> = #calls<__Inner>;
            const ACTIVITIES: &'static [#sdk::__private::ActivityDefinition] = &[#(#entries),*];

            fn calls<__Inner: #sdk::InWorkflow>(inner: __Inner) -> Self::Calls<__Inner> {
                #calls { __inner: inner }
            }
        }
    }
}
