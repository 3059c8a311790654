//! Classes of the framework, by their names.

use crate::graph::{Class, Graph};

/// How many base classes are looked at. The file may name them in a circle.
const MAX_BASES: usize = 256;
/// Modules of the framework's core.
const CORE: [&str; 4] = ["System.Private.CoreLib.dll", "System.Private.CoreLib", "mscorlib.dll", "mscorlib"];

/// Whether a class is one of the framework's core. Its name may be written with or without its namespace, with type
/// arguments in any form, and with `+` or `.` before the name of a nested class.
pub(crate) fn is_core(class: &Class, namespace: &str, name: &str) -> bool {
    let Some(full) = &class.name else { return false };
    let bare = full.split(['<', '`', '[']).next().unwrap_or_default();
    let short = match bare.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('.')) {
        Some(short) => short,
        // The program may have a class of the same short name.
        None if class.module.as_deref().is_none_or(|module| CORE.contains(&module)) => bare,
        None => return false,
    };
    let parts = short.split(['+', '.']);
    parts.eq(name.split('.'))
}

/// For each class, whether `is` says so of it or of one of its base classes.
pub(crate) fn derived(graph: &Graph, is: impl Fn(&Class) -> bool) -> Vec<bool> {
    let own: Vec<bool> = graph.classes().iter().map(is).collect();
    let parent = |index: &u32| graph.class(*index).and_then(|class| class.record.parent);
    let classes = 0..own.len() as u32;
    let bases = |class| std::iter::successors(Some(class), parent).take(MAX_BASES);
    classes.map(|class| bases(class).any(|base| own.get(base as usize) == Some(&true))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_written_in_several_ways() {
        let is = |name: &str, module: Option<&str>, wanted: &str| {
            let class =
                Class { name: Some(name.into()), module: module.map(str::to_owned), ..Class::default() };
            is_core(&class, "System.Threading", wanted)
        };
        assert!(is("System.Threading.Timer", Some("App.dll"), "Timer"));
        assert!(is("Timer", None, "Timer"));
        assert!(is("Timer", Some("System.Private.CoreLib.dll"), "Timer"));
        assert!(!is("Timer", Some("App.dll"), "Timer"));
        assert!(!is("App.Timer", None, "Timer"));
        assert!(!is("Timers", None, "Timer"));
        assert!(is("System.Threading.AsyncLocal`1[[x]]", None, "AsyncLocal"));
        assert!(is("Source+CallbackNode", None, "Source.CallbackNode"));
        assert!(is("Source.CallbackNode", None, "Source.CallbackNode"));
    }
}
