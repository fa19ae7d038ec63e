//! Finds calls on `self` that are not available where they are made: `execute` and its
//! helpers are replayed and make only durable calls; activities run once per attempt
//! and have effects.
//!
//! The types enforce that already, as `self` has a different type in each of the two.
//! But an author cannot act on "no method named `sleep` found for reference
//! `&__ProcessOrderAttempt`", so this check comes first and says what to do.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, ImplItemFn, Item, Macro, Path};

use crate::method::{Kind, Method, Role};
use crate::problems::Problems;
use crate::signature;

/// The methods that `self` has in `execute` only.
const DURABLE: [&str; 27] = [
    "sleep",
    "sleep_until",
    "await_deferred",
    "resolve_deferred",
    "resolve_deferred_in",
    "reject_deferred",
    "reject_deferred_in",
    "receive",
    "try_receive",
    "signal",
    "answer",
    "on_update",
    "check_update",
    "until",
    "publish",
    "published",
    "retract",
    "lock",
    "continue_as_new",
    "on_interrupt",
    "interrupted",
    "interrupt_reason",
    "shield",
    "spawn",
    "timeout",
    "random",
    "uuid",
];

/// The methods that `self` has in activities only.
const IMMEDIATE: [&str; 6] = [
    "transaction",
    "http",
    "config",
    "attempt",
    "deadline",
    "idempotency_key",
];

/// The methods that `self` always has.
const EVERYWHERE: [&str; 3] = ["execution_id", "namespace", "now"];

/// Whether a method of this name would hide a method of `self`.
pub(crate) fn is_reserved(name: &str) -> bool {
    DURABLE.contains(&name) || IMMEDIATE.contains(&name) || EVERYWHERE.contains(&name)
}

/// The names of the methods of one block, by role.
struct Names {
    activities: Vec<String>,
    helpers: Vec<String>,
}

/// Reports calls that are not available in the method that makes them.
pub(crate) fn check(kind: Kind, methods: &mut [Method], problems: &mut Problems) {
    let named = |wanted: fn(&Role) -> bool| -> Vec<String> {
        methods
            .iter()
            .filter(|m| wanted(&m.role))
            .map(|m| signature::plain(m.ident()))
            .collect()
    };
    let block = Names {
        activities: named(|role| matches!(role, Role::Activity(_))),
        helpers: named(|role| matches!(role, Role::Helper)),
    };
    for method in methods {
        let mut uses = Uses::default();
        uses.visit_block(&method.item.block);
        let before = problems.count();
        for found in uses.found {
            let advice = match (&method.role, kind) {
                (Role::Associated, _) => None,
                (Role::Activity(_), _) | (Role::Helper, Kind::Group) => {
                    in_activity(kind, &block, &found)
                }
                (Role::Execute | Role::Helper, _) => in_execute(method, &found),
            };
            if let Some(text) = advice {
                problems.add(&found.name, text);
            }
        }
        method.broken |= problems.count() > before;
    }
}

/// Reports calls that are not available in an RPC of an entity.
pub(crate) fn check_rpc(item: &ImplItemFn, problems: &mut Problems) {
    let mut uses = Uses::default();
    uses.visit_block(&item.block);
    for found in uses.found {
        let name = signature::plain(&found.name);
        let advice = match found.what {
            Call::Method if DURABLE.contains(&name.as_str()) => Some(format!(
                "an RPC cannot `{name}`: it runs in one go\n\
                 help: have a workflow do it, and call the entity: `Name::client(self, id).method(…).await`"
            )),
            Call::WithSelf => Some(
                "an RPC cannot call workflows or other entities: entities that waited for each other could stop each other for ever\n\
                 help: have a workflow call both"
                    .to_string(),
            ),
            Call::Spawn => Some(format!(
                "an RPC cannot `{name}`: a module has one thread and no async runtime\nhelp: do the work here"
            )),
            Call::Method | Call::ThreadSleep => None,
        };
        if let Some(text) = advice {
            problems.add(&found.name, text);
        }
    }
}

fn in_activity(kind: Kind, block: &Names, found: &Use) -> Option<String> {
    let name = signature::plain(&found.name);
    let is = |list: &[String]| list.contains(&name);
    let shared =
        "move the shared code into a function without `self`, and call it as `Self::name(…)`";
    match found.what {
        Call::Method if is(&block.activities) => Some(format!(
            "an activity cannot call the activity `{name}`: each activity is one step of `execute`\n\
             help: call both from `execute`, or {shared}"
        )),
        Call::Method if kind == Kind::Workflow && is(&block.helpers) => Some(format!(
            "an activity cannot call `{name}`, which is a helper of `execute`\nhelp: {shared}"
        )),
        Call::Method if kind == Kind::Workflow && name == "execute" => {
            Some("an activity cannot call `execute`: it is a step of it".to_string())
        }
        Call::Method if DURABLE.contains(&name.as_str()) => Some(match name.as_str() {
            "sleep" | "sleep_until" => format!(
                "activities cannot `{name}`: make durable calls in `execute`\n\
                 help: return from the activity and sleep in `execute`; to wait between attempts, use `retries` and `backoff`"
            ),
            "answer" => "an activity cannot `answer` queries: the workflow does, while it waits\n\
                 help: call `self.answer(…)` in `execute`"
                .to_string(),
            "random" | "uuid" => format!(
                "`self.{name}()` is available in `execute`, where it gives the same value on every replay\n\
                 help: take the value as a parameter, or use `self.idempotency_key()`, the same for every attempt"
            ),
            _ => format!(
                "activities cannot `{name}`: make durable calls in `execute`\n\
                 help: return from the activity and call `self.{name}(…)` in `execute`"
            ),
        }),
        Call::WithSelf => Some(
            "activities cannot call workflows or entities: make durable calls in `execute`\n\
             help: return from the activity and make the call in `execute`"
                .to_string(),
        ),
        Call::Spawn => Some(format!(
            "activities cannot `{name}`: a module has one thread and no async runtime\n\
             help: do the work here; to do several things at once, make them activities and `join!` their calls in `execute`"
        )),
        Call::Method | Call::ThreadSleep => None,
    }
}

fn in_execute(method: &Method, found: &Use) -> Option<String> {
    let name = signature::plain(&found.name);
    let place = match method.role {
        Role::Execute => "`execute`".to_string(),
        _ => format!("`{}`, a helper of `execute`", method.ident()),
    };
    match found.what {
        Call::Method if name == "execute" => Some(
            "`execute` is called by the host\n\
             help: to run the workflow with another request, call it through its client: `Name::client(self).execute(…)`"
                .to_string(),
        ),
        Call::Method if matches!(name.as_str(), "attempt" | "deadline" | "idempotency_key") => {
            Some(format!("`self.{name}()` is not available in {place}: only activities have attempts"))
        }
        Call::Method if IMMEDIATE.contains(&name.as_str()) => Some(format!(
            "`self.{name}()` is not available in {place}, which is replayed\n\
             help: move the call into a method with `#[activity]`, and call that method here; its result is journaled"
        )),
        Call::ThreadSleep => Some(format!(
            "`thread::sleep` is not available in {place}: it would block the whole workflow\nhelp: write `self.sleep(…).await?`, which is durable"
        )),
        Call::Spawn => Some(format!(
            "`{name}` is not available in {place}: a module has one thread and no async runtime\n\
             help: write `self.spawn(async move {{ … }})`, whose task is replayed with the rest; make a long computation an activity"
        )),
        Call::Method | Call::WithSelf => None,
    }
}

/// A call that may not be available.
struct Use {
    name: Ident,
    what: Call,
}

enum Call {
    /// `self.name(…)`.
    Method,
    /// `Workflow::client(self)` or `cruster::remote(self, …)`.
    WithSelf,
    /// `std::thread::sleep(…)`.
    ThreadSleep,
    /// `std::thread::spawn(…)`, or the `spawn` of an async runtime.
    Spawn,
}

/// Finds the calls in a body. Items inside it have their own `self`.
#[derive(Default)]
struct Uses {
    found: Vec<Use>,
}

impl Uses {
    fn add(&mut self, name: &Ident, what: Call) {
        self.found.push(Use {
            name: name.clone(),
            what,
        });
    }

    fn call_of(&mut self, path: &Path, first_is_self: bool) {
        let mut backwards = path.segments.iter().rev();
        let Some(last) = backwards.next() else { return };
        let qualifier = backwards.next();
        if first_is_self
            && ((last.ident == "client" && qualifier.is_some()) || last.ident == "remote")
        {
            self.add(&last.ident, Call::WithSelf);
        }
        if last.ident == "sleep" && qualifier.is_some_and(|q| q.ident == "thread") {
            self.add(&last.ident, Call::ThreadSleep);
        }
        if is_spawn(&path.segments.iter().map(|s| &s.ident).collect::<Vec<_>>()) {
            self.add(&last.ident, Call::Spawn);
        }
    }

    /// The arguments of a macro are tokens: this finds the same calls by their tokens.
    fn tokens(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        for (i, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) if ident == "self" => {
                    if let Some(name) = method_behind(&trees[i + 1..]) {
                        self.add(name, Call::Method);
                    }
                }
                TokenTree::Ident(ident)
                    if (ident == "client" || ident == "remote")
                        && arguments_begin_with_self(&trees[i + 1..]) =>
                {
                    self.add(ident, Call::WithSelf);
                }
                _ => {}
            }
        }
    }
}

/// Whether a path is a function that starts a thread, or a task of an async runtime.
fn is_spawn(path: &[&Ident]) -> bool {
    match path {
        [.., thread, last] if *thread == "thread" => *last == "spawn" || *last == "scope",
        [.., runtime, task, last]
            if *task == "task" && (*runtime == "tokio" || *runtime == "async_std") =>
        {
            last.to_string().starts_with("spawn")
        }
        [.., tokio, last] if *tokio == "tokio" => *last == "spawn",
        _ => false,
    }
}

/// `name` of `.name(…)` or `.name::<…>(…)`.
fn method_behind(trees: &[TokenTree]) -> Option<&Ident> {
    match trees {
        [TokenTree::Punct(dot), TokenTree::Ident(name), next, ..] if dot.as_char() == '.' => {
            match next {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    Some(name)
                }
                TokenTree::Punct(colon) if colon.as_char() == ':' => Some(name),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether the next parentheses, with nothing but type arguments before them, begin with `self`.
fn arguments_begin_with_self(trees: &[TokenTree]) -> bool {
    for tree in trees {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                let first = group
                    .stream()
                    .into_iter()
                    .find(|t| !matches!(t, TokenTree::Punct(p) if p.as_char() == '&'));
                return matches!(first, Some(TokenTree::Ident(ident)) if ident == "self");
            }
            TokenTree::Punct(p) if matches!(p.as_char(), ':' | '<' | '>' | ',') => {}
            TokenTree::Ident(_) => {}
            _ => return false,
        }
    }
    false
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if is_self(&call.receiver) {
            self.add(&call.method, Call::Method);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(path) = &*call.func {
            self.call_of(&path.path, call.args.first().is_some_and(is_self));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        self.tokens(mac.tokens.clone());
    }

    fn visit_item(&mut self, _: &'ast Item) {}
}

fn is_self(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => path.path.is_ident("self"),
        Expr::Reference(reference) => is_self(&reference.expr),
        Expr::Paren(paren) => is_self(&paren.expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::implementation::Implementation;
    use crate::method::Kind;
    use crate::problems::Problems;
    use proc_macro2::TokenStream;
    use quote::quote;

    /// The errors about the body of an activity, or else of `execute`.
    fn complaints(in_activity: bool, body: TokenStream) -> String {
        let (execute, activity) = if in_activity {
            (quote!(), body)
        } else {
            (body, quote!())
        };
        let block = quote! {
            impl Order {
                async fn execute(&self, request: u32) -> Result<u32, Error> { #execute }
                #[activity]
                async fn step(&self) -> Result<(), Error> { #activity }
            }
        };
        let mut problems = Problems::default();
        Implementation::read(Kind::Workflow, block, &mut problems);
        problems.report().to_string()
    }

    #[test]
    fn calls_are_found_wherever_they_hide() {
        let bodies = [
            quote! { let f = || async { (&self).sleep(d).await }; },
            quote! { select! { _ = self.sleep(d) => {}, x = other => x } },
            quote! { vec![vec![self.sleep(d)]] },
            quote! { if true { match x { _ => self.sleep(d) } } },
        ];
        for body in bodies {
            let found = complaints(true, body.clone());
            assert!(
                found.contains("activities cannot `sleep`"),
                "{body}: {found}"
            );
        }
        let bodies = [
            quote! { join!(other::Flow::client(self).execute(1)) },
            quote! { join!(cruster::remote::<Vec<u32>, u32>(&self, "x/Y").execute(1)) },
            quote! { let client = Flow::client(self); },
        ];
        for body in bodies {
            let found = complaints(true, body.clone());
            assert!(
                found.contains("activities cannot call workflows"),
                "{body}: {found}"
            );
        }
        let bodies = [
            quote! { std::thread::spawn(|| 1).join() },
            quote! { let t = thread::spawn(f); },
            quote! { std::thread::scope(|s| 1) },
            quote! { ::tokio::spawn(async { 1 }).await },
            quote! { tokio::task::spawn_blocking(f).await },
        ];
        for body in bodies {
            let found = complaints(false, body.clone());
            assert!(found.contains("self.spawn(async move"), "{body}: {found}");
            let found = complaints(true, body.clone());
            assert!(found.contains("activities cannot `s"), "{body}: {found}");
        }
        assert!(
            complaints(false, quote! { format!("{:?}", self.config::<u32>("x")) })
                .contains("`self.config()`")
        );
    }

    #[test]
    fn what_is_in_its_place_is_left_alone() {
        let in_activities = [
            quote! { self.sleep.len(); other.sleep(d); sleep(d); std::thread::sleep(d) },
            quote! { format!("{} {}", self.sleep, other.sleep(d)) },
            quote! { impl Other { fn f(&self) { self.sleep() } } },
            quote! { http::client(url); Flow::client(other); self.now() },
        ];
        for body in in_activities {
            assert_eq!(complaints(true, body.clone()), "", "{body}");
        }
        let in_execute = [
            quote! { self.config.url; other.http(); self.sleep(d).await; self.step().await },
            quote! { let p = Flow::client(self); self.timeout(d, p.execute(1)).await },
            quote! { self.spawn(f).await; task::spawn(f); spawn(f); thread::current() },
        ];
        for body in in_execute {
            assert_eq!(complaints(false, body.clone()), "", "{body}");
        }
    }
}
