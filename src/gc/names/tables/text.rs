//! From an id to a text.

use netcore_profiler::wire::{ClassShape, DefStatus, MethodShape};

use super::Tables;
use crate::escape::{MAX_NAME_CHARS, cut};
use crate::gc::names::budget::Budget;
use crate::gc::names::compose::{self, Type};
use crate::gc::names::definitions::Class;
use crate::gc::names::generated;
use crate::gc::names::name::{DYNAMIC, NO_FRAME, Name, UNLOADED, UNNAMED};

/// How far arguments of arguments are followed.
const DEPTH: usize = 8;
/// Stands for the part that is left out of a text that is too long.
const CUT: &str = "…";

impl Tables {
    /// The type of an object.
    pub(crate) fn class_name(&mut self, id: u64) -> Name {
        let text = |t: &Tables, id| cut(t.class_text(id, DEPTH, &Budget::of_a_text()), MAX_NAME_CHARS).into();
        self.cached(|t| &mut t.class_texts, id, text)
    }

    fn class_text(&self, id: u64, depth: usize, budget: &Budget) -> String {
        let Some(class) = self.own.classes.get(&id).filter(|_| depth > 0) else { return UNNAMED.to_owned() };
        if !budget.spend(1) {
            return CUT.to_owned();
        }
        match class.shape {
            ClassShape::PLAIN => {
                let args = self.class_args(class, depth, budget);
                self.type_text(class.module, class.token, &args)
            }
            ClassShape::ARRAY => {
                // C# writes the outermost brackets first.
                let mut brackets = String::new();
                let (mut class, mut left) = (class, DEPTH);
                loop {
                    brackets += "[";
                    brackets.extend(std::iter::repeat_n(',', usize::from(class.rank.saturating_sub(1))));
                    brackets += "]";
                    left -= 1;
                    match self.own.classes.get(&class.element) {
                        Some(inner) if inner.shape == ClassShape::ARRAY && left > 0 => class = inner,
                        _ => break,
                    }
                }
                let element = match compose::primitive(class.element_type) {
                    Some(keyword) if class.element == 0 => keyword.to_owned(),
                    _ => self.class_text(class.element, depth - 1, budget),
                };
                element + &brackets
            }
            _ => UNNAMED.to_owned(),
        }
    }

    fn type_text(&self, module: u64, token: u32, args: &[String]) -> String {
        match self.type_def_of(module, token) {
            Some(def) if def.status == DefStatus::OK => {
                Type { name: &def.name, args, framework: self.framework(module) }.text()
            }
            Some(def) if def.status == DefStatus::UNLOADED => UNLOADED.to_owned(),
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

    /// Whether this is `System.__Canon`, which stands for any reference type in shared generic code.
    fn is_canon(&self, id: u64) -> bool {
        let def = self.own.classes.get(&id).and_then(|c| self.type_def_of(c.module, c.token));
        def.is_some_and(|def| def.name == "System.__Canon")
    }

    /// The method of a frame.
    pub(crate) fn method_name(&mut self, id: u64) -> Name {
        self.cached(|t| &mut t.method_texts, id, |t, id| cut(t.method_text(id), MAX_NAME_CHARS).into())
    }

    fn method_text(&self, id: u64) -> String {
        if id == 0 {
            return NO_FRAME.to_owned();
        }
        let Some(method) = self.own.methods.get(&id) else { return UNNAMED.to_owned() };
        match method.shape {
            MethodShape::NAMED => {}
            MethodShape::DYNAMIC => return DYNAMIC.to_owned(),
            _ => return UNNAMED.to_owned(),
        }
        let Some(def) = self.method_def_of(method.module, method.token) else {
            return UNNAMED.to_owned();
        };
        match def.status {
            DefStatus::OK => {}
            DefStatus::UNLOADED => return UNLOADED.to_owned(),
            _ => return UNNAMED.to_owned(),
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

    /// `Class.field` of a static field.
    pub(crate) fn field_name(&mut self, number: u32) -> Name {
        self.cached(
            |t| &mut t.field_texts,
            number,
            |t, number| cut(t.field_text(number), MAX_NAME_CHARS).into(),
        )
    }

    fn field_text(&self, number: u32) -> String {
        let Some(field) = self.fields.get(&number) else { return UNNAMED.to_owned() };
        let owner = match self.type_def_of(field.module, field.type_token) {
            Some(def) => self.type_text(field.module, field.type_token, &def.params),
            None => UNNAMED.to_owned(),
        };
        format!("{owner}.{}", generated::field(&field.name))
    }
}
