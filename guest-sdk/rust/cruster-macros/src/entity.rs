//! `#[stateful_entity]` and `#[entity]`: the structs.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ItemStruct, Path, parse_quote};

use crate::implementation::{self, is};
use crate::method::Kind;
use crate::names;
use crate::options::{self, Opt};
use crate::problems::Problems;
use crate::signature::plain;
use crate::stateless;
use crate::structs;

const OPTIONS: [&str; 7] = [
    "name",
    "mailbox_capacity",
    "concurrency",
    "max_idle_time_secs",
    "shard_group",
    "migrate",
    "crate",
];

/// The bounds of the host.
const MAX_CONCURRENCY: u32 = 1000;
const MAX_MAILBOX: u32 = 100_000;

/// The options of an entity.
struct EntityOptions {
    name: Option<String>,
    mailbox: u32,
    concurrency: u32,
    idle_secs: u32,
    shard_group: String,
    /// The functions from each old shape of the state to the next.
    migrate: Vec<Path>,
    sdk: Path,
}

impl EntityOptions {
    fn parse(kind: Kind, tokens: TokenStream, problems: &mut Problems) -> Self {
        let mut parsed = EntityOptions {
            name: None,
            mailbox: 0,
            concurrency: 0,
            idle_secs: 0,
            shard_group: String::new(),
            migrate: Vec::new(),
            sdk: parse_quote!(::cruster),
        };
        let known: Vec<&str> = OPTIONS
            .into_iter()
            .filter(|o| *o != "migrate" || kind == Kind::Stateful)
            .collect();
        for option in options::parse(kind.on_struct(), &known, tokens, problems) {
            let result = parsed.set(&option);
            problems.keep(result);
        }
        parsed
    }

    fn set(&mut self, option: &Opt) -> syn::Result<()> {
        match option.name.to_string().as_str() {
            "name" => self.name = Some(option.name("name = \"Account\"")?),
            "mailbox_capacity" => {
                self.mailbox = option.number(1..=MAX_MAILBOX, "mailbox_capacity = 50")?;
            }
            "concurrency" => {
                self.concurrency = option.number(1..=MAX_CONCURRENCY, "concurrency = 4")?;
            }
            "max_idle_time_secs" => {
                self.idle_secs = option.number(1..=u32::MAX, "max_idle_time_secs = 120")?;
            }
            "shard_group" => self.shard_group = option.name("shard_group = \"default\"")?,
            "migrate" => self.migrate = option.paths("migrate(from_v0, from_v1)")?,
            "crate" => self.sdk = option.path("crate = ::cruster")?,
            _ => {}
        }
        Ok(())
    }

    /// The value of the definition's options.
    fn value(&self, definition: &ItemStruct) -> TokenStream {
        let sdk = &self.sdk;
        let name = self.name.clone();
        let name = name.unwrap_or_else(|| plain(&definition.ident));
        let (concurrency, mailbox, group) = (self.concurrency, self.mailbox, &self.shard_group);
        let idle = u64::from(self.idle_secs) * 1_000_000_000;
        quote! {
            #sdk::__private::EntityOptions {
                name: #name,
                concurrency: #concurrency,
                idle_time: #idle,
                mailbox: #mailbox,
                shard_group: #group,
            }
        }
    }
}

/// Expands the attribute on a struct.
pub(crate) fn expand(kind: Kind, attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let options = EntityOptions::parse(kind, attribute, &mut problems);
    let Some(mut definition) = structs::read(kind, item.clone(), &mut problems) else {
        let errors = problems.report();
        return quote! { #errors #item };
    };
    check(kind, &options, &mut definition, &mut problems);
    let code = match kind {
        // Otherwise users of the struct would not compile either, and say so.
        _ if !definition.generics.params.is_empty() => TokenStream::new(),
        Kind::Stateful => stateful(&options, &definition),
        _ => stateless(&options, &definition),
    };
    let errors = problems.report();
    quote! { #errors #definition #code }
}

fn check(
    kind: Kind,
    options: &EntityOptions,
    definition: &mut ItemStruct,
    problems: &mut Problems,
) {
    if !definition.generics.params.is_empty() {
        problems.add(
            &definition.generics,
            format!(
                "{} has no type parameters or lifetimes: the host knows it by its name alone",
                kind.noun()
            ),
        );
    }
    if options.name.is_none() {
        if let Some(complaint) = names::complain(&plain(&definition.ident)) {
            problems.add(
                &definition.ident,
                format!("{complaint}\nhelp: give the entity another name with `name = \"…\"`"),
            );
        }
    }
    let advice = match kind {
        Kind::Stateful => {
            "all fields of the struct are the state of the entity\nhelp: remove `#[state]`"
        }
        _ => stateless::ENTITIES,
    };
    let fields = definition.fields.iter_mut().map(|f| &mut f.attrs);
    for attrs in std::iter::once(&mut definition.attrs).chain(fields) {
        for attr in attrs.iter().filter(|a| is(a, "state")) {
            problems.add(attr, advice);
        }
        attrs.retain(|a| !is(a, "state"));
        implementation::refuse_attributes(attrs, problems);
        implementation::strip(attrs);
    }
}

fn stateful(options: &EntityOptions, definition: &ItemStruct) -> TokenStream {
    let (sdk, name, value) = (&options.sdk, &definition.ident, options.value(definition));
    let version = options.migrate.len() as u32;
    let arms = (0..options.migrate.len()).map(|from| {
        let number = from as u32;
        let steps = options.migrate[from..].iter().map(|step| {
            // A step that does not fit its neighbour is reported where it is listed.
            quote_spanned!(step.span()=> let state = #step(state);)
        });
        quote! {
            #number => {
                let state = #sdk::__private::decode_state(of, raw, version)?;
                #(#steps)*
                ::core::result::Result::Ok(state)
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #sdk::EntityState for #name {
            const OPTIONS: #sdk::__private::EntityOptions = #value;
            const VERSION: u32 = #version;

            fn restore(of: &str, raw: &[u8], version: u32) -> #sdk::Result<Self> {
                match version {
                    #(#arms)*
                    _ => #sdk::__private::decode_state(of, raw, version),
                }
            }

            fn copy(&self) -> ::core::option::Option<Self> {
                #[allow(unused_imports)]
                use #sdk::__private::{ByClone as _, ByEncoding as _};
                (&&#sdk::__private::Probe(self)).copy()
            }
        }
    }
}

fn stateless(options: &EntityOptions, definition: &ItemStruct) -> TokenStream {
    let (sdk, name, value) = (&options.sdk, &definition.ident, options.value(definition));
    let default = structs::default_of_unit(definition).into_token_stream();
    quote! {
        #default

        #[automatically_derived]
        impl #sdk::__private::EntityType for #name {
            const OPTIONS: #sdk::__private::EntityOptions = #value;
        }
    }
}
