use netcore_profiler::wire::{ClassShape, DefStatus, MethodShape};

use super::*;

const CORE: u64 = 1;
const APP: u64 = 2;

fn plain(module: u64, token: u32, args: &[u64]) -> Class {
    let args = args.to_vec();
    Class { shape: ClassShape::PLAIN, module, token, rank: 0, element: 0, element_type: 0, args }
}

fn array(rank: u8, element: u64, element_type: u8) -> Class {
    let (module, token, args) = (0, 0, Vec::new());
    Class { shape: ClassShape::ARRAY, module, token, rank, element, element_type, args }
}

fn tables() -> Tables {
    let mut t = Tables::default();
    t.module(CORE, "/d/shared/Microsoft.NETCore.App/9.0.0/System.Private.CoreLib.dll");
    t.module(APP, "/app/app.dll");
    let def = |name: &str, params: &[&str]| TypeDef {
        status: DefStatus::OK,
        name: name.to_owned(),
        params: params.iter().map(|p| (*p).to_owned()).collect(),
    };
    t.type_def(CORE, 1, def("System.__Canon", &[]));
    t.type_def(CORE, 2, def("System.Collections.Generic.List`1", &["T"]));
    t.type_def(CORE, 3, def("System.String", &[]));
    t.type_def(APP, 4, def("Demo.Order", &[]));
    t.type_def(APP, 5, def("evil\u{1b}[31m\n", &[]));
    t.type_def(APP, 6, TypeDef { status: DefStatus::UNLOADED, ..def("", &[]) });
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
    assert!(t.class_name(30).chars().count() <= MAX_NAME_CHARS);
    assert!(t.class_name(31).chars().count() <= MAX_NAME_CHARS);
    assert_eq!(t.class_origin(31), Origin::Unknown);
}

#[test]
fn methods() {
    let mut t = tables();
    let def = |type_token, name: &str, params: &[&str]| MethodDef {
        status: DefStatus::OK,
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
    t.method(100, method(MethodShape::NAMED, 11, CORE, 1, &[]));
    t.method(101, method(MethodShape::NAMED, 12, CORE, 1, &[]));
    t.method(102, method(MethodShape::NAMED, 0, APP, 2, &[10]));
    t.method(103, method(MethodShape::NAMED, 0, APP, 2, &[14]));
    t.method(104, method(MethodShape::DYNAMIC, 0, 0, 0, &[]));
    t.method(105, method(MethodShape::NAMED, 0, APP, 3, &[]));
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
    let def = |name: &str| TypeDef { status: DefStatus::OK, name: name.to_owned(), params: vec![] };
    t.type_def(APP, 7, def("Late"));
    assert_eq!(&*t.class_name(40), "Late");
    t.class(41, plain(APP, 8, &[]));
    let mut before = t.forget();
    assert_eq!(&*t.class_name(40), "(unnamed)");
    t.type_def(APP, 7, def("Other"));
    t.type_def(APP, 8, def("Newer"));
    let names = t.with(&mut before, |t| [40, 41].map(|id| t.class_name(id)));
    assert_eq!([&*names[0], &*names[1]], ["Late", "Newer"]);
    t.class(40, plain(APP, 7, &[]));
    assert_eq!(&*t.class_name(40), "Other");
}

#[test]
fn arguments_that_branch_at_each_level_end_soon() {
    let mut t = tables();
    t.class(30, plain(CORE, 2, &[30; 255]));
    t.class(31, plain(APP, 4, &[31; 255]));
    let info = allocation_counter::measure(|| {
        assert!(t.class_name(30).chars().count() <= MAX_NAME_CHARS);
        assert_eq!(t.class_origin(30), Origin::Unknown);
        assert_eq!(t.class_origin(31), Origin::App);
    });
    assert!(info.bytes_total < 1 << 20, "{} bytes for one name", info.bytes_total);
}

#[test]
fn what_is_told_again_takes_no_more_memory() {
    let mut t = tables();
    let bytes = t.bytes();
    for _ in 0..10 {
        t.class(12, plain(CORE, 2, &[13]));
        t.module(APP, "/app/app.dll");
    }
    assert_eq!(t.bytes(), bytes);
    let forgotten = t.forget();
    assert_eq!((t.bytes(), forgotten.bytes()), (0, bytes));
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
