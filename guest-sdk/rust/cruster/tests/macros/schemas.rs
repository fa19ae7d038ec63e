//! `#[derive(Schema)]` describes the output of serde.

use std::collections::{BTreeMap, HashMap};

use cruster::prelude::*;
use cruster::schema::{Field, Shape};

fn shape<T: Schema>() -> Shape {
    T::schema()
}

#[derive(Serialize, Deserialize, Schema)]
struct Plain {
    text: String,
    count: Option<u32>,
    r#type: i64,
}

#[test]
fn fields_are_required_under_their_names() {
    let want = Shape::structure(vec![
        Field::required("text", Shape::string()),
        Field::required("count", Shape::uint(32).nullable()),
        Field::required("type", Shape::int(64)),
    ]);
    assert_eq!(shape::<Plain>(), want);
}

#[derive(Serialize, Deserialize, Schema, Default)]
struct Absent {
    #[serde(default)]
    defaulted: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_out: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty", default = "Vec::new")]
    empty: Vec<f32>,
    #[serde(skip)]
    _skipped: u64,
    #[serde(skip_serializing, skip_deserializing)]
    _also_skipped: u64,
}

#[derive(Serialize, Deserialize, Schema, Default)]
#[serde(default)]
struct AllDefault {
    a: u8,
}

#[test]
fn what_may_be_absent_is_optional() {
    let want = Shape::structure(vec![
        Field::optional("defaulted", Shape::uint(8)),
        Field::optional("left_out", Shape::bool().nullable()),
        Field::optional("empty", Shape::list(Shape::float(32))),
    ]);
    assert_eq!(shape::<Absent>(), want);
    assert_eq!(
        shape::<AllDefault>(),
        Shape::structure(vec![Field::optional("a", Shape::uint(8))])
    );
}

#[derive(Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Renamed {
    order_id: String,
    #[serde(rename = "The Count")]
    count: u32,
}

#[test]
fn names_are_those_on_the_wire() {
    let want = Shape::structure(vec![
        Field::required("orderId", Shape::string()),
        Field::required("The Count", Shape::uint(32)),
    ]);
    assert_eq!(shape::<Renamed>(), want);
}

#[derive(Serialize, Deserialize, Schema)]
struct Outer {
    id: u32,
    #[serde(flatten)]
    inner: Renamed,
}

#[derive(Serialize, Deserialize, Schema)]
struct OpenEnded {
    id: u32,
    #[serde(flatten)]
    rest: HashMap<String, u32>,
}

#[derive(Serialize, Deserialize, Schema)]
struct PerhapsMore {
    id: u32,
    #[serde(flatten)]
    more: Option<Renamed>,
}

#[test]
fn flattened_fields_stand_beside_the_others() {
    let want = Shape::structure(vec![
        Field::required("id", Shape::uint(32)),
        Field::required("orderId", Shape::string()),
        Field::required("The Count", Shape::uint(32)),
    ]);
    assert_eq!(shape::<Outer>(), want);
    assert_eq!(shape::<OpenEnded>(), Shape::any());
    assert_eq!(shape::<PerhapsMore>(), Shape::any());
}

#[derive(Serialize, Deserialize, Schema)]
struct Id(String);

#[derive(Serialize, Deserialize, Schema)]
#[serde(transparent)]
struct Wrapper {
    only: BTreeMap<String, Id>,
    #[serde(skip)]
    _cache: u32,
}

#[derive(Serialize, Deserialize, Schema)]
struct Pair(u32, String);

#[derive(Serialize, Deserialize, Schema)]
struct Unit;

#[derive(Serialize, Deserialize, Schema)]
struct Empty {}

#[test]
fn wrappers_are_what_they_wrap() {
    assert_eq!(shape::<Id>(), Shape::string());
    assert_eq!(shape::<Wrapper>(), Shape::map(Shape::string()));
    assert_eq!(shape::<Pair>(), shape::<(u32, String)>());
    assert_eq!(shape::<Unit>(), Shape::structure(vec![]));
    assert_eq!(shape::<Empty>(), Shape::structure(vec![]));
}

#[derive(Serialize, Deserialize, Schema)]
enum Colour {
    Red,
    #[serde(rename = "blau")]
    Blue,
}

#[derive(Serialize, Deserialize, Schema)]
enum Payment {
    Card { number: String },
    Cash,
}

#[derive(Serialize, Deserialize, Schema)]
#[serde(untagged)]
enum Nothing {
    A,
}

#[test]
fn enums_are_strings_or_anything() {
    assert_eq!(shape::<Colour>(), Shape::string());
    assert_eq!(shape::<Payment>(), Shape::any());
    assert_eq!(shape::<Nothing>(), Shape::any());
}

mod hex {
    use cruster::serde::{Deserialize, Deserializer, Serializer};

    // serde hands over a reference, whatever the type.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(n: &u32, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&format!("{n:x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
        u32::from_str_radix(&String::deserialize(d)?, 16).map_err(cruster::serde::de::Error::custom)
    }
}

/// A type of another crate, without a schema.
#[derive(Serialize, Deserialize)]
struct Foreign;

#[derive(Serialize, Deserialize, Schema)]
struct Opaque {
    #[serde(with = "hex")]
    number: u32,
    #[schema(any)]
    foreign: Foreign,
}

#[derive(Serialize, Deserialize, Schema)]
#[serde(into = "String", try_from = "String")]
#[derive(Clone)]
struct Converted {
    text: String,
}

impl From<Converted> for String {
    fn from(c: Converted) -> Self {
        c.text
    }
}

impl From<String> for Converted {
    fn from(text: String) -> Self {
        Converted { text }
    }
}

#[test]
fn what_serde_is_told_to_write_otherwise_is_anything() {
    let want = Shape::structure(vec![
        Field::required("number", Shape::any()),
        Field::required("foreign", Shape::any()),
    ]);
    assert_eq!(shape::<Opaque>(), want);
    assert_eq!(shape::<Converted>(), Shape::any());
}

#[derive(Serialize, Deserialize, Schema)]
struct Page<T> {
    items: Vec<T>,
    next: Option<Box<Page<T>>>,
}

#[test]
fn generic_and_recursive_types_have_a_shape() {
    let want = Shape::structure(vec![
        Field::required("items", Shape::list(Shape::bool())),
        Field::required("next", Shape::any()),
    ]);
    assert_eq!(shape::<Page<bool>>(), want);
}
