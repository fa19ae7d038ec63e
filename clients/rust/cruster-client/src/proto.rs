//! The contract, as `clients/generate.sh` makes it of the protobuf files: for calls that this
//! crate has no method for. Make its clients of [`Cluster::channel`](crate::Cluster::channel).

#![allow(missing_docs, clippy::all, clippy::pedantic)]

include!("proto/cruster.v1.rs");

pub(crate) fn packed(data: Vec<u8>) -> Option<Payload> {
    Some(Payload {
        data: Some(payload::Data::Msgpack(data)),
    })
}

/// The msgpack value of a payload; nothing if there is none.
pub(crate) fn unpacked(payload: Option<Payload>) -> Vec<u8> {
    match payload.and_then(|p| p.data) {
        Some(payload::Data::Msgpack(data)) => data,
        _ => Vec::new(),
    }
}
