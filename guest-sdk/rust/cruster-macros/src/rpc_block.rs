//! Reads the `impl` block of an entity without a state, or of an RPC group.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident};
use syn::{
    Attribute, FnArg, ImplItem, ImplItemFn, ItemImpl, Meta, Path, Receiver, ReceiverKind, Type,
    parse_quote,
};

use crate::context;
use crate::expand_activity::prepared;
use crate::implementation::{self, Implementation, is};
use crate::method::{Kind, Method, Role};
use crate::names;
use crate::options;
use crate::parameters::Parameters;
use crate::problems::Problems;
use crate::signature;
use crate::stateless;

/// The whole block.
pub(crate) struct Block {
    /// The struct, the attributes of the block, and the attributes that stay on the struct.
    pub(crate) rest: Implementation,
    pub(crate) rpcs: Vec<Rpc>,
    /// Methods that RPCs call.
    pub(crate) helpers: Vec<ImplItemFn>,
}

/// An RPC.
pub(crate) struct Rpc {
    /// The name of the method.
    pub(crate) method: String,
    /// The method, with the struct's name for `Self`.
    pub(crate) item: ImplItemFn,
    pub(crate) parameters: Parameters,
    pub(crate) value: Type,
    pub(crate) persisted: bool,
}

impl Block {
    /// Reads a block. `None` if no code can be generated for it.
    pub(crate) fn read(kind: Kind, tokens: TokenStream, problems: &mut Problems) -> Option<Self> {
        let block: ItemImpl = match syn::parse2(tokens.clone()) {
            Ok(block) => block,
            Err(error) => {
                implementation::misplaced(kind, tokens, error, problems);
                return None;
            }
        };
        let target = implementation::target(kind, kind.on_block(), &block, problems)?;
        refuse(&block.attrs, problems);
        let mut read = Block {
            rest: Implementation {
                target: target.clone(),
                attrs: implementation::spread(block.attrs),
                methods: Vec::new(),
                others: Vec::new(),
            },
            rpcs: Vec::new(),
            helpers: Vec::new(),
        };
        let mut complete = true;
        for item in block.items {
            match item {
                ImplItem::Fn(method) => complete &= read.add(&target, method, problems).is_some(),
                other => read.rest.others.push(other),
            }
        }
        complete.then_some(read)
    }

    /// Gives a method its place. `None` if its signature cannot be generated.
    fn add(&mut self, target: &Path, mut item: ImplItemFn, problems: &mut Problems) -> Option<()> {
        let before = problems.count();
        refuse(&item.attrs, problems);
        let rpc = take_rpc(&mut item.attrs, problems);
        strip(&mut item.attrs);
        if item.sig.receiver().is_none() && rpc.is_none() {
            if item.sig.ident == "client" {
                problems.add(&item.sig.ident, RESERVED);
                return None;
            }
            let role = Role::Associated;
            let method = Method {
                role,
                item,
                broken: false,
                usable: true,
            };
            self.rest.methods.push(method);
            return Some(());
        }
        check_receiver(&mut item, problems);
        let name = signature::plain(&item.sig.ident);
        if context::is_reserved(&name) || name == "id" || name == "client" {
            problems.add(&item.sig.ident, RESERVED);
        }
        let usable = rpc.is_none() || check_rpc(&name, &mut item, problems);
        context::check_rpc(&item, problems);
        let broken = problems.count() > before;
        let role = Role::Helper;
        let method = Method {
            role,
            item,
            broken,
            usable,
        };
        let item = prepared(&method, target);
        match rpc {
            _ if !usable => return None,
            None => self.helpers.push(item),
            Some(persisted) => {
                let input = format_ident!("__{name}_Input");
                self.rpcs.push(Rpc {
                    parameters: Parameters::of(signature::parameters(&item), input)?,
                    value: signature::ok_type(&item.sig.output)?.clone(),
                    method: name,
                    item,
                    persisted,
                });
            }
        }
        Some(())
    }
}

const RESERVED: &str = "this would hide the method of `self`, or of the client, with that name\nhelp: choose another name";

/// Attributes that are not for entities, and what to do instead.
const MISPLACED: [(&str, &str); 5] = [
    (
        "activity",
        "entities have no activities: an RPC has SQL, HTTP and configuration itself\n\
         help: mark it with `#[rpc]`, or `#[rpc(persisted)]` if its effects must happen; steps that are retried belong to a workflow",
    ),
    (
        "workflow",
        "an entity has no workflows: a workflow is a struct of its own, with `#[workflow]`\n\
         help: mark the method with `#[rpc]`, and have the workflow call it: `Name::client(self, id).method(…).await`",
    ),
    ("state", stateless::ENTITIES),
    (
        "read_only",
        "`#[read_only]` is for the operations of a `#[stateful_entity]`\nhelp: an `#[rpc]` that is not persisted is for reads",
    ),
    (
        "signal",
        "signals are for workflows\nhelp: mark the method with `#[rpc]`",
    ),
];

fn refuse(attrs: &[Attribute], problems: &mut Problems) {
    for attr in attrs {
        if let Some((_, advice)) = MISPLACED.iter().find(|(name, _)| is(attr, name)) {
            problems.add(attr, advice);
        }
    }
}

fn strip(attrs: &mut Vec<Attribute>) {
    attrs.retain(|attr| !MISPLACED.iter().any(|(name, _)| is(attr, name)));
}

/// Takes `#[rpc]` out of the attributes; returns whether it is persisted.
fn take_rpc(attrs: &mut Vec<Attribute>, problems: &mut Problems) -> Option<bool> {
    let at = attrs.iter().position(|attr| is(attr, "rpc"))?;
    let attr = attrs.remove(at);
    let tokens = match &attr.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(pair) => {
            problems.add(
                pair,
                "the options of an RPC go in parentheses: `#[rpc(persisted)]`",
            );
            TokenStream::new()
        }
    };
    let mut persisted = false;
    for option in options::parse("#[rpc]", &["persisted"], tokens, problems) {
        match &option.value {
            options::Value::Absent => persisted = true,
            _ => problems.add(
                &option.name,
                "`persisted` takes no value: `#[rpc(persisted)]`",
            ),
        }
    }
    if attrs.iter().any(|attr| is(attr, "rpc")) {
        problems.add(&attr, "`#[rpc]` is given twice");
        attrs.retain(|attr| !is(attr, "rpc"));
    }
    Some(persisted)
}

fn check_receiver(item: &mut ImplItemFn, problems: &mut Problems) {
    let Some(receiver) = item.sig.receiver() else {
        problems.add(
            &item.sig.ident,
            "an RPC takes `&self` first: SQL, HTTP and configuration are methods of `self`",
        );
        item.sig.inputs.insert(0, parse_quote!(&self));
        return;
    };
    let advice = match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => return,
        ReceiverKind::Reference(_, _, Some(_)) => {
            stateless::ENTITIES.lines().next().unwrap_or_default()
        }
        _ => "write `&self`",
    };
    problems.add(
        receiver,
        format!("methods of entities must use &self\nhelp: {advice}"),
    );
    let corrected: Receiver = parse_quote!(&self);
    if let Some(first) = item.sig.inputs.first_mut() {
        *first = FnArg::Receiver(corrected);
    }
}

/// Checks whether an RPC can be generated.
fn check_rpc(name: &str, item: &mut ImplItemFn, problems: &mut Problems) -> bool {
    if item.sig.asyncness.is_none() {
        problems.add(
            item.sig.fn_token.to_token_stream(),
            format!("an RPC must be async\nhelp: write `async fn {name}`"),
        );
        item.sig.asyncness = Some(Default::default());
    }
    if let Some(complaint) = names::complain(name) {
        problems.add(&item.sig.ident, format!("{complaint}\nhelp: rename it"));
    }
    let before = problems.count();
    signature::check_step("an RPC", "Value", item, problems);
    signature::check_parameters("an RPC", signature::parameters(item), problems);
    problems.count() == before
}
