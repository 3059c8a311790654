//! The tables, and the way from an id to a text.

use std::collections::BTreeSet;

use super::budget::Budget;
use super::compose::{self, Type};
use super::memory::{entry_bytes, replaced, text_bytes};
use super::origin::{self, Origin};
use super::generated;
use super::name::{DYNAMIC, NO_FRAME, Name, UNLOADED, UNNAMED};
use crate::escape::{LONGEST, cut, escape_untrusted};
use crate::gc::map::HashMap;

/// Makes texts from the target visible, and no longer than any name that is shown.
fn shown(name: &mut String, params: &mut [String]) {
    *name = cut(escape_untrusted(name), LONGEST);
    params.iter_mut().for_each(|param| *param = cut(escape_untrusted(param), LONGEST));
}

/// How far arguments of arguments are followed.
const DEPTH: usize = 8;
/// Stands for what is left out of a text that has grown too long.
const CUT: &str = "…";

/// What is told of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A type, or a method with a name.
    Plain,
    Array,
    Dynamic,
    Unnamed,
}

/// What is told of a class id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) shape: Shape,
    pub(crate) module: u64,
    pub(crate) token: u32,
    pub(crate) rank: u8,
    /// Class of an array's elements; 0: see `element_type`.
    pub(crate) element: u64,
    /// CorElementType.
    pub(crate) element_type: u8,
    pub(crate) args: Vec<u64>,
}

/// What is told of a function id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Method {
    pub(crate) shape: Shape,
    /// 0: unknown.
    pub(crate) class: u64,
    pub(crate) module: u64,
    pub(crate) token: u32,
    pub(crate) args: Vec<u64>,
}

/// Whether metadata could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Known,
    Unloaded,
    Unreadable,
}

/// A type in metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeDef {
    pub(crate) status: Status,
    /// `Namespace.Outer+Inner`1`.
    pub(crate) name: String,
    pub(crate) params: Vec<String>,
}

/// A method in metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MethodDef {
    pub(crate) status: Status,
    pub(crate) type_token: u32,
    pub(crate) name: String,
    /// The work of an async method.
    pub(crate) is_async: bool,
    pub(crate) params: Vec<String>,
}

/// A static field and where its value lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) module: u64,
    pub(crate) type_token: u32,
    pub(crate) slot: u64,
    pub(crate) thread_static: bool,
    pub(crate) name: String,
}

/// Facts and names between two times at which ids were given anew.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    classes: HashMap<u64, Class>,
    methods: HashMap<u64, Method>,
    /// Whether it is of the framework.
    modules: HashMap<u64, bool>,
    types: HashMap<(u64, u32), TypeDef>,
    method_defs: HashMap<(u64, u32), MethodDef>,
    /// Memory of all.
    bytes: usize,
}

impl Facts {
    /// Memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Nothing was told.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

/// All that was told since ids were last given anew.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    own: Facts,
    /// StreamInfo after the ids were given anew: names of what is in `own`, while that is an earlier meaning of the ids.
    later: Facts,
    /// By running numbers, which are not used twice.
    fields: HashMap<u32, Field>,
    /// Where their values lie, and whose that is.
    slots: BTreeSet<(u64, u32)>,
    fields_bytes: usize,
    /// Texts made since something was told last.
    class_texts: HashMap<u64, Name>,
    method_texts: HashMap<u64, Name>,
    field_texts: HashMap<u32, Name>,
    /// As these: whose a class, and whose a method is.
    class_origins: HashMap<u64, Origin>,
    method_origins: HashMap<u64, Origin>,
}

/// Empties a map. Where it was once much larger, the time that takes is not in proportion to what is in it.
fn empty<K, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > 64 && map.len() < map.capacity() / 8 {
        *map = HashMap::default();
    } else {
        map.clear();
    }
}

impl Tables {
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
        let bytes = |c: &Class| entry_bytes::<(u64, Class)>() + c.args.len() * size_of::<u64>();
        let now = bytes(&class);
        let before = self.own.classes.insert(id, class);
        replaced(&mut self.own.bytes, before.as_ref().map(bytes), now);
    }

    pub(crate) fn method(&mut self, id: u64, method: Method) {
        self.names_changed();
        let bytes = |m: &Method| entry_bytes::<(u64, Method)>() + m.args.len() * size_of::<u64>();
        let now = bytes(&method);
        let before = self.own.methods.insert(id, method);
        replaced(&mut self.own.bytes, before.as_ref().map(bytes), now);
    }

    pub(crate) fn module(&mut self, id: u64, path: &str) {
        self.names_changed();
        let bytes = entry_bytes::<(u64, bool)>();
        let before = self.own.modules.insert(id, origin::framework(path));
        replaced(&mut self.own.bytes, before.map(|_| bytes), bytes);
    }

    pub(crate) fn type_def(&mut self, module: u64, token: u32, mut def: TypeDef) {
        self.names_changed();
        shown(&mut def.name, &mut def.params);
        let bytes =
            |def: &TypeDef| entry_bytes::<((u64, u32), TypeDef)>() + text_bytes(&def.name, &def.params);
        let now = bytes(&def);
        let before = self.own.types.insert((module, token), def);
        replaced(&mut self.own.bytes, before.as_ref().map(bytes), now);
    }

    pub(crate) fn method_def(&mut self, module: u64, token: u32, mut def: MethodDef) {
        self.names_changed();
        shown(&mut def.name, &mut def.params);
        let bytes =
            |def: &MethodDef| entry_bytes::<((u64, u32), MethodDef)>() + text_bytes(&def.name, &def.params);
        let now = bytes(&def);
        let before = self.own.method_defs.insert((module, token), def);
        replaced(&mut self.own.bytes, before.as_ref().map(bytes), now);
    }

    pub(crate) fn field(&mut self, number: u32, mut field: Field) {
        shown(&mut field.name, &mut []);
        self.field_texts.remove(&number);
        // And its place in the set of slots.
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

    /// Whether the value of a static field lies within so many bytes from an address.
    pub(crate) fn holds_a_slot(&self, address: u64, bytes: u64) -> bool {
        let next = self.slots.range((address, 0)..).next();
        next.is_some_and(|(slot, _)| slot - address < bytes)
    }

    /// The same ids may mean something else from now on. Fields go by numbers, which are not used twice. What the ids
    /// meant so far.
    pub(crate) fn forget(&mut self) -> Facts {
        self.names_changed();
        std::mem::take(&mut self.own)
    }

    /// Names things by what ids meant before they were given anew; what was told since only completes that.
    pub(crate) fn by<T>(&mut self, before: &mut Facts, name: impl FnOnce(&mut Tables) -> T) -> T {
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

    /// The type of an object.
    pub(crate) fn class_name(&mut self, id: u64) -> Name {
        if let Some(text) = self.class_texts.get(&id) {
            return text.clone();
        }
        let text: Name = cut(self.class_text(id, DEPTH, &Budget::of_a_text()), LONGEST).into();
        self.class_texts.insert(id, text.clone());
        text
    }

    fn class_text(&self, id: u64, depth: usize, budget: &Budget) -> String {
        let Some(class) = self.own.classes.get(&id).filter(|_| depth > 0) else { return UNNAMED.to_owned() };
        if !budget.spend(1) {
            return CUT.to_owned();
        }
        match class.shape {
            Shape::Plain => {
                let args = self.class_args(class, depth, budget);
                self.type_text(class.module, class.token, &args)
            }
            Shape::Array => {
                // C# writes the outermost brackets first.
                let mut brackets = String::new();
                let (mut class, mut left) = (class, DEPTH);
                loop {
                    brackets += "[";
                    brackets.extend(std::iter::repeat_n(',', usize::from(class.rank.saturating_sub(1))));
                    brackets += "]";
                    left -= 1;
                    match self.own.classes.get(&class.element) {
                        Some(inner) if inner.shape == Shape::Array && left > 0 => class = inner,
                        _ => break,
                    }
                }
                let element = match compose::primitive(class.element_type) {
                    Some(keyword) if class.element == 0 => keyword.to_owned(),
                    _ => self.class_text(class.element, depth - 1, budget),
                };
                element + &brackets
            }
            Shape::Dynamic | Shape::Unnamed => UNNAMED.to_owned(),
        }
    }

    fn type_text(&self, module: u64, token: u32, args: &[String]) -> String {
        match self.type_def_of(module, token) {
            Some(def) if def.status == Status::Known => {
                Type { name: &def.name, args, framework: self.framework(module) }.text()
            }
            Some(def) if def.status == Status::Unloaded => UNLOADED.to_owned(),
            _ => UNNAMED.to_owned(),
        }
    }

    /// Arguments as far as they are known, else the names of the parameters.
    fn class_args(&self, class: &Class, depth: usize, budget: &Budget) -> Vec<String> {
        let params = self.type_def_of(class.module, class.token).map_or(&[][..], |def| &def.params);
        self.args(&class.args, params, depth, budget)
    }

    fn args(&self, args: &[u64], params: &[String], depth: usize, budget: &Budget) -> Vec<String> {
        (0..args.len().max(params.len()))
            .take_while(|n| budget.spend(params.get(*n).map_or(1, |param| 1 + param.len())))
            .map(|n| match (args.get(n), params.get(n)) {
                (Some(&arg), Some(param)) if arg == 0 || self.is_canon(arg) => param.clone(),
                (Some(&arg), _) => self.class_text(arg, depth - 1, budget),
                (None, Some(param)) => param.clone(),
                (None, None) => UNNAMED.to_owned(),
            })
            .collect()
    }

    /// The stand-in for any reference type in code that several instances share.
    fn is_canon(&self, id: u64) -> bool {
        let def = self.own.classes.get(&id).and_then(|c| self.type_def_of(c.module, c.token));
        def.is_some_and(|def| def.name == "System.__Canon")
    }

    /// The method of a frame.
    pub(crate) fn method_name(&mut self, id: u64) -> Name {
        if let Some(text) = self.method_texts.get(&id) {
            return text.clone();
        }
        let text: Name = cut(self.method_text(id), LONGEST).into();
        self.method_texts.insert(id, text.clone());
        text
    }

    fn method_text(&self, id: u64) -> String {
        if id == 0 {
            return NO_FRAME.to_owned();
        }
        let Some(method) = self.own.methods.get(&id) else { return UNNAMED.to_owned() };
        match method.shape {
            Shape::Plain => {}
            Shape::Dynamic => return DYNAMIC.to_owned(),
            Shape::Array | Shape::Unnamed => return UNNAMED.to_owned(),
        }
        let Some(def) = self.method_def_of(method.module, method.token) else {
            return UNNAMED.to_owned();
        };
        match def.status {
            Status::Known => {}
            Status::Unloaded => return UNLOADED.to_owned(),
            Status::Unreadable => return UNNAMED.to_owned(),
        }
        let budget = Budget::of_a_text();
        let args = self.args(&method.args, &def.params, DEPTH, &budget);
        let Some(owner) = self.type_def_of(method.module, def.type_token) else {
            return generated::method(&def.name).of("");
        };
        // A method that is inherited belongs to the class that has its code.
        let own_class = self
            .own
            .classes
            .get(&method.class)
            .filter(|c| (c.module, c.token) == (method.module, def.type_token));
        let owner_args = match own_class {
            Some(class) => self.class_args(class, DEPTH, &budget),
            None => owner.params.clone(),
        };
        let owner = Type { name: &owner.name, args: &owner_args, framework: self.framework(method.module) };
        owner.method(&def.name, def.is_async, &args)
    }

    /// Whether each thread has a value of its own.
    pub(crate) fn thread_static(&self, number: u32) -> bool {
        self.fields.get(&number).is_some_and(|field| field.thread_static)
    }

    /// Whose a static field is.
    pub(crate) fn field_origin(&self, number: u32) -> Origin {
        self.fields.get(&number).map_or(Origin::Unknown, |f| self.type_origin(f.module, f.type_token))
    }

    /// `Class.field` of a static field.
    pub(crate) fn field_name(&mut self, number: u32) -> Name {
        if let Some(text) = self.field_texts.get(&number) {
            return text.clone();
        }
        let text: Name = cut(self.field_text(number), LONGEST).into();
        self.field_texts.insert(number, text.clone());
        text
    }

    fn field_text(&self, number: u32) -> String {
        let Some(field) = self.fields.get(&number) else { return UNNAMED.to_owned() };
        let owner = match self.type_def_of(field.module, field.type_token) {
            Some(def) => self.type_text(field.module, field.type_token, &def.params),
            None => UNNAMED.to_owned(),
        };
        format!("{owner}.{}", generated::field(&field.name))
    }

    /// Whose a class is: an array's by its elements, and what has a type of the program among its
    /// arguments is the program's.
    pub(crate) fn class_origin(&mut self, id: u64) -> Origin {
        if let Some(origin) = self.class_origins.get(&id) {
            return *origin;
        }
        let origin = self.class_origin_within(id, DEPTH, &Budget::of_an_origin());
        self.class_origins.insert(id, origin);
        origin
    }

    fn class_origin_within(&self, id: u64, depth: usize, budget: &Budget) -> Origin {
        let class = self.own.classes.get(&id).filter(|_| depth > 0 && budget.spend(1));
        let Some(class) = class else { return Origin::Unknown };
        match class.shape {
            Shape::Array => self.class_origin_within(class.element, depth - 1, budget),
            Shape::Plain => {
                let own = self.type_origin(class.module, class.token);
                let args = class.args.iter().map(|&arg| self.class_origin_within(arg, depth - 1, budget));
                if args.into_iter().any(|origin| origin == Origin::App) { Origin::App } else { own }
            }
            Shape::Dynamic | Shape::Unnamed => Origin::Unknown,
        }
    }

    fn type_origin(&self, module: u64, token: u32) -> Origin {
        match self.type_def_of(module, token) {
            Some(def) if def.status == Status::Known && self.known_module(module).is_some() => {
                origin::of(self.framework(module), &def.name)
            }
            _ => Origin::Unknown,
        }
    }

    /// Whose a method is. What the runtime holds in no frame is its own.
    pub(crate) fn method_origin(&mut self, id: u64) -> Origin {
        if let Some(origin) = self.method_origins.get(&id) {
            return *origin;
        }
        let origin = self.origin_of_method(id);
        self.method_origins.insert(id, origin);
        origin
    }

    fn origin_of_method(&self, id: u64) -> Origin {
        if id == 0 {
            return Origin::Runtime;
        }
        let Some(method) = self.own.methods.get(&id).filter(|m| m.shape == Shape::Plain) else {
            return Origin::Unknown;
        };
        match self.method_def_of(method.module, method.token) {
            Some(def) => self.type_origin(method.module, def.type_token),
            None => Origin::Unknown,
        }
    }
}

#[cfg(test)]
mod tests;
