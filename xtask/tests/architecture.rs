//! Checks imports: no circles between files, and between the modules of gcwatch only what ARCHITECTURE.md permits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use quote::ToTokens;
use syn::visit::Visit;

/// The path of a module from the root of its crate.
type Module = Vec<String>;

/// A file, and the modules that it declares.
struct File {
    syntax: syn::File,
    children: BTreeSet<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Whether an item is for tests only, which may import anything.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        _ => false,
    })
}

/// A module's files: `name.rs`, `name/mod.rs`, or what each `path = "..."` names, one for each operating system.
fn files_of(module: &syn::ItemMod, dir: &Path, parent: &Path) -> Vec<PathBuf> {
    let mut named = Vec::new();
    for attribute in &module.attrs {
        let tokens = attribute.meta.to_token_stream().to_string();
        if let Some((_, path)) = tokens.split_once("path = \"") {
            let path = path.split('"').next().expect("a path");
            named.push(parent.parent().expect("a folder").join(path));
        }
    }
    if !named.is_empty() {
        return named;
    }
    let flat = dir.join(format!("{}.rs", module.ident));
    vec![if flat.exists() { flat } else { dir.join(module.ident.to_string()).join("mod.rs") }]
}

/// Reads a file and those of its modules. If a module has files for several operating systems, all of them count.
fn read(module: &Module, path: &Path, dir: &Path, files: &mut BTreeMap<Module, Vec<File>>) {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let syntax = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut children = BTreeSet::new();
    for item in &syntax.items {
        let syn::Item::Mod(child) = item else { continue };
        if child.content.is_some() || is_test(&child.attrs) {
            continue;
        }
        let name = child.ident.to_string();
        children.insert(name.clone());
        let mut child_module = module.clone();
        child_module.push(name.clone());
        for child_path in files_of(child, dir, path) {
            let folder = child_path.parent().expect("a folder");
            let child_dir = match child_path.file_stem().is_some_and(|stem| stem == "mod") {
                true => folder.to_owned(),
                false => folder.join(child_path.file_stem().expect("a name")),
            };
            read(&child_module, &child_path, &child_dir, files);
        }
    }
    files.entry(module.clone()).or_default().push(File { syntax, children });
}

/// Collects the paths that a file names.
struct Paths(Vec<Vec<String>>);

impl Paths {
    fn tree(&mut self, mut prefix: Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(syn::UsePath { ident, tree, .. }) => {
                prefix.push(ident.to_string());
                self.tree(prefix, tree);
            }
            syn::UseTree::Name(syn::UseName { ident })
            | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                prefix.push(ident.to_string());
                self.0.push(prefix);
            }
            syn::UseTree::Glob(_) => self.0.push(prefix),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.tree(prefix.clone(), item));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.tree(Vec::new(), &item.tree);
        }
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_test(attributes) {
            syn::visit::visit_item(self, item);
        }
    }

    /// Skips visibilities: the path in `pub(super)` is no import.
    fn visit_visibility(&mut self, _visibility: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
}

/// What the files of one crate import from each other.
fn imports(src: &Path) -> BTreeSet<(Module, Module)> {
    let mut files = BTreeMap::new();
    read(&Vec::new(), &src.join("lib.rs"), src, &mut files);
    let mut edges = BTreeSet::new();
    for (module, versions) in &files {
        for file in versions {
            let mut paths = Paths(Vec::new());
            paths.visit_file(&file.syntax);
            for path in paths.0 {
                let named: Module = match path.first().map(String::as_str) {
                    Some("crate") => path[1..].to_vec(),
                    Some("super") => {
                        let up = path.iter().take_while(|part| *part == "super").count();
                        let from = module[..module.len().saturating_sub(up)].to_vec();
                        [from, path[up..].to_vec()].concat()
                    }
                    Some("self") => [module.clone(), path[1..].to_vec()].concat(),
                    // A path of one name may be a variable.
                    Some(first) if path.len() > 1 && file.children.contains(first) => {
                        [module.clone(), path].concat()
                    }
                    _ => continue,
                };
                let known = (0..=named.len()).rev().map(|end| &named[..end]).find(|m| files.contains_key(*m));
                let target = known.expect("the root of the crate").to_vec();
                if target != *module {
                    edges.insert((module.clone(), target));
                }
            }
        }
    }
    edges
}

fn name(module: &Module) -> String {
    if module.is_empty() { "lib.rs".to_owned() } else { module.join("::") }
}

#[test]
fn no_circles() {
    let mut circles = Vec::new();
    for src in
        ["src", "dotnet-diagnostics-client/src", "dotnet-heap-graph/src", "netcore-profiler/src", "xtask/src"]
    {
        let edges = imports(&root().join(src));
        let graph: DiGraphMap<&Module, ()> = edges.iter().map(|(a, b)| (a, b)).collect();
        assert!(graph.node_count() > 5, "{src}: nothing was read");
        for circle in tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1) {
            let inside = |module: &Module| circle.contains(&module);
            let names: Vec<String> = edges
                .iter()
                .filter(|(a, b)| inside(a) && inside(b))
                .map(|(a, b)| format!("  {} -> {}", name(a), name(b)))
                .collect();
            circles.push(format!("{src}: {} files in a circle\n{}", circle.len(), names.join("\n")));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

/// The table of ARCHITECTURE.md: a module, and the modules it may import.
fn permitted() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let table = text.split("<!-- imports -->").nth(1).expect("the table of imports");
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let module = quoted(cells[0]).remove(0);
        (module, cells.last().map(|cell| quoted(cell)).unwrap_or_default().into_iter().collect())
    })
    .collect()
}

#[test]
fn modules_import_what_the_architecture_permits() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in imports(&root().join("src")) {
        // lib.rs is not in the table: it imports everything, and nothing imports it.
        if let (Some(from), Some(to)) = (from.first(), to.first())
            && from != to
        {
            found.entry(from.clone()).or_default().insert(to.clone());
            found.entry(to.clone()).or_default();
        }
    }
    let permitted = permitted();
    let mut wrong = Vec::new();
    for module in found.keys().chain(permitted.keys()).collect::<BTreeSet<_>>() {
        let none = BTreeSet::new();
        let (is, may) = (found.get(module).unwrap_or(&none), permitted.get(module));
        match may {
            None => wrong.push(format!("`{module}` is not in the table; it imports {is:?}")),
            Some(may) if may != is => {
                wrong.push(format!("`{module}` imports {is:?}, the table says {may:?}"))
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The conditions of `cfg`, `cfg!` and `cfg_attr` in a file that name an operating system.
fn system_conditions(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let syntax = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let tokens = syntax.to_token_stream().to_string();
    let conditions = tokens.match_indices("cfg").filter_map(|(at, _)| {
        let (before, rest) = tokens[at..].split_once('(')?;
        let mut depth = 1;
        let inside = rest.chars().take_while(|c| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth > 0
        });
        let is_condition = matches!(before.replace([' ', '!'], "").as_str(), "cfg" | "cfg_attr");
        is_condition.then(|| inside.collect::<String>())
    });
    let names_system = |condition: &String| {
        let words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.into_iter().any(|word| matches!(word, "windows" | "unix" | "target_os" | "target_family"))
    };
    conditions.filter(names_system).collect()
}

fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())).flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn operating_systems_differ_only_in_sys_and_transport() {
    let (mut inside, mut outside) = (0, Vec::new());
    for src in ["src", "dotnet-diagnostics-client/src", "dotnet-heap-graph/src", "netcore-profiler/src"] {
        let mut files = Vec::new();
        rust_files(&root().join(src), &mut files);
        for file in files {
            let found = system_conditions(&file);
            if file.components().any(|part| part.as_os_str() == "sys" || part.as_os_str() == "transport") {
                inside += found.len();
            } else {
                outside.extend(found.into_iter().map(|condition| format!("{}: {condition}", file.display())));
            }
        }
    }
    assert!(inside > 20, "only {inside} conditions were found where they belong");
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}
