//! Whether a type or a method belongs to the program or to the runtime.

/// The owner of a type or a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The inside of the runtime and of its libraries.
    Runtime,
    /// The program and what came with it.
    App,
    /// It could be either's: a string, an array of bytes, a list.
    Unknown,
}

/// Namespaces of the framework whose types programs do not use.
const INTERNAL: [&str; 5] =
    ["System.Diagnostics.Tracing", "System.Reflection", "System.Runtime", "Internal", "Interop"];

/// Types of the framework in namespaces of general use that only the framework itself makes.
const INTERNAL_TYPES: [&str; 5] = [
    "System.Threading.ThreadPoolWorkQueue",
    "System.Threading.PortableThreadPool",
    "System.Threading.TimerQueue",
    "System.AppContext",
    "System.RuntimeType",
];

/// A type or a method's type by its module's path and its name in metadata.
pub(super) fn of(framework: bool, type_name: &str) -> Origin {
    if !framework {
        return Origin::App;
    }
    let within = |outer: &str| {
        type_name.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '+']))
    };
    // The frames and boxes of async methods lie in a namespace of the runtime, and are the program's.
    if type_name.contains("StateMachineBox") {
        return Origin::Unknown;
    }
    if INTERNAL.iter().any(|n| within(n)) || INTERNAL_TYPES.iter().any(|n| within(n)) {
        Origin::Runtime
    } else {
        Origin::Unknown
    }
}

/// Whether a module is of the shared framework: by the directory it lies in, or, in a program that
/// brings its framework along, by its name.
pub(crate) fn framework(path: &str) -> bool {
    let mut parts = path.rsplit(['/', '\\']);
    let file = parts.next().unwrap_or_default();
    let (_version, name, shared) = (parts.next(), parts.next(), parts.next());
    if shared == Some("shared") && name.is_some_and(|n| n.starts_with("Microsoft.")) {
        return true;
    }
    let stem = file.strip_suffix(".dll").unwrap_or(file);
    stem.starts_with("System.") || ["System", "mscorlib", "netstandard", "WindowsBase"].contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framework_by_its_place_or_its_name() {
        for (path, is) in [
            ("/usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.1/System.Private.CoreLib.dll", true),
            ("C:\\dotnet\\shared\\Microsoft.AspNetCore.App\\9.0.1\\Microsoft.AspNetCore.dll", true),
            ("/app/System.Private.CoreLib.dll", true),
            ("/app/Microsoft.CodeAnalysis.dll", false),
            ("/app/app.dll", false),
            ("app", false),
            ("", false),
        ] {
            assert_eq!(framework(path), is, "{path}");
        }
    }

    #[test]
    fn whose() {
        assert_eq!(of(false, "System.Odd"), Origin::App);
        assert_eq!(of(true, "System.Diagnostics.Tracing.EventSource+X"), Origin::Runtime);
        assert_eq!(of(true, "System.RuntimeType+RuntimeTypeCache"), Origin::Runtime);
        assert_eq!(of(true, "System.RuntimeTypeHandle"), Origin::Unknown);
        assert_eq!(of(true, "System.String"), Origin::Unknown);
    }
}
