//! Puts the profiler's definitions into the tables.

use netcore_profiler::wire::{self, Record};

use super::definitions::{Class, Field, Method, MethodDef, TypeDef};
use super::tables::Tables;

fn texts(of: &wire::Texts<'_>) -> Vec<String> {
    of.iter().map(|text| text.to_string()).collect()
}

/// Puts a record into the tables, if it is a definition.
pub(crate) fn apply(tables: &mut Tables, record: &Record<'_>) {
    match record {
        Record::Class(c) => {
            let class = Class {
                shape: c.shape,
                module: c.module_id,
                token: c.token,
                rank: c.rank,
                element: c.element_class,
                element_type: c.element_type,
                args: c.args.iter().collect(),
            };
            tables.class(c.class_id, class);
        }
        Record::Method(m) => {
            let (shape, class, module, token) = (m.shape, m.class_id, m.module_id, m.token);
            let method = Method { shape, class, module, token, args: m.args.iter().collect() };
            tables.method(m.function_id, method);
        }
        Record::Module(m) => tables.module(m.module_id, &m.path.to_string()),
        Record::TypeDef(t) => {
            let def = TypeDef { status: t.status, name: t.name.to_string(), params: texts(&t.params) };
            tables.type_def(t.module_id, t.token, def);
        }
        Record::MethodDef(m) => {
            let def = MethodDef {
                status: m.status,
                type_token: m.type_token,
                name: m.name.to_string(),
                is_async: m.is_async,
                params: texts(&m.params),
            };
            tables.method_def(m.module_id, m.token, def);
        }
        Record::FieldDef(f) => {
            let field = Field {
                module: f.module_id,
                type_token: f.type_token,
                slot: f.slot,
                thread_static: f.thread_static,
                name: f.name.to_string(),
            };
            tables.field(f.field, field);
        }
        _ => {}
    }
}
