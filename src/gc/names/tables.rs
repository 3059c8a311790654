//! The tables, and the way from an id to a text.

use super::compose::{self, Type};
use super::origin::{self, Origin};
use super::{DYNAMIC, LONGEST, NO_FRAME, Name, UNLOADED, UNNAMED, cut, generated, visible};
use crate::gc::map::HashMap;

/// How far arguments of arguments are followed.
const DEPTH: usize = 8;

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

/// All that was told since ids were last given anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tables {
    classes: HashMap<u64, Class>,
    methods: HashMap<u64, Method>,
    /// Whether it is of the framework.
    modules: HashMap<u64, bool>,
    types: HashMap<(u64, u32), TypeDef>,
    method_defs: HashMap<(u64, u32), MethodDef>,
    fields: HashMap<u32, Field>,
    /// Texts made since something was told last.
    class_texts: HashMap<u64, Name>,
    method_texts: HashMap<u64, Name>,
    field_texts: HashMap<u32, Name>,
    /// As these: whose a class, and whose a method is.
    class_origins: HashMap<u64, Origin>,
    method_origins: HashMap<u64, Origin>,
}

impl Tables {
    fn told(&mut self) {
        self.class_texts.clear();
        self.method_texts.clear();
        self.field_texts.clear();
        self.class_origins.clear();
        self.method_origins.clear();
    }

    pub(crate) fn class(&mut self, id: u64, class: Class) {
        self.told();
        self.classes.insert(id, class);
    }

    pub(crate) fn method(&mut self, id: u64, method: Method) {
        self.told();
        self.methods.insert(id, method);
    }

    pub(crate) fn module(&mut self, id: u64, path: &str) {
        self.told();
        self.modules.insert(id, origin::framework(path));
    }

    pub(crate) fn type_def(&mut self, module: u64, token: u32, mut def: TypeDef) {
        self.told();
        def.name = visible(&def.name);
        def.params.iter_mut().for_each(|p| *p = visible(p));
        self.types.insert((module, token), def);
    }

    pub(crate) fn method_def(&mut self, module: u64, token: u32, mut def: MethodDef) {
        self.told();
        def.name = visible(&def.name);
        def.params.iter_mut().for_each(|p| *p = visible(p));
        self.method_defs.insert((module, token), def);
    }

    pub(crate) fn field(&mut self, number: u32, mut field: Field) {
        field.name = visible(&field.name);
        self.field_texts.remove(&number);
        self.fields.insert(number, field);
    }

    /// Static fields, by the running number.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (u32, &Field)> {
        self.fields.iter().map(|(number, field)| (*number, field))
    }

    /// The same ids may mean something else from now on. Fields go by numbers, which are not used twice.
    pub(crate) fn forget(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        *self = Tables { fields, ..Tables::default() };
    }

    /// Takes in what only `later` was told: names of what was told here.
    pub(crate) fn complete(&mut self, later: &Tables) {
        self.told();
        for (id, framework) in &later.modules {
            self.modules.entry(*id).or_insert(*framework);
        }
        for (id, def) in &later.types {
            self.types.entry(*id).or_insert_with(|| def.clone());
        }
        for (id, def) in &later.method_defs {
            self.method_defs.entry(*id).or_insert_with(|| def.clone());
        }
    }

    fn framework(&self, module: u64) -> bool {
        self.modules.get(&module).copied().unwrap_or(false)
    }

    /// The type of an object.
    pub(crate) fn class_name(&mut self, id: u64) -> Name {
        if let Some(text) = self.class_texts.get(&id) {
            return text.clone();
        }
        let text: Name = cut(self.class_text(id, DEPTH), LONGEST).into();
        self.class_texts.insert(id, text.clone());
        text
    }

    fn class_text(&self, id: u64, depth: usize) -> String {
        let Some(class) = self.classes.get(&id).filter(|_| depth > 0) else { return UNNAMED.to_owned() };
        match class.shape {
            Shape::Plain => {
                let args = self.class_args(class, depth);
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
                    match self.classes.get(&class.element) {
                        Some(inner) if inner.shape == Shape::Array && left > 0 => class = inner,
                        _ => break,
                    }
                }
                let element = match compose::primitive(class.element_type) {
                    Some(keyword) if class.element == 0 => keyword.to_owned(),
                    _ => self.class_text(class.element, depth - 1),
                };
                element + &brackets
            }
            Shape::Dynamic | Shape::Unnamed => UNNAMED.to_owned(),
        }
    }

    fn type_text(&self, module: u64, token: u32, args: &[String]) -> String {
        match self.types.get(&(module, token)) {
            Some(def) if def.status == Status::Known => {
                Type { name: &def.name, args, framework: self.framework(module) }.text()
            }
            Some(def) if def.status == Status::Unloaded => UNLOADED.to_owned(),
            _ => UNNAMED.to_owned(),
        }
    }

    /// Arguments as far as they are known, else the names of the parameters.
    fn class_args(&self, class: &Class, depth: usize) -> Vec<String> {
        let params = self.types.get(&(class.module, class.token)).map_or(&[][..], |def| &def.params);
        self.args(&class.args, params, depth)
    }

    fn args(&self, args: &[u64], params: &[String], depth: usize) -> Vec<String> {
        (0..args.len().max(params.len()))
            .map(|n| match (args.get(n), params.get(n)) {
                (Some(&arg), Some(param)) if arg == 0 || self.is_canon(arg) => param.clone(),
                (Some(&arg), _) => self.class_text(arg, depth - 1),
                (None, Some(param)) => param.clone(),
                (None, None) => UNNAMED.to_owned(),
            })
            .collect()
    }

    /// The stand-in for any reference type in code that several instances share.
    fn is_canon(&self, id: u64) -> bool {
        let def = self.classes.get(&id).and_then(|c| self.types.get(&(c.module, c.token)));
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
        let Some(method) = self.methods.get(&id) else { return UNNAMED.to_owned() };
        match method.shape {
            Shape::Plain => {}
            Shape::Dynamic => return DYNAMIC.to_owned(),
            Shape::Array | Shape::Unnamed => return UNNAMED.to_owned(),
        }
        let Some(def) = self.method_defs.get(&(method.module, method.token)) else {
            return UNNAMED.to_owned();
        };
        match def.status {
            Status::Known => {}
            Status::Unloaded => return UNLOADED.to_owned(),
            Status::Unreadable => return UNNAMED.to_owned(),
        }
        let args = self.args(&method.args, &def.params, DEPTH);
        let Some(owner) = self.types.get(&(method.module, def.type_token)) else {
            return generated::method(&def.name).of("");
        };
        // A method that is inherited belongs to the class that has its code.
        let own_class = self
            .classes
            .get(&method.class)
            .filter(|c| (c.module, c.token) == (method.module, def.type_token));
        let owner_args = match own_class {
            Some(class) => self.class_args(class, DEPTH),
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
        let owner = match self.types.get(&(field.module, field.type_token)) {
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
        let origin = self.class_origin_within(id, DEPTH);
        self.class_origins.insert(id, origin);
        origin
    }

    fn class_origin_within(&self, id: u64, depth: usize) -> Origin {
        let Some(class) = self.classes.get(&id).filter(|_| depth > 0) else { return Origin::Unknown };
        match class.shape {
            Shape::Array => self.class_origin_within(class.element, depth - 1),
            Shape::Plain => {
                let own = self.type_origin(class.module, class.token);
                let args = class.args.iter().map(|&arg| self.class_origin_within(arg, depth - 1));
                if args.into_iter().any(|origin| origin == Origin::App) { Origin::App } else { own }
            }
            Shape::Dynamic | Shape::Unnamed => Origin::Unknown,
        }
    }

    fn type_origin(&self, module: u64, token: u32) -> Origin {
        match self.types.get(&(module, token)) {
            Some(def) if def.status == Status::Known && self.modules.contains_key(&module) => {
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
        let Some(method) = self.methods.get(&id).filter(|m| m.shape == Shape::Plain) else {
            return Origin::Unknown;
        };
        match self.method_defs.get(&(method.module, method.token)) {
            Some(def) => self.type_origin(method.module, def.type_token),
            None => Origin::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: u64 = 1;
    const APP: u64 = 2;

    fn plain(module: u64, token: u32, args: &[u64]) -> Class {
        let args = args.to_vec();
        Class { shape: Shape::Plain, module, token, rank: 0, element: 0, element_type: 0, args }
    }

    fn array(rank: u8, element: u64, element_type: u8) -> Class {
        let (module, token, args) = (0, 0, Vec::new());
        Class { shape: Shape::Array, module, token, rank, element, element_type, args }
    }

    fn tables() -> Tables {
        let mut t = Tables::default();
        t.module(CORE, "/d/shared/Microsoft.NETCore.App/9.0.0/System.Private.CoreLib.dll");
        t.module(APP, "/app/app.dll");
        let def = |name: &str, params: &[&str]| TypeDef {
            status: Status::Known,
            name: name.to_owned(),
            params: params.iter().map(|p| (*p).to_owned()).collect(),
        };
        t.type_def(CORE, 1, def("System.__Canon", &[]));
        t.type_def(CORE, 2, def("System.Collections.Generic.List`1", &["T"]));
        t.type_def(CORE, 3, def("System.String", &[]));
        t.type_def(APP, 4, def("Demo.Order", &[]));
        t.type_def(APP, 5, def("evil\u{1b}[31m\n", &[]));
        t.type_def(APP, 6, TypeDef { status: Status::Unloaded, ..def("", &[]) });
        t.class(10, plain(CORE, 1, &[]));
        t.class(11, plain(CORE, 2, &[10]));
        t.class(12, plain(CORE, 2, &[13]));
        t.class(13, plain(APP, 4, &[]));
        t.class(14, plain(CORE, 3, &[]));
        t.class(15, plain(APP, 5, &[]));
        t.class(16, plain(APP, 6, &[]));
        t.class(20, array(1, 0, 0x05));
        t.class(21, array(2, 0, 0x08));
        t.class(22, array(1, 21, 0x14));
        t.class(23, array(1, 12, 0x12));
        t
    }

    #[test]
    fn classes() {
        let mut t = tables();
        for (id, text) in [
            (11, "List<T>"),
            (12, "List<Demo.Order>"),
            (13, "Demo.Order"),
            (14, "string"),
            (15, "evil\\u{1b}[31m\\n"),
            (16, "(unloaded)"),
            (20, "byte[]"),
            (21, "int[,]"),
            (22, "int[][,]"),
            (23, "List<Demo.Order>[]"),
            (99, "(unnamed)"),
        ] {
            assert_eq!(&*t.class_name(id), text);
        }
        assert_eq!([11, 12, 14, 20, 23].map(|id| t.class_origin(id)), {
            use Origin::{App, Unknown};
            [Unknown, App, Unknown, Unknown, App]
        });
    }

    #[test]
    fn an_array_of_itself_and_an_argument_of_itself_end() {
        let mut t = tables();
        t.class(30, array(1, 30, 0x1d));
        t.class(31, plain(CORE, 2, &[31]));
        assert!(t.class_name(30).chars().count() <= LONGEST);
        assert!(t.class_name(31).chars().count() <= LONGEST);
        assert_eq!(t.class_origin(31), Origin::Unknown);
    }

    #[test]
    fn methods() {
        let mut t = tables();
        let def = |type_token, name: &str, params: &[&str]| MethodDef {
            status: Status::Known,
            type_token,
            name: name.to_owned(),
            is_async: false,
            params: params.iter().map(|p| (*p).to_owned()).collect(),
        };
        t.method_def(CORE, 1, def(2, "Add", &[]));
        t.method_def(APP, 2, def(4, "Map", &["TResult"]));
        t.method_def(APP, 3, def(9, "Lost", &[]));
        let method = |shape, class, module, token, args: &[u64]| Method {
            shape,
            class,
            module,
            token,
            args: args.to_vec(),
        };
        t.method(100, method(Shape::Plain, 11, CORE, 1, &[]));
        t.method(101, method(Shape::Plain, 12, CORE, 1, &[]));
        t.method(102, method(Shape::Plain, 0, APP, 2, &[10]));
        t.method(103, method(Shape::Plain, 0, APP, 2, &[14]));
        t.method(104, method(Shape::Dynamic, 0, 0, 0, &[]));
        t.method(105, method(Shape::Plain, 0, APP, 3, &[]));
        for (id, text) in [
            (0, "(no frame)"),
            (100, "List<T>.Add"),
            (101, "List<Demo.Order>.Add"),
            (102, "Demo.Order.Map<TResult>"),
            (103, "Demo.Order.Map<string>"),
            (104, "(dynamic method)"),
            (105, "Lost"),
            (106, "(unnamed)"),
        ] {
            assert_eq!(&*t.method_name(id), text);
        }
        assert_eq!(t.method_origin(0), Origin::Runtime);
        assert_eq!(t.method_origin(100), Origin::Unknown);
        assert_eq!(t.method_origin(102), Origin::App);
    }

    #[test]
    fn a_text_follows_what_is_told_later_and_ids_that_mean_something_else() {
        let mut t = tables();
        t.class(40, plain(APP, 7, &[]));
        assert_eq!(&*t.class_name(40), "(unnamed)");
        let def = |name: &str| TypeDef { status: Status::Known, name: name.to_owned(), params: vec![] };
        t.type_def(APP, 7, def("Late"));
        assert_eq!(&*t.class_name(40), "Late");
        let mut before = t.clone();
        t.forget();
        assert_eq!(&*t.class_name(40), "(unnamed)");
        t.type_def(APP, 7, def("Other"));
        t.type_def(APP, 8, def("Newer"));
        before.class(41, plain(APP, 8, &[]));
        before.complete(&t);
        assert_eq!((&*before.class_name(40), &*before.class_name(41)), ("Late", "Newer"));
    }

    #[test]
    fn static_fields() {
        let mut t = tables();
        let field = |name: &str, type_token| Field {
            module: APP,
            type_token,
            slot: 0,
            thread_static: false,
            name: name.to_owned(),
        };
        t.field(1, field("<Cache>k__BackingField", 4));
        t.field(2, field("s_x", 99));
        assert_eq!(&*t.field_name(1), "Demo.Order.Cache");
        assert_eq!(&*t.field_name(2), "(unnamed).s_x");
        assert_eq!(&*t.field_name(3), "(unnamed)");
    }
}
