//! Enums whose values have names.

/// A value by its name.
pub(crate) trait Named: Sized {
    /// `None`: no value has this name.
    fn named(name: &str) -> Option<Self>;
}

/// Enums of which each value has the name that JSON and the command line have for it.
macro_rules! named {
    ($(
        $(#[$about:meta])*
        $enum:ident { $($(#[$about_value:meta])* $value:ident = $name:literal,)* }
    )*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum $enum {
            $($(#[$about_value])* $value,)*
        }

        impl $enum {
            /// The name in JSON.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $($enum::$value => $name,)*
                }
            }
        }

        impl $crate::gc::named::Named for $enum {
            fn named(name: &str) -> Option<$enum> {
                match name {
                    $($name => Some($enum::$value),)*
                    _ => None,
                }
            }
        }
    )*};
}
pub(crate) use named;
