use cruster::prelude::*;

#[derive(Schema)]
pub union Bits {
    a: u32,
    b: f32,
}

#[derive(Serialize, Deserialize, Schema)]
pub struct TwoNames {
    #[serde(rename(serialize = "a", deserialize = "b"))]
    c: u32,
}

#[derive(Serialize, Schema)]
pub struct Twice {
    a: u32,
    #[serde(rename = "a")]
    b: u32,
}

#[derive(Serialize, Schema)]
pub struct Borrowed<'a> {
    text: &'a str,
}

#[derive(Serialize, Deserialize, Schema)]
#[schema(anything)]
pub struct Unknown {
    #[schema]
    a: u32,
}

fn main() {}
