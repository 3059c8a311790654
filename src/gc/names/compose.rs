//! Types and methods as a C# programmer writes them, from the names in metadata.

use super::generated::{self, Made, Written};

/// The namespaces that a new C# project need not name. Their types go by their short names, where
/// they are the framework's.
const IMPLIED: [&str; 7] = [
    "System",
    "System.Collections.Generic",
    "System.IO",
    "System.Linq",
    "System.Net.Http",
    "System.Threading",
    "System.Threading.Tasks",
];

/// CorElementType of a type that needs no class (0: it has none), name in the namespace `System`, keyword.
const KEYWORDS: [(u8, &str, &str); 18] = [
    (0x1c, "Object", "object"),
    (0x0e, "String", "string"),
    (0x02, "Boolean", "bool"),
    (0x03, "Char", "char"),
    (0x04, "SByte", "sbyte"),
    (0x05, "Byte", "byte"),
    (0x06, "Int16", "short"),
    (0x07, "UInt16", "ushort"),
    (0x08, "Int32", "int"),
    (0x09, "UInt32", "uint"),
    (0x0a, "Int64", "long"),
    (0x0b, "UInt64", "ulong"),
    (0x18, "IntPtr", "nint"),
    (0x19, "UIntPtr", "nuint"),
    (0x0c, "Single", "float"),
    (0x0d, "Double", "double"),
    (0, "Decimal", "decimal"),
    (0x01, "Void", "void"),
];

/// The keyword of a type that needs no class, by its CorElementType.
pub(super) fn primitive(element_type: u8) -> Option<&'static str> {
    KEYWORDS.iter().find(|(code, ..)| *code == element_type && *code != 0).map(|(.., keyword)| *keyword)
}

/// A type with everything that its text is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type<'a> {
    /// `Namespace.Outer+Inner`1`.
    pub(super) name: &'a str,
    /// Texts of the arguments, or of the parameters where there are none; outer types' first.
    pub(super) args: &'a [String],
    /// It is of the shared framework.
    pub(super) framework: bool,
}

/// A type's name taken apart: what the programmer's part of it reads like, and what follows.
struct Parts {
    /// `Namespace.Outer<T>.Inner`.
    by_hand: String,
    /// From the first part on that the compiler made; its generic arguments.
    made: Vec<(Made, Vec<String>)>,
}

impl Type<'_> {
    fn parts(&self) -> Parts {
        let mut args = self.args.iter();
        let mut parts = Parts { by_hand: String::new(), made: Vec::new() };
        for (nth, piece) in self.name.split('+').enumerate() {
            let (name, arity) = match piece.rsplit_once('`') {
                Some((name, n)) if n.parse::<u8>().is_ok() => (name, n.parse().unwrap_or(0)),
                _ => (piece, 0),
            };
            let own: Vec<String> = args.by_ref().take(arity).cloned().collect();
            let dot = if nth == 0 { generated::last_dot(name) } else { None };
            let (namespace, name) = dot.map_or(("", name), |at| (&name[..at], &name[at + 1..]));
            let made = generated::segment(name);
            if let (Made::ByHand(name), true) = (&made, parts.made.is_empty()) {
                if nth > 0 {
                    parts.by_hand.push('.');
                } else if !(namespace.is_empty() || self.framework && IMPLIED.contains(&namespace)) {
                    parts.by_hand.push_str(namespace);
                    parts.by_hand.push('.');
                }
                parts.by_hand.push_str(name);
                parts.by_hand.push_str(&bracketed(&own));
            } else {
                if nth == 0 && !namespace.is_empty() {
                    parts.by_hand.push_str(namespace);
                }
                parts.made.push((made, own));
            }
        }
        parts
    }

    /// As the type of an object.
    pub(super) fn text(&self) -> String {
        if let Some(text) = self.shorthand() {
            return text;
        }
        let Parts { by_hand, made } = self.parts();
        let dot = if by_hand.is_empty() { "" } else { "." };
        if let Some(mut written) = state_machine(&made) {
            written.what.push("state machine");
            return written.of(&by_hand);
        }
        match made.last() {
            None => by_hand,
            Some((Made::Closure, _)) => format!("{by_hand} (closure)"),
            Some((Made::Lambdas, _)) => format!("{by_hand} (lambdas)"),
            Some((Made::Other(name) | Made::ByHand(name), own)) => {
                format!("{by_hand}{dot}{name}{}", bracketed(own))
            }
            Some((Made::StateMachine(_), _)) => by_hand,
        }
    }

    /// Where C# has a shorter way to say it.
    fn shorthand(&self) -> Option<String> {
        if !self.framework {
            return None;
        }
        let short = self.name.strip_prefix("System.")?;
        if let Some((.., keyword)) = KEYWORDS.iter().find(|(_, name, _)| *name == short) {
            return Some((*keyword).to_owned());
        }
        match self.args {
            [of] if short == "Nullable`1" => Some(format!("{of}?")),
            [_, _, ..] if short == format!("ValueTuple`{}", self.args.len()) => {
                Some(format!("({})", self.args.join(", ")))
            }
            // What an async method becomes when it has to wait: the method says more than the box.
            [.., machine] if short.contains("StateMachineBox`1") => {
                let (method, what) = machine.strip_suffix("state machine)")?.rsplit_once(" (")?;
                Some(format!("{method} (async{}{})", if what.is_empty() { "" } else { " " }, what.trim_end()))
            }
            _ => None,
        }
    }

    /// One of its methods.
    pub(super) fn method(&self, name: &str, is_async: bool, args: &[String]) -> String {
        let Parts { by_hand, made } = self.parts();
        if let Some(written) = state_machine(&made) {
            return written.made(if is_async { "async" } else { "iterator" }).of(&by_hand);
        }
        let mut written: Written = generated::method(name);
        if !written.path.is_empty() {
            written.path += &bracketed(args);
        }
        if let Some(owner) = self.shorthand() {
            return written.of(&owner);
        }
        match made.last() {
            // A lambda says itself what it is in.
            Some((Made::Closure, _)) if written.path.is_empty() => format!("{by_hand} (closure)"),
            Some((Made::Closure | Made::Lambdas, _)) | None => written.of(&by_hand),
            Some(_) => written.of(&self.text()),
        }
    }
}

/// The method or lambda whose state the type keeps; the innermost says most.
fn state_machine(made: &[(Made, Vec<String>)]) -> Option<Written> {
    made.iter().rev().find_map(|(made, own)| match made {
        Made::StateMachine(Written { path, what }) => {
            Some(Written { path: path.clone() + &bracketed(own), what: what.clone() })
        }
        _ => None,
    })
}

fn bracketed(args: &[String]) -> String {
    if args.is_empty() { String::new() } else { format!("<{}>", args.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn types_as_they_are_written() {
        for (name, args, framework, text) in [
            ("System.Byte", &[][..], true, "byte"),
            ("System.Byte", &[], false, "System.Byte"),
            (
                "System.Collections.Generic.Dictionary`2",
                &["string", "Demo.Order"],
                true,
                "Dictionary<string, Demo.Order>",
            ),
            (
                "System.Collections.Generic.Dictionary`2+Entry",
                &["int", "T"],
                true,
                "Dictionary<int, T>.Entry",
            ),
            ("Demo.Outer`1+Inner`2", &["A", "B", "C"], false, "Demo.Outer<A>.Inner<B, C>"),
            ("System.Nullable`1", &["int"], true, "int?"),
            ("System.ValueTuple`2", &["int", "string"], true, "(int, string)"),
            ("System.Diagnostics.Tracing.EventSource", &[], true, "System.Diagnostics.Tracing.EventSource"),
            ("Demo.Service+<LoadAsync>d__3", &[], false, "Demo.Service.LoadAsync (state machine)"),
            ("Demo.Repo`1+<Load>d__3`1", &["T", "U"], false, "Demo.Repo<T>.Load<U> (state machine)"),
            ("Program+<>c+<<Main>b__0_0>d", &[], false, "Program.Main (lambda state machine)"),
            ("Program+<>c__DisplayClass0_0", &[], false, "Program (closure)"),
            ("Program+<>c", &[], false, "Program (lambdas)"),
            ("<>f__AnonymousType0`2", &["int", "string"], false, "(anonymous type)<int, string>"),
            (
                "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1",
                &["int", "Demo.Service.LoadAsync (state machine)"],
                true,
                "Demo.Service.LoadAsync (async)",
            ),
            (
                "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1",
                &["int", "Program.Main (lambda state machine)"],
                true,
                "Program.Main (async lambda)",
            ),
            ("Odd`Name", &[], false, "Odd`Name"),
            ("", &[], false, ""),
            ("+", &[], false, "."),
        ] {
            let args = strings(args);
            assert_eq!(Type { name, args: &args, framework }.text(), text, "{name}");
        }
    }

    #[test]
    fn methods_as_they_are_written() {
        for (name, type_args, method, is_async, args, text) in [
            ("Demo.Orders", &[][..], "Trim", false, &[][..], "Demo.Orders.Trim"),
            ("Demo.Orders", &[], "Map", false, &["T"], "Demo.Orders.Map<T>"),
            ("System.Collections.Generic.List`1", &["T"], "Add", false, &[], "List<T>.Add"),
            ("Demo.Orders+<LoadAsync>d__3", &[], "MoveNext", true, &[], "Demo.Orders.LoadAsync (async)"),
            ("Demo.Repo+<Load>d__0", &[], "MoveNext", false, &[], "Demo.Repo.Load (iterator)"),
            (
                "Demo.Repo+<Load>d__0",
                &[],
                "System.IDisposable.Dispose",
                false,
                &[],
                "Demo.Repo.Load (iterator)",
            ),
            ("Program+<>c", &[], "<Main>b__0_0", false, &[], "Program.Main (lambda)"),
            ("Program+<>c__DisplayClass2_0", &[], "<Main>b__1", false, &[], "Program.Main (lambda)"),
            ("Program+<>c__DisplayClass2_0", &[], ".ctor", false, &[], "Program (closure)"),
            ("Program+<>c+<<Main>b__0_0>d", &[], "MoveNext", true, &[], "Program.Main (async lambda)"),
            ("Program", &[], "<Main>g__Helper|0_0", false, &[], "Program.Main.Helper (local function)"),
            (
                "Program+<<Main>g__Helper|0_0>d",
                &[],
                "MoveNext",
                true,
                &[],
                "Program.Main.Helper (async local function)",
            ),
            ("Program", &[], "<Main>$", false, &[], "Program (top-level statements)"),
            ("Program+<<Main>$>d__0", &[], "MoveNext", true, &[], "Program (async top-level statements)"),
            ("Demo.Repo`1+<Load>d__3`1", &["T", "U"], "MoveNext", true, &[], "Demo.Repo<T>.Load<U> (async)"),
            ("Demo.Holder", &[], ".ctor", false, &[], "Demo.Holder (constructor)"),
            ("System.String", &[], "Concat", false, &[], "string.Concat"),
            (
                "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1",
                &["int", "Demo.Service.LoadAsync (state machine)"],
                "ExecuteFromThreadPool",
                false,
                &[],
                "Demo.Service.LoadAsync (async).ExecuteFromThreadPool",
            ),
            ("System.GC", &[], "Collect", false, &[], "GC.Collect"),
        ] {
            let (type_args, args) = (strings(type_args), strings(args));
            let framework = name.starts_with("System.");
            let of = Type { name, args: &type_args, framework };
            assert_eq!(of.method(method, is_async, &args), text, "{name}::{method}");
        }
    }
}
