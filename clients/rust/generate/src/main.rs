//! Generates the Rust code of the protobuf contract into a folder: `generate API OUT`. It needs
//! protoc. Users of the client do not: the code is committed.

use std::path::PathBuf;
use std::{env, error, fs};

fn main() -> Result<(), Box<dyn error::Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(api), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: generate API OUT".into());
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(api.join("cruster/v1"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "proto") {
            files.push(path);
        }
    }
    files.sort();
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .out_dir(out)
        .compile_protos(&files, &[api])?;
    Ok(())
}
