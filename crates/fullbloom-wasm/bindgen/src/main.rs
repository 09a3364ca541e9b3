//! `fullbloom-bindgen MODULE.wasm DIRECTORY` writes the module and its JavaScript bindings for a page.

use anyhow::{Context, bail};
use std::env;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [module, directory] = args.as_slice() else {
        bail!("usage: fullbloom-bindgen MODULE.wasm DIRECTORY")
    };
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .web(true)?
        .typescript(true)
        .remove_producers_section(true)
        .remove_name_section(true);
    bindgen.generate(directory).with_context(|| module.clone())
}
