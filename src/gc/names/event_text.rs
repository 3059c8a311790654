//! Names of types and methods as the runtime's events have them: `System.Collections.Generic.List`1[System.String]`.
//! The events do not tell the names of type parameters. In code that several types share, `_` stands for the argument.

use super::compose::Type;
use super::name::{DYNAMIC, Name, UNNAMED};
use crate::escape::{MAX_NAME_CHARS, cut, escape_untrusted};

/// How far arguments of arguments are followed.
const DEPTH: usize = 8;
/// Arguments of one type that are shown.
const MAX_ARGS: usize = 32;
/// What the runtime has for any reference type in shared code.
const CANON: &str = "System.__Canon";
/// The type of methods that were made at run time.
const DYNAMIC_CLASS: &str = "dynamicClass";

/// A method as the events describe it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventMethod<'a> {
    /// Its type, with the namespace.
    pub(crate) of: &'a str,
    pub(crate) name: &'a str,
    /// In the runtime's notation: `instance void  (int32)`.
    pub(crate) signature: &'a str,
    /// It is of the shared framework.
    pub(crate) framework: bool,
}

fn printable(text: &str) -> String {
    cut(escape_untrusted(text), MAX_NAME_CHARS)
}

/// A type as a C# programmer writes it.
pub(crate) fn type_name(name: &str) -> Name {
    if name.is_empty() {
        return UNNAMED.into();
    }
    cut(type_text(&printable(name), name.starts_with("System."), DEPTH), MAX_NAME_CHARS).into()
}

impl EventMethod<'_> {
    /// As a C# programmer writes it.
    pub(crate) fn text(&self) -> Name {
        if self.of == DYNAMIC_CLASS {
            return DYNAMIC.into();
        }
        let of = printable(self.of);
        let (name, args, _) = parts(&of);
        let args: Vec<String> = args.iter().map(|arg| argument(arg, DEPTH)).collect();
        // The MoveNext of an async method has no result, that of an iterator has one.
        let is_async = self.name == "MoveNext" && self.signature.contains(" void ");
        let owner = Type { name, args: &args, framework: self.framework };
        cut(owner.method(&printable(self.name), is_async, &[]), MAX_NAME_CHARS).into()
    }

    /// The runtime made it to get from one piece of code to another.
    pub(crate) fn is_stub(&self) -> bool {
        self.of == DYNAMIC_CLASS && (self.name.starts_with("IL_STUB") || self.name.starts_with("InvokeStub_"))
    }
}

fn argument(text: &str, depth: usize) -> String {
    if text == CANON { "_".to_owned() } else { type_text(text, text.starts_with("System."), depth) }
}

fn type_text(text: &str, framework: bool, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "…".to_owned() };
    let (name, args, rest) = parts(text);
    let args: Vec<String> = args.iter().map(|arg| argument(arg, depth)).collect();
    let mut out = Type { name, args: &args, framework }.text();
    if !args.is_empty() && !name.contains('`') {
        // Before .NET 10 the events leave out the outer type of a nested one, and with it the number of parameters.
        out += &format!("<{}>", args.join(", "));
    }
    out + rest
}

/// The name, the arguments in brackets, and what follows (`[]`, `[,]`, `*`).
fn parts(text: &str) -> (&str, Vec<&str>, &str) {
    let Some(open) = text.find('[') else { return (text, Vec::new(), "") };
    let (name, after) = text.split_at(open);
    if after[1..].starts_with([']', ',']) {
        return (name, Vec::new(), after);
    }
    let (mut depth, mut start, mut args) = (0_usize, 1, Vec::new());
    for (at, c) in after.char_indices() {
        match c {
            '[' => depth += 1,
            ',' if depth == 1 => {
                args.push(&after[start..at]);
                start = at + 1;
            }
            ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    args.push(&after[start..at]);
                    args.truncate(MAX_ARGS);
                    return (name, args, &after[at + 1..]);
                }
            }
            _ => {}
        }
    }
    // It has no end: it is no list of arguments.
    (text, Vec::new(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_as_they_are_written() {
        for (name, text) in [
            ("System.Byte[]", "byte[]"),
            ("System.Int32[,]", "int[,]"),
            ("System.String", "string"),
            ("System.Collections.Generic.List`1[System.String]", "List<string>"),
            (
                "System.Collections.Generic.Dictionary`2[System.String,Demo.Order[]][]",
                "Dictionary<string, Demo.Order[]>[]",
            ),
            (
                "System.Collections.Generic.Dictionary`2+Entry[System.Int32,System.__Canon][]",
                "Dictionary<int, _>.Entry[]",
            ),
            ("Entry[System.Int32,System.__Canon][]", "Entry<int, _>[]"),
            ("Entry[]", "Entry[]"),
            ("Demo.Service+<LoadAsync>d__3", "Demo.Service.LoadAsync (state machine)"),
            ("Odd[System.Byte", "Odd[System.Byte"),
            ("", "(unnamed)"),
        ] {
            assert_eq!(&*type_name(name), text, "{name}");
        }
    }

    #[test]
    fn methods_as_they_are_written() {
        for (of, name, signature, text) in [
            ("Demo.Orders", "Trim", "instance void  ()", "Demo.Orders.Trim"),
            ("System.GC", "Collect", "void  (int32)", "GC.Collect"),
            (
                "System.Collections.Generic.List`1[System.__Canon]",
                "Add",
                "instance void  (!0)",
                "List<_>.Add",
            ),
            ("Demo.Orders+<LoadAsync>d__3", "MoveNext", "instance void  ()", "Demo.Orders.LoadAsync (async)"),
            ("Demo.Repo+<Load>d__0", "MoveNext", "instance bool  ()", "Demo.Repo.Load (iterator)"),
            ("Program+<>c", "<Main>b__0_0", "instance void  ()", "Program.Main (lambda)"),
            ("dynamicClass", "Anything", "void  ()", "(dynamic method)"),
        ] {
            let method = EventMethod { of, name, signature, framework: of.starts_with("System.") };
            assert_eq!(&*method.text(), text, "{of}::{name}");
        }
    }

    #[test]
    fn a_deep_name_is_cut() {
        let deep = format!("{}{}", "A`1[".repeat(4000), "]".repeat(4000));
        assert!(type_name(&deep).chars().count() <= MAX_NAME_CHARS);
        let wide = format!("A[{}]", ",B[C,D]".repeat(4000));
        assert!(type_name(&wide).chars().count() <= MAX_NAME_CHARS);
    }
}
