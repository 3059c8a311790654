//! Names for the classes, methods and static fields of a graph. The file keeps them as JSON.

use std::collections::{HashMap, HashSet};

use dotnet_heap_graph::format::{ClassName, MethodName, Names, StaticName};
use netcore_profiler::wire::graph::{Ask, FieldName, Layout};
use netcore_profiler::wire::{self, Payload, Record};

use crate::escape::{MAX_NAME_CHARS, cut};
use crate::gc::names::{self, Tables};

/// How many classes and fields are named. A program has some thousands; a hostile one may claim any number.
const MAX_CLASSES: usize = 1 << 20;
const MAX_FIELDS: usize = 1 << 22;
/// How many methods and static fields are named.
const MAX_METHODS: usize = 1 << 16;
/// How many bytes the names may take.
const MAX_BYTES: usize = 256 << 20;

/// A class of the file, and its fields.
#[derive(Debug)]
struct Class {
    index: u32,
    id: u64,
    /// Token and offset.
    fields: Vec<(u32, u32)>,
}

/// What was told of classes, methods and fields.
#[derive(Debug, Default)]
pub(super) struct Naming {
    tables: Tables,
    classes: Vec<Class>,
    fields: usize,
    /// Module and token of each class that is a definition.
    definitions: HashMap<u64, (u64, u32)>,
    methods: HashMap<u64, (u64, u32)>,
    /// By module and token.
    field_names: HashMap<(u64, u32), String>,
    /// Number and slot.
    statics: Vec<(u32, u64)>,
    /// Types of static fields and of methods, by module and token.
    owners: HashSet<(u64, u32)>,
    module_paths: HashMap<u64, String>,
    asked: HashSet<(u64, u32)>,
}

/// The name of a module's file, without its directory.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

impl Naming {
    fn is_full(&self) -> bool {
        self.tables.bytes() > MAX_BYTES
            || self.field_names.len() > MAX_FIELDS
            || self.module_paths.len() > MAX_METHODS
            || self.owners.len() > MAX_CLASSES
    }

    /// Reads a class that was told. A payload that is no class tells nothing.
    pub(super) fn class(&mut self, payload: &[u8]) {
        let id = wire::Class::ID;
        if let Ok(record @ Record::Class(class)) = wire::decode(id, payload)
            && self.definitions.len() < MAX_CLASSES
            && !self.is_full()
        {
            self.definitions.insert(class.class_id, (class.module_id, class.token));
            names::apply(&mut self.tables, &record);
        }
    }

    pub(super) fn method(&mut self, payload: &[u8]) {
        if let Ok(record @ Record::Method(method)) = wire::decode(wire::Method::ID, payload)
            && self.methods.len() < MAX_METHODS
            && !self.is_full()
        {
            self.methods.insert(method.function_id, (method.module_id, method.token));
            names::apply(&mut self.tables, &record);
        }
    }

    pub(super) fn layout(&mut self, payload: &[u8]) {
        let Ok(layout) = wire::graph::read::<Layout>(payload) else { return };
        let rows = payload.get(Layout::BYTES..).unwrap_or_default().chunks_exact(8);
        let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).unwrap_or(0);
        let fields: Vec<_> = rows.map(|row| (number(&row[..4]), number(&row[4..]))).collect();
        self.fields += fields.len();
        if self.classes.len() < MAX_CLASSES && self.fields < MAX_FIELDS {
            self.classes.push(Class { index: layout.index, id: layout.class_id, fields });
        }
    }

    /// Reads an answer. `event_id`: which definition it is.
    pub(super) fn answer(&mut self, event_id: u32, payload: &[u8]) {
        let Ok(record) = wire::decode(event_id, payload) else { return };
        if self.is_full() {
            return;
        }
        match record {
            Record::Module(module) => {
                let name = file_name(&module.path.to_string()).to_owned();
                self.module_paths.insert(module.module_id, cut(name, MAX_NAME_CHARS));
            }
            Record::FieldDef(field) if self.statics.len() < MAX_METHODS => {
                self.statics.push((field.field, field.slot));
                self.owners.insert((field.module_id, field.type_token));
            }
            Record::MethodDef(method) => {
                self.owners.insert((method.module_id, method.type_token));
            }
            _ => {}
        }
        names::apply(&mut self.tables, &record);
    }

    pub(super) fn field_name(&mut self, payload: &[u8]) {
        if let Ok(field) = wire::graph::read::<FieldName<'_>>(payload)
            && !self.is_full()
        {
            let name = cut(field.name.to_string(), MAX_NAME_CHARS);
            self.field_names.insert((field.module_id, field.token), name);
        }
    }

    /// What to ask next, each thing once. Answers may lead to further questions.
    pub(super) fn questions(&mut self) -> Vec<Ask> {
        let known = self.definitions.values().chain(self.methods.values()).chain(&self.owners);
        let mut wanted: Vec<(u64, u32)> =
            known.copied().filter(|(module, token)| *module != 0 && *token != 0).collect();
        wanted.extend(wanted.clone().into_iter().map(|(module, _)| (module, 0)));
        wanted.retain(|key| self.asked.insert(*key));
        // Modules first: the names of the framework's types are shortened.
        wanted.sort_unstable_by_key(|(module, token)| (*token, *module));
        wanted
            .into_iter()
            .map(|(module_id, token)| Ask { kind: Ask::NAMES, token, module_id, class_id: 0 })
            .collect()
    }

    /// Questions about the static fields of the classes that have objects.
    pub(super) fn classes_with_statics(&self) -> impl Iterator<Item = Ask> {
        let known = self.definitions.iter().filter(|(_, (module, token))| *module != 0 && *token != 0);
        known.map(|(class, (module, token))| Ask {
            kind: Ask::STATICS_OF_CLASS,
            token: *token,
            module_id: *module,
            class_id: *class,
        })
    }

    /// The names, to be written.
    pub(super) fn names(&mut self) -> Names {
        let module_of = |paths: &HashMap<u64, String>, module| {
            paths.get(&module).cloned().filter(|name| !name.is_empty())
        };
        let mut names = Names::default();
        for class in std::mem::take(&mut self.classes) {
            let (module, _) = self.definitions.get(&class.id).copied().unwrap_or_default();
            let fields = class.fields.iter().filter_map(|(token, offset)| {
                let name = self.field_names.get(&(module, *token))?;
                Some((*offset, name.clone()))
            });
            names.classes.push(ClassName {
                index: class.index,
                name: self.tables.class_name(class.id).to_string(),
                module: module_of(&self.module_paths, module),
                fields: fields.collect(),
            });
        }
        for id in self.methods.keys() {
            names.methods.push(MethodName { id: *id, name: self.tables.method_name(*id).to_string() });
        }
        for (number, slot) in &self.statics {
            names.statics.push(StaticName {
                slot: *slot,
                name: self.tables.field_name(*number).to_string(),
                thread: self.tables.thread_static(*number),
            });
        }
        names
    }
}
