//! Finds calls that an operation cannot make, and says what to do instead.
//!
//! The types refuse them as well: an `EntityContext` has no such methods.

use syn::visit::{self, Visit};
use syn::{Expr, ExprAwait, ExprMethodCall, FnArg, Ident, ImplItemFn, Item, Pat};

use crate::problems::Problems;
use crate::signature;

/// Reports the calls in the body of an operation.
pub(crate) fn check(method: &ImplItemFn, problems: &mut Problems) {
    let mut names: Vec<Ident> = Vec::new();
    for arg in &method.sig.inputs {
        if let FnArg::Typed(parameter) = arg {
            if let Pat::Ident(pat) = &*parameter.pat {
                names.push(pat.ident.clone());
            }
        }
    }
    let context = names.into_iter().next();
    let mut calls = Calls { context, problems };
    calls.visit_block(&method.block);
}

struct Calls<'p> {
    /// The first parameter, which may be the context.
    context: Option<Ident>,
    problems: &'p mut Problems,
}

impl Calls<'_> {
    fn is_context(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.path.get_ident().is_some_and(|ident|
            ident == "self" || self.context.as_ref() == Some(ident)))
    }
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let name = signature::plain(&call.method);
        if self.is_context(&call.receiver) {
            if let Some(advice) = advice(&name) {
                self.problems.add(&call.method, advice);
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_await(&mut self, wait: &'ast ExprAwait) {
        self.problems.add(
            wait.await_token,
            "an operation cannot wait: entities that waited for each other could stop each other for ever\n\
             help: send to another entity with `.send()?`; to use its answer, start a workflow that calls both",
        );
        visit::visit_expr_await(self, wait);
    }

    /// Items inside the body have their own names.
    fn visit_item(&mut self, _: &'ast Item) {}
}

fn advice(name: &str) -> Option<String> {
    match name {
        "transaction" | "http" => Some(format!(
            "`{name}` is not available in an operation, which changes its state and nothing else\n\
             help: start a workflow whose activity does it: `cx.workflow::<Name>().start(…)`; an entity without a state (`#[entity]`) has SQL and HTTP"
        )),
        "sleep" | "sleep_until" | "await_deferred" | "receive" | "spawn" | "timeout" => {
            Some(format!(
                "an operation cannot `{name}`: it runs in one go, while others wait\n\
             help: start a workflow that waits, and let it call this entity afterwards: `cx.workflow::<Name>().start(…)`"
            ))
        }
        _ => None,
    }
}
