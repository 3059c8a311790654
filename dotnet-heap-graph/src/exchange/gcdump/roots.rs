//! What the nodes that stand for groups of roots mean.

use crate::format::RootRecord;

/// A group of roots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// As in [`RootRecord`].
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Whether the static fields in it are those of threads.
    pub(super) is_thread: bool,
    /// The number of a static field.
    pub(super) id: u64,
}

/// What the name of a static field's node begins with.
const STATIC: &str = "[static var ";

/// The group within another, by the name of its type. dotnet-gcdump and PerfView have different names, and other tools
/// may have more.
pub(super) fn within(outer: Group, name: &str) -> Group {
    let name = name.to_ascii_lowercase();
    let has = |part: &str| name.contains(part);
    let pinned = if has("pin") { RootRecord::PINNED } else { 0 };
    let (kind, flags) = if name.starts_with(STATIC) || has("static vars") {
        (RootRecord::STATIC, 0)
    } else if has("local vars") || has("[stack]") {
        (RootRecord::STACK, pinned)
    } else if has("finaliz") {
        (RootRecord::FINALIZER, 0)
    } else if has("com/winrt") || has("refcount") || name.starts_with("[ccw") {
        (RootRecord::HANDLE, RootRecord::REFERENCE_COUNTED)
    } else if has("other") {
        (RootRecord::OTHER, 0)
    } else if has("handle") {
        (RootRecord::HANDLE, pinned)
    } else {
        (outer.kind, outer.flags)
    };
    Group { kind, flags, is_thread: outer.is_thread || has("thread static"), id: 0 }
}

/// The name of the static field that a node stands for.
pub(super) fn static_field(name: &str) -> Option<&str> {
    let name = name.strip_prefix(STATIC)?;
    Some(name.strip_suffix(']').unwrap_or(name))
}

/// Nodes for COM objects stand for groups of roots, too, though they have an address.
pub(super) fn is_com(name: &str) -> bool {
    name.starts_with("[CCW ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_tools_are_known() {
        let kind = |name| {
            let group = within(Group::default(), name);
            (group.kind, group.flags)
        };
        for (names, expected) in [
            (&["[static vars]", "[thread static vars]", "[static var A.b]"][..], (RootRecord::STATIC, 0)),
            (&["[local vars]"], (RootRecord::STACK, 0)),
            (&["[Pinned local vars]"], (RootRecord::STACK, RootRecord::PINNED)),
            (&["[finalizer Handles]", "[FinalizerQueue]"], (RootRecord::FINALIZER, 0)),
            (&["[strong Handles]", "[StrongHandle]", "[Dependent Handles]"], (RootRecord::HANDLE, 0)),
            (
                &["[pinning Handles]", "[PinnedHandle]", "[AsyncPinnedHandle]"],
                (RootRecord::HANDLE, RootRecord::PINNED),
            ),
            (
                &["[COM/WinRT Objects]", "[RefCountedHandle]", "[CCW 0x1 for type A]"],
                (RootRecord::HANDLE, RootRecord::REFERENCE_COUNTED),
            ),
            (&["[other roots]", "[other Handles]", "[.NET Roots]"], (RootRecord::OTHER, 0)),
        ] {
            for name in names {
                assert_eq!(kind(name), expected, "{name}");
            }
        }
        let thread = within(Group::default(), "[thread static vars]");
        assert!(within(thread, "[static var A.b]").is_thread);
        assert_eq!(static_field("[static var A.b]"), Some("A.b"));
    }
}
