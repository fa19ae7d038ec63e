//! `#[derive(Schema)]`: the shape of a type, as serde writes it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Fields, GenericParam, Generics, Meta, Path, Type, parse_quote,
};

use crate::options;
use crate::problems::Problems;
use crate::serde_attrs::{Container, Field};
use crate::signature::plain;

/// Expands the derive.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let own = Own::read("#[schema]", &["any", "crate"], &input.attrs, &mut problems);
    let shape = shape_of(&input, &own, &mut problems);
    if problems.count() > 0 {
        return problems.report();
    }

    let sdk = &own.sdk;
    let name = &input.ident;
    let bounded = bound(&input.generics, sdk);
    let (generics, _, where_clause) = bounded.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #generics #sdk::schema::Schema for #name #arguments #where_clause {
            fn schema() -> #sdk::schema::Shape {
                #shape
            }
        }
    }
}

/// The options of `#[schema(…)]`.
struct Own {
    any: bool,
    sdk: Path,
}

impl Own {
    fn read(attribute: &str, known: &[&str], attrs: &[Attribute], problems: &mut Problems) -> Self {
        let mut own = Own {
            any: false,
            sdk: parse_quote!(::cruster),
        };
        for attr in attrs.iter().filter(|a| a.path().is_ident("schema")) {
            let Meta::List(list) = &attr.meta else {
                problems.add(
                    attr,
                    "the options of a schema go in parentheses: `#[schema(any)]`",
                );
                continue;
            };
            for option in options::parse(attribute, known, list.tokens.clone(), problems) {
                if option.name == "any" {
                    own.any = true;
                } else if let Some(path) = problems.keep(option.path("crate = ::cruster")) {
                    own.sdk = path;
                }
            }
        }
        own
    }
}

/// Requires a schema of type parameters too.
fn bound(generics: &Generics, sdk: &Path) -> Generics {
    let mut bounded = generics.clone();
    for parameter in &mut bounded.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(parse_quote!(#sdk::schema::Schema));
        }
    }
    bounded
}

fn shape_of(input: &DeriveInput, own: &Own, problems: &mut Problems) -> TokenStream {
    let sdk = &own.sdk;
    let container = Container::read(&input.attrs, problems);
    if let Some(lifetime) = input.generics.lifetimes().next() {
        problems.add(lifetime, "values of workflows are stored and read back, so they must own their data\nhelp: use `String` for `&str`, `Vec<T>` for `&[T]`");
    }
    match &input.data {
        Data::Union(union) => {
            problems.add(
                union.union_token,
                "a union has no schema: serde cannot write it\nhelp: make it an enum",
            );
            TokenStream::new()
        }
        _ if own.any || container.opaque => quote! { #sdk::schema::Shape::any() },
        Data::Enum(data)
            if data
                .variants
                .iter()
                .all(|v| matches!(v.fields, Fields::Unit)) =>
        {
            quote! { #sdk::schema::Shape::string() }
        }
        Data::Enum(_) => quote! { #sdk::schema::Shape::any() },
        Data::Struct(data) => struct_shape(&data.fields, &container, sdk, problems),
    }
}

/// A field that is written, and how.
struct Written<'a> {
    name: String,
    ty: &'a Type,
    serde: Field,
    any: bool,
}

impl Written<'_> {
    fn shape(&self, sdk: &Path) -> TokenStream {
        let ty = self.ty;
        match self.any || self.serde.opaque {
            true => quote! { #sdk::schema::Shape::any() },
            false => quote! { <#ty as #sdk::schema::Schema>::schema() },
        }
    }
}

fn struct_shape(
    fields: &Fields,
    container: &Container,
    sdk: &Path,
    problems: &mut Problems,
) -> TokenStream {
    let written = written(fields, container, problems);
    match (fields, written.as_slice()) {
        // A newtype is written as its value.
        (Fields::Unnamed(all), [only]) if all.unnamed.len() == 1 => guarded(&only.shape(sdk), sdk),
        (_, [only]) if container.transparent => guarded(&only.shape(sdk), sdk),
        (Fields::Named(_), _) => named_shape(&written, container, sdk),
        (Fields::Unit, _) => quote! { #sdk::schema::Shape::structure(::std::vec![]) },
        (Fields::Unnamed(_), _) => {
            quote! { #sdk::schema::Shape::array(#sdk::schema::Shape::any()) }
        }
    }
}

fn written<'a>(
    fields: &'a Fields,
    container: &Container,
    problems: &mut Problems,
) -> Vec<Written<'a>> {
    let mut written: Vec<Written> = Vec::new();
    for field in fields {
        let serde = Field::read(&field.attrs, problems);
        let own = Own::read("#[schema]", &["any"], &field.attrs, problems);
        if serde.skip {
            continue;
        }
        let name = match (&serde.rename, &field.ident) {
            (Some(name), _) => name.clone(),
            (None, Some(ident)) => container
                .rename_all
                .map_or_else(|| plain(ident), |case| case.apply(&plain(ident))),
            (None, None) => String::new(),
        };
        if field.ident.is_some()
            && !serde.flatten
            && written.iter().any(|w| w.name == name && !w.serde.flatten)
        {
            problems.add(
                &field.ident,
                format!("two fields are written as `{name}`, and one of them would be lost"),
            );
        }
        written.push(Written {
            name,
            ty: &field.ty,
            serde,
            any: own.any,
        });
    }
    written
}

fn named_shape(fields: &[Written], container: &Container, sdk: &Path) -> TokenStream {
    // A flattened optional struct may leave out all of its fields; a shape cannot express that.
    if fields
        .iter()
        .any(|f| f.serde.flatten && (f.any || f.serde.opaque || is_option(f.ty)))
    {
        return quote! { #sdk::schema::Shape::any() };
    }
    let body = match fields.iter().any(|f| f.serde.flatten) {
        true => flattened(fields, container, sdk),
        false => {
            let fields = fields.iter().flat_map(|f| field(f, container, sdk));
            quote! { #sdk::schema::Shape::structure(::std::vec![#(#fields),*]) }
        }
    };
    guarded(&body, sdk)
}

/// A type may contain itself, also through a newtype: the shape ends there.
fn guarded(body: &TokenStream, sdk: &Path) -> TokenStream {
    quote! { #sdk::schema::Shape::guarded::<Self>(|| { #body }) }
}

/// A field under its name and its aliases. A value has only one of them, so with an alias none is
/// required: a shape cannot express more.
fn field(field: &Written, container: &Container, sdk: &Path) -> Vec<TokenStream> {
    let (serde, shape) = (&field.serde, field.shape(sdk));
    let required =
        !(serde.default || serde.optional || container.default) && serde.aliases.is_empty();
    let of = |name: &String| match required {
        true => quote! { #sdk::schema::Field::required(#name, #shape) },
        false => quote! { #sdk::schema::Field::optional(#name, #shape) },
    };
    core::iter::once(&field.name)
        .chain(&serde.aliases)
        .map(of)
        .collect()
}

/// The fields of a flattened field are known only at run time. A field that is not a struct, such as
/// a map, may add any field.
fn flattened(fields: &[Written], container: &Container, sdk: &Path) -> TokenStream {
    let steps = fields.iter().map(|f| {
        if !f.serde.flatten {
            let field = field(f, container, sdk);
            return quote! { #(fields.push(#field);)* };
        }
        let shape = f.shape(sdk);
        quote! {
            let flattened = #shape;
            if !flattened.is_structure() {
                return #sdk::schema::Shape::any();
            }
            ::core::iter::Extend::extend(&mut fields, flattened.into_fields());
        }
    });
    quote! {
        let mut fields = ::std::vec::Vec::new();
        #(#steps)*
        #sdk::schema::Shape::structure(fields)
    }
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "Option"))
}
