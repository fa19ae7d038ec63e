//! Checks the signatures of methods.

use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{
    FnArg, GenericArgument, Ident, ImplItemFn, Lifetime, Pat, PatIdent, PatType, PathArguments,
    Receiver, ReceiverKind, ReturnType, Type, TypeImplTrait, TypeReference, parse_quote,
};

use crate::method::{Kind, Role};
use crate::problems::Problems;

/// An identifier without `r#`.
pub(crate) fn plain(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// Checks a method against its role. A wrong receiver and a missing `async` are corrected, so
/// that the method can still be generated; returns whether it can be.
pub(crate) fn check(
    kind: Kind,
    role: &Role,
    item: &mut ImplItemFn,
    problems: &mut Problems,
) -> bool {
    check_receiver(kind, role, item, problems);
    if matches!(role, Role::Execute | Role::Activity(_)) && item.sig.asyncness.is_none() {
        let what = if matches!(role, Role::Execute) {
            "`execute`"
        } else {
            "an activity"
        };
        problems.add(
            item.sig.fn_token,
            format!(
                "{what} must be async\nhelp: write `async fn {}`",
                item.sig.ident
            ),
        );
        item.sig.asyncness = Some(Default::default());
    }
    let before = problems.count();
    match role {
        Role::Execute => {
            check_step("`execute`", "Response", item, problems);
            check_request(item, problems);
        }
        Role::Activity(options) => {
            check_step("an activity", "Value", item, problems);
            check_parameters("an activity", parameters(item), problems);
            check_key_arity(options.key.as_ref(), parameters(item).count(), problems);
        }
        Role::Helper | Role::Associated => {}
    }
    problems.count() == before
}

fn check_receiver(kind: Kind, role: &Role, item: &mut ImplItemFn, problems: &mut Problems) {
    let methods = match kind {
        Kind::Workflow => "workflow methods",
        _ => "methods of activity groups",
    };
    let Some(receiver) = item.sig.receiver() else {
        let text = match role {
            Role::Execute => "`execute` takes `&self` first: durable calls are methods of `self`",
            Role::Activity(_) => {
                "an activity takes `&self` first: SQL, HTTP and configuration are methods of `self`"
            }
            Role::Helper | Role::Associated => return,
        };
        problems.add(&item.sig.ident, text);
        item.sig.inputs.insert(0, parse_quote!(&self));
        return;
    };
    let advice = match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => return,
        ReceiverKind::Typed(_, ty) if is_plain_reference(ty) => {
            // The method moves to another type, where `Self` would mean that type.
            let lifetime = match &**ty {
                Type::Reference(reference) => reference.lifetime.clone(),
                _ => None,
            };
            item.sig.inputs[0] = parse_quote!(& #lifetime self);
            return;
        }
        ReceiverKind::Reference(_, _, Some(_)) => {
            "keep what the workflow has to remember in local variables of `execute`"
        }
        _ => "write `&self`; `self.clone()` makes a handle that a spawned task can own",
    };
    let advice = match (kind, &receiver.kind) {
        (Kind::Workflow, _) => advice,
        (_, ReceiverKind::Reference(..)) => {
            "an activity group has no state: each attempt begins with the default value"
        }
        _ => "write `&self`",
    };
    problems.add(
        receiver,
        format!("{methods} must use &self\nhelp: {advice}"),
    );
    let corrected: Receiver = parse_quote!(&self);
    if let Some(first) = item.sig.inputs.first_mut() {
        *first = FnArg::Receiver(corrected);
    }
}

fn is_plain_reference(ty: &Type) -> bool {
    matches!(ty, Type::Reference(TypeReference { mutability: None, elem, .. }) if matches!(&**elem, Type::Path(p) if p.path.is_ident("Self")))
}

/// The checks that `execute` and activities have in common.
pub(crate) fn check_step(what: &str, value: &str, item: &ImplItemFn, problems: &mut Problems) {
    let sig = &item.sig;
    if !sig.generics.params.is_empty() {
        problems.add(
            &sig.generics,
            format!(
                "{what} cannot be generic: its input and result are stored, so their types must be known"
            ),
        );
    }
    if let Some(result) = ok_type(&sig.output) {
        check_owned(result, "a result is", problems);
    } else {
        let text = format!(
            "{what} must return a type named `Result`\nhelp: write `-> Result<{value}, Error>`; a step without a result returns `Result<(), Error>`"
        );
        match &sig.output {
            ReturnType::Default => problems.add(&sig.ident, text),
            ReturnType::Type(_, ty) => problems.add(ty, text),
        }
    }
}

/// `T` of `Result<T, …>`.
pub(crate) fn ok_type(output: &ReturnType) -> Option<&Type> {
    let ReturnType::Type(_, ty) = output else {
        return None;
    };
    let Type::Path(path) = unwrap_groups(ty) else {
        return None;
    };
    let last = path.path.segments.last().filter(|s| s.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// A type from a `macro_rules!` fragment is wrapped in an invisible group.
fn unwrap_groups(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => unwrap_groups(&group.elem),
        Type::Paren(paren) => unwrap_groups(&paren.elem),
        other => other,
    }
}

/// The parameters behind `self`.
pub(crate) fn parameters(item: &ImplItemFn) -> impl Iterator<Item = &PatType> {
    item.sig.inputs.iter().filter_map(|arg| match arg {
        FnArg::Typed(parameter) => Some(parameter),
        _ => None,
    })
}

fn check_request(item: &ImplItemFn, problems: &mut Problems) {
    let all: Vec<&PatType> = parameters(item).collect();
    match all.as_slice() {
        [request] => check_owned(&request.ty, "a request is", problems),
        [] => problems.add(
            &item.sig.ident,
            "`execute` takes exactly one request\nhelp: write `async fn execute(&self, request: Request)`, or `_: ()` if it needs none",
        ),
        [_, second, ..] => problems.add(
            second,
            "`execute` takes exactly one request\nhelp: make the parameters fields of a struct that derives `Serialize`, `Deserialize` and `Schema`",
        ),
    }
}

/// Checks that parameters have names, and are owned.
pub(crate) fn check_parameters<'a>(
    whose: &str,
    parameters: impl Iterator<Item = &'a PatType>,
    problems: &mut Problems,
) {
    for parameter in parameters {
        if !matches!(
            &*parameter.pat,
            Pat::Ident(PatIdent {
                by_ref: None,
                subpat: None,
                ..
            })
        ) {
            problems.add(
                &parameter.pat,
                format!("a parameter of {whose} needs a name: it is stored under that name\nhelp: destructure the value in the body"),
            );
        }
        check_owned(&parameter.ty, &format!("the input of {whose} is"), problems);
    }
}

fn check_key_arity(key: Option<&syn::Expr>, parameters: usize, problems: &mut Problems) {
    let Some(syn::Expr::Closure(closure)) = key else {
        return;
    };
    if closure.inputs.len() == parameters {
        return;
    }
    let text = match parameters {
        0 => "the activity has no parameters to compute a key from\nhelp: give the key with the call: `.key(\"…\")`".to_string(),
        1 => format!("`key` is given a reference to the one parameter of the activity, but takes {}", closure.inputs.len()),
        n => format!("`key` is given references to the {n} parameters of the activity, but takes {}", closure.inputs.len()),
    };
    match closure.inputs.is_empty() {
        true => problems.add(closure, text),
        false => problems.add(&closure.inputs, text),
    }
}

/// Refuses types that cannot be stored and read back: references and `impl Trait`.
pub(crate) fn check_owned(ty: &Type, what: &str, problems: &mut Problems) {
    struct Borrows<'p>(&'p mut Problems, &'p str);
    impl Visit<'_> for Borrows<'_> {
        fn visit_type_reference(&mut self, reference: &TypeReference) {
            let instead = match &*reference.elem {
                Type::Path(path) if path.path.is_ident("str") => "String".to_string(),
                Type::Slice(slice) => {
                    format!("Vec<{}>", quote::ToTokens::to_token_stream(&slice.elem))
                }
                elem => quote::ToTokens::to_token_stream(elem).to_string(),
            };
            self.0.add(
                reference,
                format!(
                    "{} stored, so it must be owned\nhelp: use `{instead}`",
                    self.1
                ),
            );
        }
        fn visit_type_impl_trait(&mut self, ty: &TypeImplTrait) {
            self.0.add(
                ty,
                format!(
                    "{} stored, so its type must be known\nhelp: name a type",
                    self.1
                ),
            );
        }
        fn visit_lifetime(&mut self, lifetime: &Lifetime) {
            if lifetime.ident != "static" {
                self.0.add(
                    lifetime,
                    format!(
                        "{} stored, so it must be owned\nhelp: use a type without lifetimes",
                        self.1
                    ),
                );
            }
        }
        fn visit_type(&mut self, ty: &Type) {
            // `fn(&T)` borrows nothing.
            if !matches!(ty, Type::FnPtr(_)) {
                visit::visit_type(self, ty);
            }
        }
    }
    Borrows(problems, what).visit_type(ty);
}
