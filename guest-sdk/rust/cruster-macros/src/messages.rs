//! `#[derive(Signal)]`, `#[derive(Query)]` and the like: the names of the messages that workflows
//! exchange with the world, and the types of answers.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Ident, Meta, Path, Type, parse_quote};

use crate::names;
use crate::options;
use crate::problems::Problems;
use crate::signature::plain;

/// The kind of message that a type becomes.
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

const UPDATE: Derive = Derive {
    word: "update",
    example: "#[update(answer = u32)]",
    options: &["answer", "validated", "name", "crate"],
};

const STATE: Derive = Derive {
    word: "state",
    example: "#[state(name = \"stage\")]",
    options: &["name", "crate"],
};

const ATTRIBUTE: Derive = Derive {
    word: "attribute",
    example: "#[attribute(name = \"customer\")]",
    options: &["name", "crate"],
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
        let answer = answer_of(&QUERY, ident, options, problems);
        quote! {
            #[automatically_derived]
            impl #sdk::Query for #ident {
                type Answer = #answer;
                const NAME: &'static str = #name;
            }
        }
    })
}

/// Expands `#[derive(Update)]`.
pub(crate) fn update(item: TokenStream) -> TokenStream {
    expand(&UPDATE, item, |input, options, problems| {
        let (sdk, ident, name) = (&options.sdk, &input.ident, &options.name);
        let answer = answer_of(&UPDATE, ident, options, problems);
        let validated = options.validated;
        let marker = validated.then(|| {
            quote! {
                #[automatically_derived]
                impl #sdk::Validated for #ident {}
            }
        });
        quote! {
            #[automatically_derived]
            impl #sdk::Update for #ident {
                type Answer = #answer;
                const NAME: &'static str = #name;
                const VALIDATED: bool = #validated;
            }
            #marker
        }
    })
}

/// Expands `#[derive(State)]`.
pub(crate) fn state(item: TokenStream) -> TokenStream {
    expand(&STATE, item, |input, options, _| {
        let (sdk, ident, name) = (&options.sdk, &input.ident, &options.name);
        let part = part(sdk, ident, &quote!(state::<Self>), &quote!(self));
        quote! {
            #[automatically_derived]
            impl #sdk::State for #ident {
                const NAME: &'static str = #name;
            }
            #part
        }
    })
}

/// Expands `#[derive(Attribute)]`.
pub(crate) fn attribute(item: TokenStream) -> TokenStream {
    expand(&ATTRIBUTE, item, |input, options, problems| {
        let (sdk, ident, name) = (&options.sdk, &input.ident, &options.name);
        let value = match &input.data {
            Data::Struct(data) => match &data.fields {
                Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                    fields.unnamed.first().map(|f| &f.ty)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(value) = value else {
            problems.add(
                ident,
                format!(
                    "an attribute is a struct with one unnamed field, by which executions are found\n\
                     help: write `struct {ident}(String);`"
                ),
            );
            return TokenStream::new();
        };
        let part = part(sdk, ident, &quote!(attribute::<Self>), &quote!(&self.0));
        quote! {
            #[automatically_derived]
            impl #sdk::Attribute for #ident {
                type Value = #value;
                const NAME: &'static str = #name;
            }
            #part
        }
    })
}

/// How something is published: the function that adds it, and its argument.
fn part(sdk: &Path, ident: &Ident, add: &TokenStream, value: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl #sdk::Part for #ident {
            fn add(&self, to: &mut #sdk::__private::Publication) -> #sdk::Result<()> {
                to.#add(::core::option::Option::Some(#value))
            }

            fn remove(from: &mut #sdk::__private::Publication) {
                let _ = from.#add(::core::option::Option::None);
            }
        }
    }
}

/// The type of the answer, which must be given.
fn answer_of(derive: &Derive, ident: &Ident, options: &Options, problems: &mut Problems) -> Type {
    options.answer.clone().unwrap_or_else(|| {
        let (word, example) = (with_article(derive.word), derive.example);
        let text = format!("{word} has an answer\nhelp: say of which type it is: `{example}`");
        problems.add(ident, text);
        parse_quote!(())
    })
}

fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {word}")
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
                "{} has no type parameters or lifetimes: the host knows it by its name alone",
                with_article(derive.word)
            ),
        );
    }
    let options = Options::read(derive, &input, &mut problems);
    if problems.count() > 0 {
        return problems.report();
    }
    let code = code(&input, &options, &mut problems);
    match problems.count() {
        0 => code,
        _ => problems.report(),
    }
}

/// The options of `#[signal(…)]` and the like.
struct Options {
    name: String,
    answer: Option<Type>,
    validated: bool,
    sdk: Path,
}

impl Options {
    fn read(derive: &Derive, input: &DeriveInput, problems: &mut Problems) -> Self {
        let (word, example) = (derive.word, derive.example);
        let (mut given, mut answer, mut validated) = (None, None, false);
        let mut sdk: Path = parse_quote!(::cruster);
        for attr in input.attrs.iter().filter(|a| a.path().is_ident(word)) {
            let Meta::List(list) = &attr.meta else {
                problems.add(
                    attr,
                    format!(
                        "the options of {} go in parentheses: `{example}`",
                        with_article(word)
                    ),
                );
                continue;
            };
            let (attribute, tokens) = (format!("#[{word}]"), list.tokens.clone());
            for option in options::parse(&attribute, derive.options, tokens, problems) {
                match option.name.to_string().as_str() {
                    "name" => given = problems.keep(option.name("name = \"paid\"")),
                    "answer" => answer = problems.keep(option.type_of("answer = Vec<String>")),
                    "validated" => {
                        validated = problems.keep(option.flag("validated")).is_some();
                    }
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
        Options {
            name,
            answer,
            validated,
            sdk,
        }
    }
}
