//! `#[derive(Signal)]` and `#[derive(Query)]`: the names of signals and queries, and the types of
//! the answers.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Meta, Path, Type, parse_quote};

use crate::names;
use crate::options;
use crate::problems::Problems;
use crate::signature::plain;

/// What a type is made.
struct Derive {
    /// The word for it, which is also the name of its attribute.
    word: &'static str,
    /// The attribute, with an example of its options.
    example: &'static str,
    options: &'static [&'static str],
}

const SIGNAL: Derive = Derive {
    word: "signal",
    example: "#[signal(name = \"paid\")]",
    options: &["name", "crate"],
};

const QUERY: Derive = Derive {
    word: "query",
    example: "#[query(answer = u32)]",
    options: &["answer", "name", "crate"],
};

/// Expands `#[derive(Signal)]`.
pub(crate) fn signal(item: TokenStream) -> TokenStream {
    expand(&SIGNAL, item, |input, options, _| {
        let (sdk, ident, name) = (&options.sdk, &input.ident, &options.name);
        quote! {
            #[automatically_derived]
            impl #sdk::Signal for #ident {
                const NAME: &'static str = #name;
            }
        }
    })
}

/// Expands `#[derive(Query)]`.
pub(crate) fn query(item: TokenStream) -> TokenStream {
    expand(&QUERY, item, |input, options, problems| {
        let (sdk, ident, name) = (&options.sdk, &input.ident, &options.name);
        let Some(answer) = &options.answer else {
            problems.add(
                ident,
                "a query has an answer\nhelp: say of which type it is: `#[query(answer = u32)]`",
            );
            return TokenStream::new();
        };
        let bare = matches!(&input.data, Data::Struct(data) if matches!(data.fields, Fields::Unit));
        quote! {
            #[automatically_derived]
            impl #sdk::Query for #ident {
                type Answer = #answer;
                const NAME: &'static str = #name;
                const BARE: bool = #bare;
            }
        }
    })
}

fn expand(
    derive: &Derive,
    item: TokenStream,
    code: impl FnOnce(&DeriveInput, &Options, &mut Problems) -> TokenStream,
) -> TokenStream {
    let mut problems = Problems::default();
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    if !input.generics.params.is_empty() {
        problems.add(
            &input.generics,
            format!(
                "a {} has no type parameters or lifetimes: the host knows it by its name alone",
                derive.word
            ),
        );
    }
    let options = Options::read(derive, &input, &mut problems);
    if problems.count() > 0 {
        return problems.report();
    }
    let code = code(&input, &options, &mut problems);
    let errors = problems.report();
    quote! { #errors #code }
}

/// The options of `#[signal(…)]` or `#[query(…)]`.
struct Options {
    name: String,
    answer: Option<Type>,
    sdk: Path,
}

impl Options {
    fn read(derive: &Derive, input: &DeriveInput, problems: &mut Problems) -> Self {
        let (word, example) = (derive.word, derive.example);
        let (mut given, mut answer) = (None, None);
        let mut sdk: Path = parse_quote!(::cruster);
        for attr in input.attrs.iter().filter(|a| a.path().is_ident(word)) {
            let Meta::List(list) = &attr.meta else {
                problems.add(
                    attr,
                    format!("the options of a {word} go in parentheses: `{example}`"),
                );
                continue;
            };
            let (attribute, tokens) = (format!("#[{word}]"), list.tokens.clone());
            for option in options::parse(&attribute, derive.options, tokens, problems) {
                match option.name.to_string().as_str() {
                    "name" => given = problems.keep(option.name("name = \"paid\"")),
                    "answer" => answer = problems.keep(option.type_of("answer = Vec<String>")),
                    _ => {
                        if let Some(path) = problems.keep(option.path("crate = ::cruster")) {
                            sdk = path;
                        }
                    }
                }
            }
        }
        let name = given.unwrap_or_else(|| names::snake_case(&plain(&input.ident)));
        if let Some(complaint) = names::complain(&name) {
            problems.add(
                &input.ident,
                format!(
                    "{complaint}\nhelp: give the {word} another name with `#[{word}(name = \"…\")]`"
                ),
            );
        }
        Options { name, answer, sdk }
    }
}
