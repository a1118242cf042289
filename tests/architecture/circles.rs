//! Import circles: files of a crate that import each other, directly or through others.
//!
//! An import of a re-exported item counts as one of the file that defines the item. Imports between a module and those inside
//! it do not count, nor do those of tests. An item that `use module::*` brings into scope counts as the importing file's own.

use crate::{collect, source_folders};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use syn::visit::{self, Visit};

/// Circles that are allowed: the crate's sources, the files, and the reason.
const CIRCLES: &[(&str, &str, &str)] = &[
    (
        "compiler/ir/src",
        "prim/attrs/mod.rs prim/buffer.rs",
        "an attribute may be a buffer, and a buffer's layout is an attribute",
    ),
    (
        "runtime/src",
        "memory/meter.rs memory/workspace.rs",
        "one variable of a thread has the account and the scratch stack",
    ),
    (
        "runtime/src",
        "reflect/text.rs show/mod.rs",
        "a value's text has the texts of the objects in it, and an object's those of its values",
    ),
    (
        "runtime/src",
        "vm/host_check.rs vm/interrupt.rs",
        "a request sets the flag that interrupts are polled by, and a poll makes the check",
    ),
    ("runtime/src", "vm/machine.rs vm/program.rs", "a program caches idle machines, and a machine runs a program"),
];

#[test]
fn files_do_not_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut met, mut unexpected) = (vec![false; CIRCLES.len()], String::new());
    for src in source_folders(root) {
        let folder = src.strip_prefix(root).unwrap().to_str().unwrap();
        for circle in circles(&src) {
            let files = circle.keys().map(String::as_str).collect::<Vec<_>>().join(" ");
            match CIRCLES.iter().position(|(own, allowed, _)| *own == folder && *allowed == files) {
                Some(entry) => met[entry] = true,
                None => unexpected += &format!("{folder}: {files}\n{circle:#?}\n"),
            }
        }
    }
    assert!(unexpected.is_empty(), "these files import each other (file, imported files, items):\n{unexpected}");
    let stale: Vec<_> = CIRCLES.iter().zip(&met).filter(|(_, met)| !**met).map(|(entry, _)| entry).collect();
    assert!(stale.is_empty(), "these circles are cut: {stale:?}");
}

/// A path of modules from the crate's root, followed by an item or not.
type Names = Vec<String>;

/// Paths of imported items by file, and by the file that defines them.
type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Returns the circles of a crate, each with its files and the imports between them.
fn circles(src: &Path) -> Vec<Imports> {
    let imports = imports(src);
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (&**file, reached(&imports, file))).collect();
    let circle_of = |file: &str| -> BTreeSet<&str> {
        reached[file].iter().copied().filter(|other| reached[other].contains(file)).collect()
    };
    let circles: BTreeSet<BTreeSet<&str>> = reached.keys().map(|file| circle_of(file)).collect();
    let within = |circle: &BTreeSet<&str>, file: &str| {
        let imported = imports[file].iter().filter(|(other, _)| circle.contains(&***other));
        imported.map(|(other, items)| (other.clone(), items.clone())).collect()
    };
    let non_empty = circles.iter().filter(|circle| !circle.is_empty());
    non_empty.map(|circle| circle.iter().map(|file| ((*file).to_owned(), within(circle, file))).collect()).collect()
}

/// Returns the files that a file imports, directly or through others.
fn reached<'a>(imports: &'a Imports, file: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(file) = open.pop() {
        open.extend(imports[file].keys().map(String::as_str).filter(|other| reached.insert(*other)));
    }
    reached
}

/// Returns the imports between the files of a crate.
fn imports(src: &Path) -> Imports {
    let modules = modules(src);
    let mut imports = Imports::new();
    for (own, module) in &modules {
        let imported = imports.entry(module.file.clone()).or_default();
        for path in &module.paths {
            let Some(target) = resolve(&modules, own, path, 0) else { continue };
            if !target.starts_with(own) && !own.starts_with(&target) {
                imported.entry(modules[&target].file.clone()).or_default().insert(path.join("::"));
            }
        }
    }
    imports
}

/// Returns the module that defines the item at a path, as written in module `own`.
fn resolve(modules: &BTreeMap<Names, Module>, own: &[String], path: &[String], depth: usize) -> Option<Names> {
    let path = match path.first()?.as_str() {
        _ if depth > 8 => return None,
        "crate" => path[1..].to_vec(),
        "self" => [own, &path[1..]].concat(),
        "super" => {
            let supers = path.iter().take_while(|part| *part == "super").count();
            [&own[..own.len() - supers], &path[supers..]].concat()
        }
        // An item in scope, or a child.
        _ => [own, path].concat(),
    };
    let len = (0..=path.len()).rev().find(|len| modules.contains_key(&path[..*len]))?;
    let (module, rest) = path.split_at(len);
    match rest.first().and_then(|name| modules[module].uses.get(name)) {
        Some(used) => resolve(modules, module, &[used, &rest[1..]].concat(), depth + 1),
        None => Some(module.to_vec()),
    }
}

/// Imports of a module.
#[derive(Default)]
struct Module {
    /// Its file, relative to the crate's sources.
    file: String,
    /// Paths that it names, except those of re-exports.
    paths: BTreeSet<Names>,
    /// Paths of items that it imports or re-exports, by the name that they have in it.
    uses: BTreeMap<String, Names>,
}

/// Returns the modules of a crate by their paths, without tests.
fn modules(src: &Path) -> BTreeMap<Names, Module> {
    let mut files = Vec::new();
    collect(src, &mut files);
    let mut modules = BTreeMap::new();
    for file in files {
        let relative = file.strip_prefix(src).unwrap();
        let mut own: Names = relative.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        if own.iter().any(|part| part == "tests" || part.ends_with("_tests")) {
            continue;
        }
        own.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
        let text = std::fs::read_to_string(&file).unwrap();
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut module = Module { file: relative.display().to_string(), ..Module::default() };
        module.visit_file(&syntax);
        modules.insert(own, module);
    }
    modules
}

impl Module {
    /// Adds the paths of a `use` tree below `prefix`.
    fn add_use(&mut self, tree: &syn::UseTree, prefix: &[String], is_public: bool) {
        let (name, alias) = match tree {
            syn::UseTree::Path(path) => {
                return self.add_use(&path.tree, &[prefix, &[path.ident.to_string()]].concat(), is_public);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_use(tree, prefix, is_public));
            }
            syn::UseTree::Glob(_) => {
                self.paths.insert(prefix.to_vec());
                return;
            }
            syn::UseTree::Name(name) => (&name.ident, &name.ident),
            syn::UseTree::Rename(rename) => (&rename.ident, &rename.rename),
        };
        let mut path = prefix.to_vec();
        if name != "self" {
            path.push(name.to_string());
        }
        let alias = if alias == "self" { path.last().cloned().unwrap_or_default() } else { alias.to_string() };
        self.uses.insert(alias, path.clone());
        if !is_public {
            self.paths.insert(path);
        }
    }
}

impl<'a> Visit<'a> for Module {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attrs = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        let is_test = |attr: &syn::Attribute| {
            attr.path().is_ident("cfg") && attr.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test")
        };
        if !attrs.iter().any(is_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.add_use(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.paths.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}
