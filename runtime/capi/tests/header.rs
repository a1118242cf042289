//! The header and the exported functions agree: the same names, and the same parameters and types in the same order.
//! The C++ header uses all of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A function: parameters as `type name`, then the return type, in C.
type Functions = BTreeMap<String, Vec<String>>;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Functions that the header declares: everything that ends in `);` outside of comments and bodies.
fn declared() -> Functions {
    let header = fs::read_to_string(folder().join("../include/hammock.h")).unwrap();
    let code: String = header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    let lines: Vec<&str> = code.lines().filter(|line| !line.starts_with('#') && !line.starts_with("typedef")).collect();
    let statements = lines.join("\n");
    statements.split([';', '}']).filter_map(|statement| declaration(statement.trim())).collect()
}

fn declaration(statement: &str) -> Option<(String, Vec<String>)> {
    if statement.contains(['{', '=']) || statement.starts_with("return") {
        return None; // In an inline function's body.
    }
    let (head, params) = statement.strip_suffix(')')?.split_once('(')?;
    let at = head.rfind("hammock_")?;
    let params = params.split(',').map(spaced).filter(|param| param != "void");
    Some((head[at..].to_owned(), params.chain([spaced(&head[..at])]).collect()))
}

/// Normalizes the space between words and stars.
fn spaced(text: &str) -> String {
    text.replace('*', " * ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Functions that the crate exports.
fn exported() -> Functions {
    fs::read_dir(folder().join("src")).unwrap().flat_map(|file| exported_by(&file.unwrap().path())).collect()
}

/// Functions that a file exports.
fn exported_by(file: &Path) -> Functions {
    let mut functions = Functions::new();
    let source = fs::read_to_string(file).unwrap();
    for item in source.split("#[unsafe(no_mangle)]").skip(1) {
        let (_, item) = item.split_once("extern \"C\" fn ").unwrap();
        let (name, rest) = item.split_once('(').unwrap();
        let (params, rest) = rest.split_once(')').unwrap();
        let returned = rest.split_once('{').unwrap().0.trim().strip_prefix("->").map_or("()", str::trim);
        let params = params.split(',').map(str::trim).filter(|param| !param.is_empty()).map(|param| {
            let (name, ty) = param.split_once(':').unwrap();
            spaced(&format!("{} {name}", c_type(ty.trim())))
        });
        functions.insert(name.to_owned(), params.chain([c_type(returned)]).collect());
    }
    functions
}

/// The C spelling of a Rust type.
fn c_type(ty: &str) -> String {
    if ty == "*const *const c_char" {
        return spaced("const char *const *");
    }
    if let Some(pointee) = ty.strip_prefix("*mut ") {
        return spaced(&format!("{} *", c_type(pointee)));
    }
    if let Some(pointee) = ty.strip_prefix("*const ") {
        return spaced(&format!("const {} *", c_type(pointee)));
    }
    let name = match ty {
        "()" | "c_void" => "void",
        "c_char" => "char",
        "c_int" => "int",
        "usize" => "size_t",
        "i64" => "int64_t",
        "u64" => "uint64_t",
        "f64" => "double",
        "Any" => "hammock_any",
        "DType" | "hammock_runtime::DType" => "hammock_dtype",
        "Device" => "hammock_device",
        "DLTensor" => "hammock_tensor",
        "ManagedTensor" => "struct DLManagedTensor",
        "ManagedTensorVersioned" => "struct DLManagedTensorVersioned",
        "Option<SafeCall>" => "hammock_callback",
        "Option<parallel::Runner>" => "hammock_runner",
        own if own.starts_with("hammock_") => own,
        other => panic!("the header has no word for `{other}`"),
    };
    name.to_owned()
}

#[test]
fn header_and_library_agree() {
    let (declared, exported) = (declared(), exported());
    assert!(declared.len() > 40, "{:?}", declared.keys());
    assert_eq!(declared.keys().collect::<Vec<_>>(), exported.keys().collect::<Vec<_>>());
    for (name, signature) in &declared {
        assert_eq!(signature, &exported[name], "of `{name}`");
    }
}

/// The feature in the comment before each declaration, such as "(feature `text`)".
fn declared_features() -> BTreeMap<String, String> {
    let header = fs::read_to_string(folder().join("../include/hammock.h")).unwrap();
    let mut features = BTreeMap::new();
    for part in header.split("/*").skip(1) {
        let (comment, code) = part.split_once("*/").unwrap();
        let comment = comment.replace("\n *", "");
        let feature = comment.split_once("(feature `").map(|(_, rest)| rest.split_once("`)").unwrap().0.to_owned());
        let names = code.split(';').filter_map(|statement| declaration(statement.trim())).map(|(name, _)| name);
        features.extend(names.filter_map(|name| Some((name, feature.clone()?))));
    }
    features
}

/// The feature of each function whose file has one in `lib.rs`.
fn exported_features() -> BTreeMap<String, String> {
    let root = fs::read_to_string(folder().join("src/lib.rs")).unwrap();
    let gated = root.split("#[cfg(feature = \"").skip(1).map(|part| {
        let (feature, rest) = part.split_once("\")]\npub mod ").unwrap();
        (feature.to_owned(), rest.split_once(';').unwrap().0)
    });
    let functions = gated.flat_map(|(feature, module)| {
        let file = folder().join(format!("src/{module}.rs"));
        exported_by(&file).into_keys().map(move |name| (name, feature.clone()))
    });
    functions.collect()
}

#[test]
fn the_header_names_features() {
    let exported = exported_features();
    assert!(exported.len() > 20 && exported["hammock_any_show"] == "text", "{exported:?}");
    assert_eq!(declared_features(), exported);
}

#[test]
fn the_header_for_cpp_has_all_of_it() {
    let files = ["hammock.hpp", "hammock/error.hpp", "hammock/value.hpp", "hammock/module.hpp", "hammock/watch.hpp"];
    let read = |file| fs::read_to_string(folder().join("../include").join(file)).unwrap();
    let code = files.map(read).concat();
    let words: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    // Reached through others: a call without limits, and a field by index.
    let by_others = ["hammock_vm_call", "hammock_tuple_field"];
    let missing = |name: &String| !by_others.contains(&name.as_str()) && !words.contains(name.as_str());
    assert_eq!(declared().into_keys().filter(missing).collect::<Vec<_>>(), [""; 0]);
}
