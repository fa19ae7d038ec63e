//! The shapes of requests and results.
//!
//! A module tells its host the shapes of its requests and results. The host checks
//! a request against them before it stores anything, and shows them to users.
//! `#[derive(Schema)]` describes a type as serde encodes it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::bytes::Bytes;
use crate::names::sort;
use crate::timestamp::Timestamp;
use crate::value::Value;
use crate::wire;

/// A type that has a shape. Derive it beside serde's traits:
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema)]
/// pub struct Order {
///     pub id: String,
///     #[serde(default)]
///     pub note: Option<String>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema, which requests and results need",
    label = "needs `Schema`",
    note = "derive it beside serde's traits: #[derive(Serialize, Deserialize, Schema)]",
    note = "for a type of another crate use `cruster::Value`, or wrap it in a type of your own"
)]
pub trait Schema {
    /// The shape of the type on the wire.
    fn schema() -> Shape;
}

/// The shape of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape(wire::Schema);

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field(wire::Field);

impl Field {
    /// A field that every value has.
    pub fn required(name: &str, shape: Shape) -> Self {
        Self::new(name, shape, true)
    }

    /// A field that may be absent.
    pub fn optional(name: &str, shape: Shape) -> Self {
        Self::new(name, shape, false)
    }

    fn new(name: &str, shape: Shape, required: bool) -> Self {
        Field(wire::Field {
            name: name.to_owned(),
            required,
            schema: Some(Box::new(shape.0)),
        })
    }
}

thread_local! {
    /// The structs that are being described, outermost first.
    static WITHIN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

impl Shape {
    fn of(kind: &str) -> Self {
        Shape(wire::Schema {
            kind: kind.to_owned(),
            ..wire::Schema::default()
        })
    }

    fn sized(kind: &str, bits: u32) -> Self {
        let mut shape = Self::of(kind);
        shape.0.bits = i64::from(bits);
        shape
    }

    fn with_elem(kind: &str, elem: Shape) -> Self {
        let mut shape = Self::of(kind).nullable();
        shape.0.elem = Some(Box::new(elem.0));
        shape
    }

    /// Any value.
    pub fn any() -> Self {
        Self::of("any").nullable()
    }

    /// Nothing.
    pub fn null() -> Self {
        Self::of("null")
    }

    /// true or false.
    pub fn bool() -> Self {
        Self::of("bool")
    }

    /// An integer of some bits.
    pub fn int(bits: u32) -> Self {
        Self::sized("int", bits)
    }

    /// An unsigned integer of some bits.
    pub fn uint(bits: u32) -> Self {
        Self::sized("uint", bits)
    }

    /// A number of 32 or 64 bits.
    pub fn float(bits: u32) -> Self {
        Self::sized("float", bits)
    }

    /// A text.
    pub fn string() -> Self {
        Self::of("string")
    }

    /// Bytes. Nil stands for the empty ones, as other languages write them.
    pub fn bytes() -> Self {
        Self::of("bytes").nullable()
    }

    /// A point in time.
    pub fn time() -> Self {
        Self::of("time")
    }

    /// A list. Nil stands for the empty one, as other languages write it.
    pub fn list(elem: Shape) -> Self {
        Self::with_elem("list", elem)
    }

    /// A list of a fixed length.
    pub fn array(elem: Shape) -> Self {
        let mut shape = Self::with_elem("list", elem);
        shape.0.nullable = false;
        shape
    }

    /// A map whose keys are strings. Nil stands for the empty one.
    pub fn map(elem: Shape) -> Self {
        Self::with_elem("map", elem)
    }

    /// A struct. Fields are sorted; of two with the same name the first counts.
    pub fn structure(fields: Vec<Field>) -> Self {
        let mut fields: Vec<wire::Field> = fields.into_iter().map(|f| f.0).collect();
        sort(&mut fields, |a, b| a.name < b.name);
        fields.dedup_by(|b, a| a.name == b.name);
        let mut shape = Self::of("struct");
        shape.0.fields = (!fields.is_empty()).then_some(fields);
        shape
    }

    /// The shape of a type that may contain itself. Shapes are trees, so the inner
    /// occurrence is any value.
    pub fn guarded<T: ?Sized>(describe: impl FnOnce() -> Shape) -> Self {
        let name = std::any::type_name::<T>();
        if WITHIN.with_borrow(|within| within.contains(&name)) {
            return Self::any();
        }
        WITHIN.with_borrow_mut(|within| within.push(name));
        let shape = describe();
        WITHIN.with_borrow_mut(Vec::pop);
        shape
    }

    /// The shape, and nil.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.0.nullable = true;
        self
    }

    /// The fields of a struct, to flatten them into another; empty for other shapes.
    pub fn into_fields(self) -> Vec<Field> {
        self.0
            .fields
            .map_or_else(Vec::new, |fields| fields.into_iter().map(Field).collect())
    }

    /// Whether the shape is a struct.
    pub fn is_structure(&self) -> bool {
        self.0.kind == "struct"
    }

    /// The shape of a whole value. One without content is an empty struct.
    pub(crate) fn into_wire(self) -> wire::Schema {
        match self.0.kind.as_str() {
            "null" => Shape::structure(Vec::new()).0,
            _ => self.0,
        }
    }
}

macro_rules! shapes {
    ($($ty:ty => $shape:expr;)*) => {
        $(impl Schema for $ty {
            fn schema() -> Shape {
                $shape
            }
        })*
    };
}

shapes! {
    () => Shape::null();
    bool => Shape::bool();
    i8 => Shape::int(8);
    i16 => Shape::int(16);
    i32 => Shape::int(32);
    i64 => Shape::int(64);
    isize => Shape::int(isize::BITS);
    u8 => Shape::uint(8);
    u16 => Shape::uint(16);
    u32 => Shape::uint(32);
    u64 => Shape::uint(64);
    usize => Shape::uint(usize::BITS);
    f32 => Shape::float(32);
    f64 => Shape::float(64);
    char => Shape::string();
    str => Shape::string();
    String => Shape::string();
    Bytes => Shape::bytes();
    Timestamp => Shape::time();
    Value => Shape::any();
}

macro_rules! transparent {
    ($($ty:ident),*) => {
        $(impl<T: Schema + ?Sized> Schema for $ty<T> {
            fn schema() -> Shape {
                T::schema()
            }
        })*
    };
}

transparent!(Box, Rc, Arc);

macro_rules! lists {
    ($($ty:ident),*) => {
        $(impl<T: Schema> Schema for $ty<T> {
            fn schema() -> Shape {
                Shape::list(T::schema())
            }
        })*
    };
}

lists!(Vec, VecDeque, BTreeSet);

impl<T: Schema, S> Schema for HashSet<T, S> {
    fn schema() -> Shape {
        Shape::list(T::schema())
    }
}

impl<T: Schema, const N: usize> Schema for [T; N] {
    fn schema() -> Shape {
        Shape::array(T::schema())
    }
}

impl<T: Schema> Schema for Option<T> {
    fn schema() -> Shape {
        T::schema().nullable()
    }
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    fn schema() -> Shape {
        Shape::map(T::schema())
    }
}

impl<T: Schema, S> Schema for HashMap<String, T, S> {
    fn schema() -> Shape {
        Shape::map(T::schema())
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => {
        $(impl<$($name: Schema),+> Schema for ($($name,)+) {
            fn schema() -> Shape {
                Shape::array(Shape::any())
            }
        })*
    };
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
