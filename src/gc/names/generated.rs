//! The names that the C# compiler gives to what has none, taken back to what the programmer wrote.

use std::fmt::Write as _;

/// A member as it was written: `Main.Helper`, and what it is besides: `(async local function)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Empty: the type itself says it (a constructor).
    pub(super) path: String,
    /// "lambda", "local function" and others, the innermost last.
    pub(super) what: Vec<&'static str>,
}

impl Written {
    fn named(path: &str) -> Written {
        Written { path: path.to_owned(), what: Vec::new() }
    }

    fn and(mut self, what: &'static str) -> Written {
        self.what.push(what);
        self
    }

    /// `async lambda`, not `lambda async`.
    pub(super) fn made(mut self, how: &'static str) -> Written {
        self.what.insert(0, how);
        self
    }

    /// Behind the type it belongs to.
    pub(super) fn of(&self, owner: &str) -> String {
        let mut text = owner.to_owned();
        if !self.path.is_empty() {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&self.path);
        }
        if !self.what.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(text, " ({})", self.what.join(" "));
        }
        text
    }
}

/// `<inner>kind__rest`.
fn split(name: &str) -> Option<(&str, Option<char>, &str)> {
    let mut depth = 0usize;
    for (at, c) in name.strip_prefix('<').map(|_| name)?.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let rest = &name[at + 1..];
            let kind = rest.chars().next();
            let rest = kind.map_or("", |k| &rest[k.len_utf8()..]);
            return Some((&name[1..at], kind, rest));
        }
    }
    None
}

/// A method by its name in metadata.
pub(super) fn method(name: &str) -> Written {
    match split(name) {
        Some(("Main", Some('$'), "")) => Written::default().and("top-level statements"),
        Some((inner, None, _)) if !inner.is_empty() => method(inner).and("entry point"),
        Some((inner, Some('b'), rest)) if rest.starts_with("__") => method(inner).and("lambda"),
        Some((inner, Some('g'), rest)) if rest.starts_with("__") => {
            let helper = rest[2..].split('|').next().unwrap_or_default();
            let outer = method(inner);
            let dot = if outer.path.is_empty() { "" } else { "." };
            // What it is in is said by the path, if anything can.
            Written::named(&format!("{}{dot}{helper}", outer.path)).and("local function")
        }
        Some(_) => Written::named(name),
        None => plain(name),
    }
}

fn plain(name: &str) -> Written {
    match name {
        ".ctor" => return Written::default().and("constructor"),
        ".cctor" => return Written::default().and("static constructor"),
        "Finalize" => return Written::default().and("finalizer"),
        _ => {}
    }
    // An explicit implementation of an interface: `System.IDisposable.Dispose`.
    let (interface, member) = match last_dot(name) {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => ("", name),
    };
    let interface = last_dot(interface).map_or(interface, |at| &interface[at + 1..]);
    let accessors =
        [("get_", "get"), ("set_", "set"), ("add_", "add"), ("remove_", "remove"), ("op_", "operator")];
    let found = accessors.iter().find_map(|(prefix, what)| Some((member.strip_prefix(prefix)?, *what)));
    let (member, what) = match found {
        Some(("Item", what)) => ("this[]", Some(what)),
        Some((rest, what)) if !rest.is_empty() => (rest, Some(what)),
        _ => (member, None),
    };
    let dot = if interface.is_empty() { "" } else { "." };
    Written { path: format!("{interface}{dot}{member}"), what: what.into_iter().collect() }
}

/// The last dot that is in no angle brackets.
pub(super) fn last_dot(name: &str) -> Option<usize> {
    let mut depth = 0usize;
    let dots = name.char_indices().rev().filter(|&(_, c)| {
        match c {
            '>' => depth += 1,
            '<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '.' && depth == 0
    });
    // A constructor's name begins with its dot.
    dots.into_iter().map(|(at, _)| at).find(|&at| at > 0)
}

/// What a nested type was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    /// By the programmer; its name.
    ByHand(String),
    /// For a method whose state it keeps: an async method or an iterator.
    StateMachine(Written),
    /// For the variables that lambdas share.
    Closure,
    /// For lambdas that share nothing.
    Lambdas,
    /// By the compiler, for something else.
    Other(String),
}

/// A type by the last part of its name, without its number of parameters.
pub(super) fn segment(name: &str) -> Made {
    match split(name) {
        None => Made::ByHand(name.to_owned()),
        Some(("", Some('c'), rest)) if rest.starts_with("__DisplayClass") => Made::Closure,
        Some(("", Some('c'), _)) => Made::Lambdas,
        // In type names the compiler writes a dash for a dot.
        Some((inner, Some('d'), _)) if !inner.is_empty() => {
            Made::StateMachine(method(&inner.replace('-', ".")))
        }
        Some(("", Some('f'), rest)) if rest.starts_with("__AnonymousType") => {
            Made::Other("(anonymous type)".to_owned())
        }
        // A type that only its file sees: `<File>F0A1B2__Name`.
        Some((_, Some('F'), rest)) => match rest.split_once("__") {
            Some((_, own)) => Made::ByHand(own.to_owned()),
            None => Made::Other(name.to_owned()),
        },
        Some(_) => Made::Other(name.to_owned()),
    }
}

/// A field by its name in metadata: what holds a property's value has the property's name.
pub(crate) fn field(name: &str) -> &str {
    match split(name) {
        Some((property, Some('k'), "__BackingField")) if !property.is_empty() => property,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_as_they_were_written() {
        for (metadata, written) in [
            ("Run", "T.Run"),
            (".ctor", "T (constructor)"),
            (".cctor", "T (static constructor)"),
            ("Finalize", "T (finalizer)"),
            ("get_Count", "T.Count (get)"),
            ("set_Item", "T.this[] (set)"),
            ("add_Changed", "T.Changed (add)"),
            ("op_Equality", "T.Equality (operator)"),
            ("get_", "T.get_"),
            ("System.IDisposable.Dispose", "T.IDisposable.Dispose"),
            ("System.Collections.Generic.IList<Demo.X>.get_Item", "T.IList<Demo.X>.this[] (get)"),
            ("<Main>b__0_0", "T.Main (lambda)"),
            ("<.ctor>b__3_1", "T (constructor lambda)"),
            ("<get_Count>b__0", "T.Count (get lambda)"),
            ("<Main>g__Helper|0_0", "T.Main.Helper (local function)"),
            ("<Main>$", "T (top-level statements)"),
            ("<<Main>$>b__0_0", "T (top-level statements lambda)"),
            ("<<Main>$>g__Helper|0_1", "T.Helper (local function)"),
            ("<Main>", "T.Main (entry point)"),
            ("<>m__Finally1", "T.<>m__Finally1"),
            ("<", "T.<"),
            ("<a", "T.<a"),
            (">b__<", "T.>b__<"),
        ] {
            assert_eq!(method(metadata).of("T"), written, "{metadata}");
        }
    }

    #[test]
    fn types_that_were_made_for_something() {
        let machine = |name: &str| Made::StateMachine(method(name));
        assert_eq!(segment("Inner"), Made::ByHand("Inner".to_owned()));
        assert_eq!(segment("<>c"), Made::Lambdas);
        assert_eq!(segment("<>c__DisplayClass1_0"), Made::Closure);
        assert_eq!(segment("<LoadAsync>d__3"), machine("LoadAsync"));
        assert_eq!(segment("<<Main>b__0_0>d"), machine("<Main>b__0_0"));
        assert_eq!(
            segment("<System-Collections-IEnumerable-Get>d__1"),
            machine("System.Collections.IEnumerable.Get")
        );
        assert_eq!(segment("<Tests>F1A2B__Local"), Made::ByHand("Local".to_owned()));
        assert_eq!(
            segment("<PrivateImplementationDetails>"),
            Made::Other("<PrivateImplementationDetails>".to_owned())
        );
    }

    #[test]
    fn fields_behind_properties() {
        assert_eq!(field("<Cache>k__BackingField"), "Cache");
        assert_eq!(field("s_cache"), "s_cache");
    }
}
