//! Reads and checks one operation of an entity with a state.

use quote::format_ident;
use syn::{
    Attribute, ImplItemFn, PatType, ReceiverKind, ReturnType, Type, TypeReference, parse_quote,
};

use crate::implementation::is;
use crate::names;
use crate::operation_calls;
use crate::parameters::Parameters;
use crate::problems::Problems;
use crate::signature;

/// A method that the host runs.
pub(crate) enum Member {
    Operation(Box<Operation>),
    /// With whether it takes the context.
    OnCreate(bool),
}

/// An operation.
pub(crate) struct Operation {
    pub(crate) item: ImplItemFn,
    pub(crate) name: String,
    pub(crate) parameters: Parameters,
    pub(crate) with_context: bool,
    pub(crate) read_only: bool,
    /// The type of its value.
    pub(crate) value: Type,
    pub(crate) fallible: bool,
}

/// Reads a method and takes its attribute away. `None` for functions without `self`, and
/// for methods with errors.
pub(crate) fn read(method: &mut ImplItemFn, problems: &mut Problems) -> Option<Member> {
    let before = problems.count();
    for attr in &method.attrs {
        if let Some((_, advice)) = MISPLACED.iter().find(|(name, _)| is(attr, name)) {
            problems.add(attr, advice);
        }
    }
    method
        .attrs
        .retain(|a| !MISPLACED.iter().any(|(name, _)| is(a, name)));
    let read_only = take_read_only(&mut method.attrs);
    if method.sig.receiver().is_none() {
        if read_only {
            problems.add(&method.sig.ident, "a read-only operation takes `&self`");
        } else if method.sig.ident == "client" {
            problems.add(&method.sig.ident, RESERVED);
        }
        return None;
    }
    let on_create = method.sig.ident == "on_create";
    check_receiver(method, read_only, on_create, problems);
    check_signature(method, problems);
    operation_calls::check(method, problems);
    let all: Vec<&PatType> = signature::parameters(method).collect();
    let with_context = all.first().is_some_and(|first| is_context(&first.ty));
    let own = &all[usize::from(with_context)..];
    if on_create {
        check_on_create(method, own, problems);
        return (problems.count() == before).then_some(Member::OnCreate(with_context));
    }
    let inputs = own.iter().copied().filter(|p| !is_context(&p.ty));
    signature::check_parameters("an operation", inputs, problems);
    let (value, fallible) = value_of(&method.sig.output);
    signature::check_owned(&value, "a result is", problems);
    let name = signature::plain(&method.sig.ident);
    if name == "client" {
        problems.add(&method.sig.ident, RESERVED);
    } else if let Some(complaint) = names::complain(&name) {
        problems.add(&method.sig.ident, format!("{complaint}\nhelp: rename it"));
    }
    if problems.count() > before {
        return None;
    }
    let input = format_ident!("__{name}_Input");
    Some(Member::Operation(Box::new(Operation {
        item: method.clone(),
        parameters: Parameters::of(own.iter().copied(), input)?,
        name,
        with_context,
        read_only,
        value,
        fallible,
    })))
}

const RESERVED: &str =
    "`client` would hide the function `client` of the entity\nhelp: choose another name";

/// Attributes that are not for operations, and what to do instead.
const MISPLACED: [(&str, &str); 5] = [
    (
        "activity",
        "operations have no activities: an operation changes its state and nothing else\n\
         help: start a workflow, which performs the activity: `cx.workflow::<Name>().start(…)`",
    ),
    (
        "workflow",
        "a workflow is a struct of its own\nhelp: start it in an operation: `cx.workflow::<Name>().start(…)`",
    ),
    (
        "rpc",
        "all methods with `self` in an `#[operations]` block are operations\nhelp: remove `#[rpc]`; RPCs belong to entities without a state (`#[entity]`)",
    ),
    (
        "state",
        "all fields of the struct are the state of the entity\nhelp: remove `#[state]`",
    ),
    (
        "on_create",
        "the method that runs when an entity comes to be is named `on_create`\nhelp: remove the attribute, and rename the method if need be",
    ),
];

fn take_read_only(attrs: &mut Vec<Attribute>) -> bool {
    let before = attrs.len();
    attrs.retain(|a| !is(a, "read_only"));
    attrs.len() < before
}

fn check_receiver(method: &ImplItemFn, read_only: bool, on_create: bool, problems: &mut Problems) {
    let Some(receiver) = method.sig.receiver() else {
        return;
    };
    let mutable = match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_some(),
        ReceiverKind::Typed(_, ty) => match &**ty {
            Type::Reference(TypeReference { mutability, .. }) => mutability.is_some(),
            _ => {
                return problems.add(
                    receiver,
                    "an operation takes `&mut self`, or `&self` with `#[read_only]`",
                );
            }
        },
        _ => {
            return problems.add(
                receiver,
                "an operation takes `&mut self`, or `&self` with `#[read_only]`",
            );
        }
    };
    match (mutable, read_only) {
        _ if on_create && (!mutable || read_only) => {
            problems.add(receiver, "`on_create` takes `&mut self`: it prepares the state");
        }
        (true, true) => problems.add(
            receiver,
            "a read-only operation takes `&self`\nhelp: remove `#[read_only]` if it changes the state",
        ),
        (false, false) => problems.add(
            receiver,
            "an operation with `&self` changes nothing\n\
             help: mark it with `#[read_only]`, so that it runs beside others and without a commit; \
             a helper belongs in an `impl` block without `#[operations]`",
        ),
        _ => {}
    }
}

fn check_signature(method: &ImplItemFn, problems: &mut Problems) {
    let sig = &method.sig;
    if let Some(token) = &sig.asyncness {
        problems.add(
            token,
            "an operation cannot be async: it runs in one go, while others wait\n\
             help: remove `async`; what has to wait is a workflow, which an operation starts with `cx.workflow::<Name>().start(…)`",
        );
    }
    if !sig.generics.params.is_empty() {
        problems.add(
            &sig.generics,
            "an operation cannot be generic: its input and result are stored, so their types must be known",
        );
    }
    for (i, parameter) in signature::parameters(method).enumerate() {
        if i > 0 && is_context(&parameter.ty) {
            problems.add(
                parameter,
                "the `&EntityContext` of an operation is its first parameter",
            );
        } else if is_mutable_context(&parameter.ty) {
            problems.add(
                parameter,
                "an operation is given a shared context\nhelp: write `cx: &EntityContext`",
            );
        }
    }
}

fn check_on_create(method: &ImplItemFn, own: &[&PatType], problems: &mut Problems) {
    if let Some(parameter) = own.first() {
        problems.add(
            parameter,
            "`on_create` takes nothing but a `&EntityContext`: the first operation, whichever it is, creates an entity",
        );
    }
    let (value, _) = value_of(&method.sig.output);
    if !matches!(&value, Type::Tuple(tuple) if tuple.elems.is_empty()) {
        problems.add(
            &method.sig.output,
            "`on_create` returns nothing, or `Result<(), Error>`",
        );
    }
}

/// `&EntityContext`, whatever path leads to it.
fn is_context(ty: &Type) -> bool {
    matches!(ty, Type::Reference(TypeReference { elem, .. }) if matches!(&**elem, Type::Path(p)
        if p.path.segments.last().is_some_and(|s| s.ident == "EntityContext")))
}

fn is_mutable_context(ty: &Type) -> bool {
    is_context(ty) && matches!(ty, Type::Reference(r) if r.mutability.is_some())
}

/// The type of an operation's result, without the `Result` around it.
pub(crate) fn value_of(output: &ReturnType) -> (Type, bool) {
    match (signature::ok_type(output), output) {
        (Some(ty), _) => (ty.clone(), true),
        (None, ReturnType::Type(_, ty)) => ((**ty).clone(), false),
        (None, ReturnType::Default) => (parse_quote!(()), false),
    }
}
