//! Tables of the definitions that are valid now, and the names made of them.

mod origins;
mod text;

use std::collections::BTreeSet;
use std::hash::Hash;

use super::definitions::{Class, Definitions, Field, Method, MethodDef, TypeDef};
use super::name::Name;
use super::origin::{self, Origin};
use crate::escape::{MAX_NAME_CHARS, cut, escape_untrusted};
use crate::gc::map::HashMap;

/// Makes texts of the target safe to print, and cuts them to the longest name that is shown.
fn make_printable(name: &mut String, params: &mut [String]) {
    *name = cut(escape_untrusted(name), MAX_NAME_CHARS);
    params.iter_mut().for_each(|param| *param = cut(escape_untrusted(param), MAX_NAME_CHARS));
}

/// What the allocator, and the room that a map keeps free, add to an entry.
const OVERHEAD_BYTES: usize = 32;

/// A map's entry, without the memory that it points to.
fn entry_bytes<Entry>() -> usize {
    size_of::<Entry>() + OVERHEAD_BYTES
}

/// The texts that an entry points to.
fn text_bytes(name: &str, params: &[String]) -> usize {
    let param = |param: &String| size_of::<String>() + OVERHEAD_BYTES + param.len();
    name.len() + params.iter().map(param).sum::<usize>()
}

/// Updates the total `all` where an entry is added, or replaces another.
fn replaced(all: &mut usize, before: Option<usize>, now: usize) {
    *all = all.saturating_sub(before.unwrap_or(0)).saturating_add(now);
}

/// The definitions since ids were last void.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    own: Definitions,
    /// While `own` holds earlier definitions: the later ones, which complete them.
    later: Definitions,
    /// By the profiler's numbers, which are never used twice.
    fields: HashMap<u32, Field>,
    /// Address of the value, and number of the field.
    slots: BTreeSet<(u64, u32)>,
    fields_bytes: usize,
    /// Texts made since the last definition came.
    class_texts: HashMap<u64, Name>,
    method_texts: HashMap<u64, Name>,
    field_texts: HashMap<u32, Name>,
    /// Likewise the origins of classes and methods.
    class_origins: HashMap<u64, Origin>,
    method_origins: HashMap<u64, Origin>,
}

/// Empties a map. `clear` takes time in proportion to the capacity, so a map that was once much larger is replaced.
fn empty<K, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > 64 && map.len() < map.capacity() / 8 {
        *map = HashMap::default();
    } else {
        map.clear();
    }
}

/// Inserts a definition, and keeps the memory of the tables up to date; `bytes`: the memory that a definition points
/// to.
fn insert<K: Eq + Hash, V>(
    map: &mut HashMap<K, V>,
    all: &mut usize,
    key: K,
    value: V,
    bytes: impl Fn(&V) -> usize,
) {
    let entry = |value: &V| entry_bytes::<(K, V)>() + bytes(value);
    let now = entry(&value);
    let before = map.insert(key, value);
    replaced(all, before.as_ref().map(entry), now);
}

impl Tables {
    /// What a map has for a key; `make` makes it where it is not there yet.
    fn cached<K: Copy + Eq + Hash, V: Clone>(
        &mut self,
        map: fn(&mut Tables) -> &mut HashMap<K, V>,
        key: K,
        make: fn(&Tables, K) -> V,
    ) -> V {
        if let Some(known) = map(self).get(&key) {
            return known.clone();
        }
        let made = make(self, key);
        map(self).insert(key, made.clone());
        made
    }

    fn names_changed(&mut self) {
        empty(&mut self.class_texts);
        empty(&mut self.method_texts);
        empty(&mut self.field_texts);
        empty(&mut self.class_origins);
        empty(&mut self.method_origins);
    }

    /// Memory that the tables take.
    pub(crate) fn bytes(&self) -> usize {
        self.own.bytes + self.later.bytes + self.fields_bytes
    }

    pub(crate) fn class(&mut self, id: u64, class: Class) {
        self.names_changed();
        let bytes = |class: &Class| class.args.len() * size_of::<u64>();
        insert(&mut self.own.classes, &mut self.own.bytes, id, class, bytes);
    }

    pub(crate) fn method(&mut self, id: u64, method: Method) {
        self.names_changed();
        let bytes = |method: &Method| method.args.len() * size_of::<u64>();
        insert(&mut self.own.methods, &mut self.own.bytes, id, method, bytes);
    }

    pub(crate) fn module(&mut self, id: u64, path: &str) {
        self.names_changed();
        insert(&mut self.own.modules, &mut self.own.bytes, id, origin::framework(path), |_| 0);
    }

    pub(crate) fn type_def(&mut self, module: u64, token: u32, mut def: TypeDef) {
        self.names_changed();
        make_printable(&mut def.name, &mut def.params);
        let bytes = |def: &TypeDef| text_bytes(&def.name, &def.params);
        insert(&mut self.own.types, &mut self.own.bytes, (module, token), def, bytes);
    }

    pub(crate) fn method_def(&mut self, module: u64, token: u32, mut def: MethodDef) {
        self.names_changed();
        make_printable(&mut def.name, &mut def.params);
        let bytes = |def: &MethodDef| text_bytes(&def.name, &def.params);
        insert(&mut self.own.method_defs, &mut self.own.bytes, (module, token), def, bytes);
    }

    pub(crate) fn field(&mut self, number: u32, mut field: Field) {
        make_printable(&mut field.name, &mut []);
        self.field_texts.remove(&number);
        // Twice: it has an entry in the set of slots, too.
        let bytes = |f: &Field| 2 * entry_bytes::<(u32, Field)>() + text_bytes(&f.name, &[]);
        let (now, slot) = (bytes(&field), field.slot);
        let before = self.fields.insert(number, field);
        replaced(&mut self.fields_bytes, before.as_ref().map(bytes), now);
        if let Some(before) = before {
            self.slots.remove(&(before.slot, number));
        }
        if slot != 0 {
            self.slots.insert((slot, number));
        }
    }

    /// Whether the value of a static field lies in the range that begins at `address`.
    pub(crate) fn holds_a_slot(&self, address: u64, bytes: u64) -> bool {
        let next = self.slots.range((address, 0)..).next();
        next.is_some_and(|(slot, _)| slot - address < bytes)
    }

    /// All ids are void from now on; static fields have numbers of their own, which stay. Returns the definitions so
    /// far.
    pub(crate) fn forget(&mut self) -> Definitions {
        self.names_changed();
        std::mem::take(&mut self.own)
    }

    /// Runs `name` with earlier definitions. Later ones only complete them.
    pub(crate) fn with<T>(&mut self, before: &mut Definitions, name: impl FnOnce(&mut Tables) -> T) -> T {
        self.names_changed();
        self.later = std::mem::replace(&mut self.own, std::mem::take(before));
        let named = name(self);
        *before = std::mem::replace(&mut self.own, std::mem::take(&mut self.later));
        self.names_changed();
        named
    }

    fn type_def_of(&self, module: u64, token: u32) -> Option<&TypeDef> {
        let key = (module, token);
        self.own.types.get(&key).or_else(|| self.later.types.get(&key))
    }

    fn method_def_of(&self, module: u64, token: u32) -> Option<&MethodDef> {
        let key = (module, token);
        self.own.method_defs.get(&key).or_else(|| self.later.method_defs.get(&key))
    }

    fn known_module(&self, module: u64) -> Option<bool> {
        self.own.modules.get(&module).or_else(|| self.later.modules.get(&module)).copied()
    }

    fn framework(&self, module: u64) -> bool {
        self.known_module(module).unwrap_or(false)
    }

    /// Whether each thread has its own value of this static field.
    pub(crate) fn thread_static(&self, number: u32) -> bool {
        self.fields.get(&number).is_some_and(|field| field.thread_static)
    }
}

#[cfg(test)]
mod tests;
