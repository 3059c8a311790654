//! From the model to the types of the wire.

use std::collections::BTreeMap;

use super::number::{Address, Int};
use crate::assertion::Unit;
use crate::gc::facts::{Arming, BackgroundGc, Gap};
use crate::gc::generation::Generation;
use crate::gc::names::Name;
use crate::gc::record::{Incomplete, Kind, Level, Phase};
use crate::gc::root_kind::{RootFlags, RootKind};

/// Rows of a list in JSON; the model has all of them.
pub(crate) const MAX_ROWS: usize = 100;

/// What the wire makes of a value of the model.
pub(crate) trait Wire<Of: ?Sized> {
    fn of(to: &mut Convert, value: &Of) -> Self;
}

/// Converts the model to the types of the wire, and counts the integers that had to be cut.
#[derive(Debug, Default)]
pub(crate) struct Convert {
    pub(crate) saturated: u64,
}

impl Convert {
    /// A value as the wire holds it.
    pub(crate) fn wire<T: Wire<Of>, Of: ?Sized>(&mut self, value: &Of) -> T {
        T::of(self, value)
    }

    /// The rows of a list.
    pub(crate) fn all<'a, T: Wire<Of>, Of: 'a>(&mut self, rows: impl IntoIterator<Item = &'a Of>) -> Vec<T> {
        rows.into_iter().map(|row| self.wire(row)).collect()
    }

    /// The first [`MAX_ROWS`] rows of a list.
    pub(crate) fn top<'a, T: Wire<Of>, Of: 'a>(&mut self, rows: impl IntoIterator<Item = &'a Of>) -> Vec<T> {
        self.all(rows.into_iter().take(MAX_ROWS))
    }
}

impl<T: Wire<Of>, Of> Wire<Option<Of>> for Option<T> {
    fn of(to: &mut Convert, value: &Option<Of>) -> Option<T> {
        value.as_ref().map(|value| to.wire(value))
    }
}

impl<T: Wire<Of>, Of> Wire<Vec<Of>> for Vec<T> {
    fn of(to: &mut Convert, rows: &Vec<Of>) -> Vec<T> {
        to.all(rows)
    }
}

/// Groups by generation and kind.
impl<T, Of> Wire<BTreeMap<(Generation, Kind), Of>> for Vec<T>
where
    T: for<'a> Wire<((Generation, Kind), &'a Of)>,
{
    fn of(to: &mut Convert, groups: &BTreeMap<(Generation, Kind), Of>) -> Vec<T> {
        groups.iter().map(|(key, group)| to.wire(&(*key, group))).collect()
    }
}

/// `impl Wire` for types that take one expression.
macro_rules! simple {
    ($($wire:ty: |$to:pat_param, $value:ident: $model:ty| $expression:expr;)*) => {$(
        impl Wire<$model> for $wire {
            fn of($to: &mut Convert, $value: &$model) -> $wire {
                $expression
            }
        }
    )*};
}

simple! {
    Int: |to, value: u64| {
        let (int, cut) = Int::saturating(*value);
        to.saturated += u64::from(cut);
        int
    };
    Address: |_, value: u64| Address(*value);
    bool: |_, value: bool| *value;
    u8: |_, value: Generation| value.0;
    u32: |_, value: u32| *value;
    i32: |_, value: i32| *value;
    String: |_, value: String| value.clone();
    String: |_, value: Name| value.to_string();
    &'static str: |_, value: &'static str| value;
    &'static str: |_, value: Arming| value.name();
    &'static str: |_, value: BackgroundGc| value.name();
    &'static str: |_, value: Gap| value.name();
    &'static str: |_, value: Generation| value.name();
    &'static str: |_, value: Incomplete| value.name();
    &'static str: |_, value: Kind| value.name();
    &'static str: |_, value: Level| value.name();
    &'static str: |_, value: Phase| value.name();
    &'static str: |_, value: RootKind| value.name();
    &'static str: |_, value: Unit| value.name();
    Vec<&'static str>: |_, value: RootFlags| value.names().collect();
}

/// Objects of the wire, each with the type of the model that it is made of. A field without an expression has the
/// value of the model's field of that name.
macro_rules! wire {
    ($(
        $(#[$about:meta])*
        $name:ident($to:ident, $of:ident: $model:ty) {
            $($(#[$about_field:meta])* $field:ident: $wire:ty $(= $value:expr)?,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$about_field])* pub(crate) $field: $wire,)*
        }

        impl $crate::report::json::wire::Wire<$model> for $name {
            fn of($to: &mut $crate::report::json::wire::Convert, $of: &$model) -> $name {
                $name { $($field: wire!(@ $to.wire(&$of.$field) $(, $value)?),)* }
            }
        }
    )*};
    (@ $same:expr) => { $same };
    (@ $same:expr, $value:expr) => { $value };
}
pub(crate) use wire;
