//! Reads and checks an `impl` block, and gives each method its role.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    AttrStyle, Attribute, Ident, ImplItem, ImplItemFn, Item, ItemImpl, Meta, Path, Type,
    parse_quote,
};

use crate::activity::ActivityOptions;
use crate::context;
use crate::method::{Kind, Method, Role};
use crate::names;
use crate::problems::Problems;
use crate::signature;
use crate::stateless;

/// The whole block.
pub(crate) struct Implementation {
    /// The struct, as the block names it.
    pub(crate) target: Path,
    /// The attributes of the block itself.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) methods: Vec<Method>,
    /// Constants and other items that are not methods.
    pub(crate) others: Vec<ImplItem>,
}

impl Implementation {
    /// The name of the struct.
    pub(crate) fn name(&self) -> &Ident {
        &self
            .target
            .segments
            .last()
            .expect("a path has segments")
            .ident
    }

    /// The struct's name as a string, without `r#`.
    pub(crate) fn plain_name(&self) -> String {
        signature::plain(self.name())
    }

    /// Checks the name of the struct where it is a group's.
    pub(crate) fn check_group_name(&self, problems: &mut Problems) {
        if let Some(complaint) = names::complain(&self.plain_name()) {
            let text =
                format!("{complaint}\nhelp: give the group another name with `name = \"…\"`");
            problems.add(self.name(), text);
        }
    }

    /// Reads a block. `None` if no code can be generated for it.
    pub(crate) fn read(kind: Kind, tokens: TokenStream, problems: &mut Problems) -> Option<Self> {
        let attribute = kind.on_block();
        let block: ItemImpl = match syn::parse2(tokens.clone()) {
            Ok(block) => block,
            Err(error) => {
                misplaced(kind, tokens, error, problems);
                return None;
            }
        };
        let target = target(kind, attribute, &block, problems)?;
        refuse_attributes(&block.attrs, problems);

        let mut methods = Vec::new();
        let mut others = Vec::new();
        for item in block.items {
            match item {
                ImplItem::Fn(item) => methods.push(method(kind, item, problems)),
                other => others.push(other),
            }
        }
        check_names(kind, &target, &mut methods, problems);
        context::check(kind, &mut methods, problems);
        let read = Implementation {
            target,
            attrs: spread(block.attrs),
            methods,
            others,
        };
        let complete = kind == Kind::Group || read.has_one_execute(problems);
        (complete && read.methods.iter().all(|m| m.usable)).then_some(read)
    }

    fn has_one_execute(&self, problems: &mut Problems) -> bool {
        let mut executes = self.methods.iter().filter(|m| m.ident() == "execute");
        let first = executes.next();
        for second in executes {
            problems.add(
                second.ident(),
                "a workflow has one `execute`\nhelp: make this a method with another name, or a workflow of its own",
            );
        }
        if first.is_none() {
            problems.add(
                &self.target,
                format!(
                    "the workflow `{}` has no `execute`\nhelp: add `async fn execute(&self, request: Request) -> Result<Response, Error>`",
                    self.name()
                ),
            );
        }
        matches!(
            first,
            Some(Method {
                role: Role::Execute,
                ..
            })
        ) && self
            .methods
            .iter()
            .filter(|m| m.ident() == "execute")
            .count()
            == 1
    }
}

/// The attributes of a block for each of the blocks that it expands to: as outer ones, and with
/// `allow` for `expect`, because a lint may not fire in all of them.
pub(crate) fn spread(mut attrs: Vec<Attribute>) -> Vec<Attribute> {
    for attr in &mut attrs {
        attr.style = AttrStyle::Outer;
        if let Meta::List(list) = &mut attr.meta {
            if list.path.is_ident("expect") {
                list.path = parse_quote!(allow);
            }
        }
    }
    attrs
}

/// Gives advice about an item that is not an `impl` block; syntax errors come from the parser.
pub(crate) fn misplaced(
    kind: Kind,
    tokens: TokenStream,
    error: syn::Error,
    problems: &mut Problems,
) {
    let text = format!(
        "put `{}` on the `impl` block of {}",
        kind.on_block(),
        kind.noun()
    );
    match syn::parse2::<Item>(tokens.clone()) {
        Ok(Item::Struct(item)) => problems.add(
            &item.ident,
            format!("{text}\nhelp: on a struct, write `{}`", kind.on_struct()),
        ),
        Ok(_) => problems.add(tokens, text),
        Err(_) => problems.push(error),
    }
}

/// The tokens of an item that is not an `impl` block, which stays unchanged.
pub(crate) fn other_item(tokens: TokenStream) -> Option<TokenStream> {
    match syn::parse2::<Item>(tokens.clone()) {
        Ok(Item::Impl(_)) | Err(_) => None,
        Ok(_) => Some(tokens),
    }
}

/// The struct that a block is about, which must be a plain one.
pub(crate) fn target(
    kind: Kind,
    attribute: &str,
    block: &ItemImpl,
    problems: &mut Problems,
) -> Option<Path> {
    let before = problems.count();
    if let Some((path, _)) = &block.trait_ {
        problems.add(
            path,
            format!(
                "put `{attribute}` on a block without a trait: `impl {} {{ … }}`",
                block.self_ty.to_token_stream()
            ),
        );
    }
    if !block.generics.params.is_empty() {
        problems.add(
            &block.generics,
            format!(
                "{} has no type parameters or lifetimes: the host knows it by its name alone",
                kind.noun()
            ),
        );
    }
    let path = match &*block.self_ty {
        Type::Path(path) if path.qself.is_none() => &path.path,
        other => {
            problems.add(other, format!("{} is a struct", kind.noun()));
            return None;
        }
    };
    if problems.count() == before && path.segments.iter().any(|s| !s.arguments.is_empty()) {
        problems.add(
            path,
            format!(
                "{} has no type parameters or lifetimes: the host knows it by its name alone",
                kind.noun()
            ),
        );
    }
    (problems.count() == before).then(|| path.clone())
}

/// Gives a method its role, and checks its signature.
fn method(kind: Kind, mut item: ImplItemFn, problems: &mut Problems) -> Method {
    let before = problems.count();
    refuse_attributes(&item.attrs, problems);
    let activity = take_activity(&mut item.attrs, problems);
    let has_self = item.sig.receiver().is_some();
    let role = match activity {
        Some(_) if item.sig.ident == "execute" => {
            problems.add(&item.sig.ident, match kind {
                Kind::Workflow => "`execute` is the workflow itself, not an activity\nhelp: remove `#[activity]`, or give the activity another name",
                _ => "an activity cannot be named `execute`: that is the entry point of a workflow\nhelp: give it another name",
            });
            match kind {
                Kind::Workflow => Role::Execute,
                _ => Role::Activity(Box::default()),
            }
        }
        Some(options) => Role::Activity(Box::new(options)),
        None if kind == Kind::Workflow && item.sig.ident == "execute" => Role::Execute,
        None if has_self => Role::Helper,
        None => Role::Associated,
    };
    let usable = signature::check(kind, &role, &mut item, problems);
    Method {
        role,
        item,
        broken: problems.count() > before,
        usable,
    }
}

/// Takes `#[activity(…)]` out of the attributes.
fn take_activity(attrs: &mut Vec<Attribute>, problems: &mut Problems) -> Option<ActivityOptions> {
    let mut found = None;
    attrs.retain(|attr| {
        if !is(attr, "activity") {
            return true;
        }
        if found.is_some() {
            problems.add(attr, "`#[activity]` is given twice: put all options in one");
            return false;
        }
        let tokens = match &attr.meta {
            Meta::Path(_) => TokenStream::new(),
            Meta::List(list) => list.tokens.clone(),
            Meta::NameValue(pair) => {
                problems.add(
                    pair,
                    "the options of an activity go in parentheses: `#[activity(retries = 3)]`",
                );
                TokenStream::new()
            }
        };
        found = Some(ActivityOptions::parse(tokens, problems));
        false
    });
    found
}

/// Whether an attribute has this name, whatever path leads to it.
pub(crate) fn is(attr: &Attribute, name: &str) -> bool {
    attr.path().segments.last().is_some_and(|s| s.ident == name)
}

/// Attributes that are not available here, and what to do instead. [`strip`] removes
/// them, as the compiler does not know them.
const MISPLACED: [(&str, &str); 8] = [
    (
        "rpc",
        "workflows have no RPCs: they have a single `execute` entry point\nhelp: to send values to a running workflow, \
             list signals in `#[workflow_impl(signals(…))]` and `receive` them; for a single value, use a deferred",
    ),
    ("state", stateless::WORKFLOWS),
    (
        "query",
        "a query is a type, not a method\nhelp: write `#[derive(Serialize, Deserialize, Schema, Query)]` on a struct, list it in \
             `#[workflow_impl(queries(…))]`, and say in `execute` how it is answered: `self.answer(|query: GetProgress| …)`",
    ),
    (
        "signal",
        "a signal is a type, not a method\nhelp: write `#[derive(Serialize, Deserialize, Schema, Signal)]` on a struct, list it in \
             `#[workflow_impl(signals(…))]`, and `receive` it in `execute`",
    ),
    (
        "workflow",
        "workflows have a single execute entry point; use client calls for cross-workflow interaction",
    ),
    (
        "workflow_impl",
        "put `#[workflow_impl]` on the whole `impl` block",
    ),
    (
        "activity_group",
        "put `#[activity_group]` on a struct\nhelp: mark a step of this workflow with `#[activity]`",
    ),
    (
        "activity_group_impl",
        "put `#[activity_group_impl]` on the whole `impl` block",
    ),
];

/// Reports attributes that are not available here.
pub(crate) fn refuse_attributes(attrs: &[Attribute], problems: &mut Problems) {
    for attr in attrs {
        if let Some((_, advice)) = MISPLACED.iter().find(|(name, _)| is(attr, name)) {
            problems.add(attr, advice);
        }
    }
}

/// Removes the attributes that [`refuse_attributes`] complains about.
pub(crate) fn strip(attrs: &mut Vec<Attribute>) {
    attrs.retain(|attr| !MISPLACED.iter().any(|(name, _)| is(attr, name)));
}

/// Checks that no method hides one of `self`, and that activities have distinct names.
fn check_names(kind: Kind, target: &Path, methods: &mut [Method], problems: &mut Problems) {
    let prefix = match (kind, target.segments.last()) {
        (Kind::Group, Some(last)) => format!("{}.", signature::plain(&last.ident)),
        _ => String::new(),
    };
    let mut activities: Vec<String> = Vec::new();
    for method in methods {
        let name = signature::plain(method.ident());
        let hides = match method.role {
            Role::Execute => false,
            Role::Associated => kind == Kind::Workflow && name == "client",
            Role::Activity(_) | Role::Helper => context::is_reserved(&name),
        };
        if hides {
            let what = if name == "client" {
                "the function `client` of the workflow"
            } else {
                "the method of `self` with that name"
            };
            problems.add(
                method.ident(),
                format!("`{name}` would hide {what}\nhelp: choose another name"),
            );
            // Two functions `client` on one struct would cause an error of the compiler as well.
            method.usable &= name != "client";
        }
        let Role::Activity(options) = &method.role else {
            continue;
        };
        let registered = options
            .name
            .clone()
            .unwrap_or_else(|| format!("{prefix}{name}"));
        if options.name.is_none() {
            if let Some(complaint) = names::complain(&registered) {
                problems.add(
                    method.ident(),
                    format!("{complaint}\nhelp: rename it, or give it another name with `#[activity(name = \"…\")]`"),
                );
            }
        }
        let conditional = method.item.attrs.iter().any(|a| is(a, "cfg"));
        if !conditional && activities.contains(&registered) {
            problems.add(
                method.ident(),
                format!("there are two activities `{registered}`\nhelp: rename one, or give it another name with `#[activity(name = \"…\")]`"),
            );
        } else if !conditional {
            activities.push(registered);
        }
    }
}
