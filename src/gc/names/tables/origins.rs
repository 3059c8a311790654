//! From an id to the origin of what it stands for.

use netcore_profiler::wire::{ClassShape, DefStatus, MethodShape};

use super::Tables;
use crate::gc::names::budget::Budget;
use crate::gc::names::origin::{self, Origin};

/// How far arguments of arguments are followed.
const DEPTH: usize = 8;

impl Tables {
    /// The origin of a static field.
    pub(crate) fn field_origin(&self, number: u32) -> Origin {
        self.fields.get(&number).map_or(Origin::Unknown, |f| self.type_origin(f.module, f.type_token))
    }

    /// The origin of a class. That of an array is the origin of its elements; a generic type with an argument of the
    /// program is the program's.
    pub(crate) fn class_origin(&mut self, id: u64) -> Origin {
        let origin = |t: &Tables, id| t.class_origin_within(id, DEPTH, &Budget::of_an_origin());
        self.cached(|t| &mut t.class_origins, id, origin)
    }

    fn class_origin_within(&self, id: u64, depth: usize, budget: &Budget) -> Origin {
        let class = self.own.classes.get(&id).filter(|_| depth > 0 && budget.spend(1));
        let Some(class) = class else { return Origin::Unknown };
        match class.shape {
            ClassShape::ARRAY => self.class_origin_within(class.element, depth - 1, budget),
            ClassShape::PLAIN => {
                let own = self.type_origin(class.module, class.token);
                let args = class.args.iter().map(|&arg| self.class_origin_within(arg, depth - 1, budget));
                if args.into_iter().any(|origin| origin == Origin::App) { Origin::App } else { own }
            }
            _ => Origin::Unknown,
        }
    }

    fn type_origin(&self, module: u64, token: u32) -> Origin {
        match self.type_def_of(module, token) {
            Some(def) if def.status == DefStatus::OK && self.known_module(module).is_some() => {
                origin::of(self.framework(module), &def.name)
            }
            _ => Origin::Unknown,
        }
    }

    /// The origin of a method. A root without a frame is the runtime's.
    pub(crate) fn method_origin(&mut self, id: u64) -> Origin {
        self.cached(|t| &mut t.method_origins, id, Tables::origin_of_method)
    }

    fn origin_of_method(&self, id: u64) -> Origin {
        if id == 0 {
            return Origin::Runtime;
        }
        let Some(method) = self.own.methods.get(&id).filter(|m| m.shape == MethodShape::NAMED) else {
            return Origin::Unknown;
        };
        match self.method_def_of(method.module, method.token) {
            Some(def) => self.type_origin(method.module, def.type_token),
            None => Origin::Unknown,
        }
    }
}
