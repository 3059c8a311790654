//! Kinds and flags of roots, and kinds of roots that the runtime marks from.

use netcore_profiler::wire;

/// What a root is: `COR_PRF_GC_ROOT_KIND` in the order of JSON, and static fields. A kind that is newer than this
/// program is [`OTHER`](Self::OTHER).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RootKind(pub(crate) u8);

impl RootKind {
    pub(crate) const STACK: Self = Self(0);
    pub(crate) const HANDLE: Self = Self(1);
    pub(crate) const FINALIZER: Self = Self(2);
    pub(crate) const OTHER: Self = Self(3);
    /// Handles of the arrays that hold the values of static fields. Only where roots are counted by type.
    pub(crate) const STATICS: Self = Self(4);

    /// The runtime's kinds.
    pub(crate) const ALL: [Self; 4] = [Self::STACK, Self::HANDLE, Self::FINALIZER, Self::OTHER];

    /// The runtime's kind with this name, else [`OTHER`](Self::OTHER).
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(Self::OTHER)
    }

    /// The name in text and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::STACK => "stack",
            Self::HANDLE => "handle",
            Self::FINALIZER => "finalizer",
            Self::OTHER => "other",
            Self::STATICS => "statics",
            _ => "unknown",
        }
    }
}

impl From<wire::RootKind> for RootKind {
    fn from(kind: wire::RootKind) -> Self {
        match kind {
            wire::RootKind::STACK => Self::STACK,
            wire::RootKind::HANDLE => Self::HANDLE,
            wire::RootKind::FINALIZER => Self::FINALIZER,
            _ => Self::OTHER,
        }
    }
}

/// `COR_PRF_GC_ROOT_FLAGS`: a set of bits. Bits that are newer than this program are kept and have no name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RootFlags(pub(crate) u8);

impl RootFlags {
    /// The object may not move.
    pub(crate) const PINNING: Self = Self(wire::RootFlags::PINNING);
    /// The root does not keep its object alive.
    pub(crate) const WEAK: Self = Self(wire::RootFlags::WEAK);
    /// The root points into an object.
    pub(crate) const INTERIOR: Self = Self(wire::RootFlags::INTERIOR);
    /// The root is a reference-counted handle.
    pub(crate) const REFCOUNTED: Self = Self(wire::RootFlags::REFCOUNTED);

    /// Each flag with its name in text and JSON.
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::PINNING, "pinning"),
        (Self::WEAK, "weak"),
        (Self::INTERIOR, "interior"),
        (Self::REFCOUNTED, "refcounted"),
    ];

    /// Whether all flags of `other` are set.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags with these names. Other names are passed over.
    pub(crate) fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let flag = |name| Self::ALL.into_iter().find(|(_, known)| *known == name);
        Self(names.filter_map(flag).fold(0, |all, (flag, _)| all | flag.0))
    }

    /// Without bits that have no name.
    pub(crate) fn known(self) -> Self {
        Self(self.0 & 0b1111)
    }

    /// The names of those that are set.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| name)
    }
}

impl From<wire::RootFlags> for RootFlags {
    /// The profiler stands for unknown bits by a value of its own: none of the known ones is set.
    fn from(flags: wire::RootFlags) -> Self {
        if flags == wire::RootFlags::UNKNOWN { Self::default() } else { Self(flags.0) }
    }
}

/// What the runtime marks from: `MarkType` of GCMarkWithType. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MarkKind(pub(crate) u32);

impl MarkKind {
    pub(crate) const STACK: Self = Self(0);
    pub(crate) const HANDLE: Self = Self(2);
    /// The cards of generations that are not collected.
    pub(crate) const OLDER_GENERATION: Self = Self(3);
    /// Objects found again after the mark stack overflowed. Their bytes are part of other kinds' bytes, too.
    pub(crate) const OVERFLOW: Self = Self(5);
    /// Objects that became ready for finalization.
    pub(crate) const NEW_FINALIZABLE: Self = Self(7);

    /// Those that have a name, in the runtime's order.
    pub(crate) const ALL: [Self; 10] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7), Self(8), Self(9)];

    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            0 => "stack",
            1 => "finalizer",
            2 => "handle",
            3 => "older_generation",
            4 => "sized_ref",
            5 => "overflow",
            6 => "dependent_handle",
            7 => "new_finalizable",
            8 => "steal",
            9 => "background",
            _ => "unknown",
        }
    }

    /// Its place in an array in the order of [`ALL`](Self::ALL).
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
