//! A frame of a call stack, and who is to be named for what it did.

use crate::gc::names::Name;

/// Whose a method is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Framework,
    Program,
    /// The module with this id, of which nothing was told yet.
    Module(u64),
}

/// A method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) name: Name,
    pub(super) owner: Owner,
}

/// The method that is named for an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Caller {
    Method(Name),
    /// A frame before it is in no known method. It could be the one.
    Unknown,
    /// All frames are the framework's, or there is none: a thread of the runtime.
    Framework,
}

impl Caller {
    /// A name, or a text in parentheses.
    pub(crate) fn text(&self) -> Name {
        match self {
            Caller::Method(name) => name.clone(),
            Caller::Unknown => UNKNOWN.into(),
            Caller::Framework => FRAMEWORK.into(),
        }
    }
}

/// It is not known whose code it was.
pub(crate) const UNKNOWN: &str = "(unknown)";
/// No frame is the program's.
const FRAMEWORK: &str = "(no frame of the program)";

/// The innermost method of the program's own code. Frames of the framework are passed over; at a frame of which
/// nothing is known it ends.
pub(super) fn own<'m>(frames: impl Iterator<Item = Option<&'m Method>>) -> Caller {
    for frame in frames {
        match frame {
            Some(Method { owner: Owner::Framework, .. }) => {}
            Some(Method { owner: Owner::Program, name }) => return Caller::Method(name.clone()),
            Some(Method { owner: Owner::Module(_), .. }) | None => return Caller::Unknown,
        }
    }
    Caller::Framework
}

/// The innermost method outside the class `GC`.
pub(super) fn outside_gc<'m>(frames: impl Iterator<Item = Option<&'m Method>>) -> Caller {
    for frame in frames {
        match frame {
            Some(Method { name, .. }) if name.starts_with("GC.") || &**name == STUB => {}
            Some(Method { name, .. }) => return Caller::Method(name.clone()),
            None => return Caller::Unknown,
        }
    }
    Caller::Framework
}

/// A way from one piece of code to another, which the runtime made.
pub(super) const STUB: &str = "(stub)";

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, owner: Owner) -> Method {
        Method { name: name.into(), owner }
    }

    #[test]
    fn an_unknown_frame_is_never_passed_over() {
        let gc = method("GC.Collect", Owner::Framework);
        let list = method("List<_>.Add", Owner::Framework);
        let own_method = method("Program.Run", Owner::Program);
        let of_module = method("Odd.Run", Owner::Module(7));
        let named = |name: &str| Caller::Method(name.into());
        for (frames, by_own, by_gc) in [
            (vec![Some(&gc), Some(&own_method)], named("Program.Run"), named("Program.Run")),
            (vec![Some(&gc), Some(&list), Some(&own_method)], named("Program.Run"), named("List<_>.Add")),
            (vec![Some(&gc), None, Some(&own_method)], Caller::Unknown, Caller::Unknown),
            (vec![Some(&of_module), Some(&own_method)], Caller::Unknown, named("Odd.Run")),
            (vec![Some(&gc)], Caller::Framework, Caller::Framework),
            (vec![], Caller::Framework, Caller::Framework),
        ] {
            assert_eq!(own(frames.iter().copied()), by_own, "{frames:?}");
            assert_eq!(outside_gc(frames.iter().copied()), by_gc, "{frames:?}");
        }
    }
}
