//! The options of `#[workflow_impl]`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, Path, parse_quote};

use crate::activity;
use crate::options::{self, Opt};
use crate::problems::Problems;

const OPTIONS: [&str; 11] = [
    "key",
    "hash",
    "activity_groups",
    "signals",
    "deferreds",
    "queries",
    "updates",
    "state",
    "attributes",
    "name",
    "crate",
];

/// The options of a workflow.
pub(crate) struct WorkflowOptions {
    pub(crate) name: Option<String>,
    pub(crate) key: Option<Expr>,
    pub(crate) hash: bool,
    pub(crate) groups: Vec<Path>,
    pub(crate) signals: Vec<Path>,
    pub(crate) deferreds: Vec<Path>,
    pub(crate) queries: Vec<Path>,
    pub(crate) updates: Vec<Path>,
    pub(crate) state: Vec<Path>,
    pub(crate) attributes: Vec<Path>,
    /// The path of the SDK.
    pub(crate) sdk: Path,
}

impl WorkflowOptions {
    pub(crate) fn parse(tokens: TokenStream, problems: &mut Problems) -> Self {
        let mut parsed = WorkflowOptions {
            name: None,
            key: None,
            hash: true,
            groups: Vec::new(),
            signals: Vec::new(),
            deferreds: Vec::new(),
            queries: Vec::new(),
            updates: Vec::new(),
            state: Vec::new(),
            attributes: Vec::new(),
            sdk: parse_quote!(::cruster),
        };
        let given = options::parse("#[workflow_impl]", &OPTIONS, tokens, problems);
        for option in &given {
            let result = parsed.set(option, problems);
            problems.keep(result);
        }
        let named = |name: &str| given.iter().find(|o| o.name == name);
        if let (Some(hash), None) = (named("hash"), named("key")) {
            problems.add(
                &hash.name,
                "`hash` needs a `key`\n\
                 help: add `key = |request| …`; without one, the whole request is hashed",
            );
        }
        parsed
    }

    fn set(&mut self, option: &Opt, problems: &mut Problems) -> syn::Result<()> {
        match option.name.to_string().as_str() {
            "key" => self.key = Some(key(option)?),
            "hash" => self.hash = option.bool("hash = false")?,
            "activity_groups" => {
                let example = "activity_groups(Payments, Inventory)";
                self.groups = distinct(option, "group", example, problems)?;
            }
            "signals" => {
                self.signals = distinct(option, "signal", "signals(Paid, Canceled)", problems)?;
            }
            "deferreds" => {
                let example = "deferreds(APPROVED, SHIPPED)";
                self.deferreds = distinct(option, "deferred", example, problems)?;
            }
            "queries" => {
                let example = "queries(GetProgress, GetTotal)";
                self.queries = distinct(option, "query", example, problems)?;
            }
            "updates" => {
                self.updates = distinct(option, "update", "updates(Add, Rename)", problems)?;
            }
            "state" => self.state = distinct(option, "state", "state(Stage, Total)", problems)?,
            "attributes" => {
                let example = "attributes(Customer, Amount)";
                self.attributes = distinct(option, "attribute", example, problems)?;
            }
            "name" => self.name = Some(option.name("name = \"ProcessOrder\"")?),
            "crate" => self.sdk = option.path("crate = ::cruster")?,
            _ => {}
        }
        Ok(())
    }
}

fn key(option: &Opt) -> syn::Result<Expr> {
    let key = activity::key(option, "key = |request| request.order_id.clone()")?;
    match &key {
        Expr::Closure(closure) if closure.inputs.len() != 1 => Err(syn::Error::new_spanned(
            closure,
            format!(
                "`key` is given a reference to the request, but takes {}",
                closure.inputs.len()
            ),
        )),
        _ => Ok(key),
    }
}

/// The paths of a list; each may come once.
pub(crate) fn distinct(
    option: &Opt,
    what: &str,
    example: &str,
    problems: &mut Problems,
) -> syn::Result<Vec<Path>> {
    let mut unique: Vec<Path> = Vec::new();
    for path in option.paths(example)? {
        let text = path.to_token_stream().to_string();
        if unique
            .iter()
            .any(|known| known.to_token_stream().to_string() == text)
        {
            problems.add(&path, format!("the {what} `{text}` is listed twice"));
        } else {
            unique.push(path);
        }
    }
    Ok(unique)
}
