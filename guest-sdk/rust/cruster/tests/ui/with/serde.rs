//! Compiles with the serde that the library was built with, and with no other.

fn library<T: cruster::serde::Serialize>() {}

fn author<T: serde::Serialize>() {
    library::<T>();
}

fn main() {
    author::<()>();
}
