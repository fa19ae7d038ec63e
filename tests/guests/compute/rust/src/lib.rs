//! A guest that computes: it hashes, sorts, and writes and reads JSON. The length of the
//! input of a turn selects the work. `host/wasm/testdata/guests/compute` is the same in Go.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[derive(Serialize, Deserialize)]
struct Order {
    id: usize,
    name: String,
    items: Vec<String>,
    total: usize,
}

fn hash() {
    let block = vec![0u8; 256 << 10];
    black_box(Sha256::digest(black_box(&block)));
}

fn sort() {
    let mut n = 1u32;
    let mut numbers: Vec<u32> = (0..20_000)
        .map(|_| {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            n
        })
        .collect();
    numbers.sort();
    black_box(numbers);
}

fn write_and_read() {
    let items = ["apple", "pear", "plum", "quince"]
        .map(String::from)
        .to_vec();
    let orders: Vec<Order> = (0..200)
        .map(|id| Order {
            id,
            name: "an order with a name".into(),
            items: items.clone(),
            total: id * 100,
        })
        .collect();
    let text = serde_json::to_string(&orders).expect("orders are JSON");
    let again: Vec<Order> = serde_json::from_str(black_box(&text)).expect("and back");
    black_box(again);
}

#[unsafe(no_mangle)]
extern "C" fn cruster_abi() -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C" fn cruster_describe() {}

#[unsafe(no_mangle)]
extern "C" fn cruster_start(_length: i32) -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C" fn cruster_resume(length: i32) -> i32 {
    match length {
        1 => hash(),
        2 => sort(),
        3 => write_and_read(),
        _ => {}
    }
    1
}
