//! Extensions of MessagePack, as serde sees them: a newtype of a fixed name
//! around a pair of type and payload.

use std::marker::PhantomData;

use serde::de::value::{BytesDeserializer, SeqAccessDeserializer};
use serde::de::{self, DeserializeSeed, IntoDeserializer, SeqAccess, Visitor};

use crate::bytes::Bytes;

/// The name of the newtype.
pub(crate) const EXTENSION: &str = "_ExtStruct";

/// The extension that holds a time.
pub(crate) const EXTENSION_TIME: i8 = -1;

/// The type and the payload of an extension.
pub(crate) type Extension = (i8, Bytes);

/// Gives an extension to a visitor.
pub(crate) fn visit<'de, V: Visitor<'de>, E: de::Error>(
    kind: i8,
    data: &[u8],
    visitor: V,
) -> Result<V::Value, E> {
    visitor.visit_newtype_struct(SeqAccessDeserializer::new(Parts {
        kind: Some(kind),
        data: Some(data),
        error: PhantomData,
    }))
}

/// The two parts of an extension that have not been taken yet.
struct Parts<'a, E> {
    kind: Option<i8>,
    data: Option<&'a [u8]>,
    error: PhantomData<E>,
}

impl<'de, E: de::Error> SeqAccess<'de> for Parts<'_, E> {
    type Error = E;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, E> {
        if let Some(kind) = self.kind.take() {
            return seed.deserialize(kind.into_deserializer()).map(Some);
        }
        self.data
            .take()
            .map(|data| seed.deserialize(BytesDeserializer::new(data)))
            .transpose()
    }
}
