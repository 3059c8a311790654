//! Reads the block in which macOS keeps the arguments and variables of a process. It is compiled everywhere, so that its
//! tests run everywhere.

use std::ffi::OsString;
use std::path::PathBuf;

/// What a process was started with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Started {
    pub(super) command_line: Vec<OsString>,
    /// `None` if the kernel keeps the variables to itself, as it does for programs that System Integrity Protection
    /// covers. Then nothing at all comes after the arguments.
    pub(super) environ: Option<Vec<(OsString, OsString)>>,
}

/// As many as are read on Linux.
const MAX_STRINGS: usize = 16_384;

/// Reads a block: the number of arguments, the path of the program, zeros, the arguments, the variables, an empty string,
/// and after that strings for the loader. `None` if it is no such block.
pub(super) fn parse(block: &[u8]) -> Option<Started> {
    let (count, rest) = block.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path_end = rest.iter().position(|byte| *byte == 0)?;
    let start = rest.iter().skip(path_end).position(|byte| *byte != 0);
    let mut strings = rest.get(path_end + start?..)?.split(|byte| *byte == 0);
    let command_line: Vec<OsString> = strings.by_ref().take(count.min(MAX_STRINGS)).map(os_string).collect();
    let variables = strings.skip(count.saturating_sub(MAX_STRINGS)).take_while(|text| !text.is_empty());
    let environ: Vec<_> = variables.take(MAX_STRINGS).filter_map(variable).collect();
    Some(Started { command_line, environ: Some(environ).filter(|environ| !environ.is_empty()) })
}

fn variable(text: &[u8]) -> Option<(OsString, OsString)> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    Some((os_string(text.get(..equals)?), os_string(text.get(equals + 1..)?)))
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The directory in which a process with these variables has its socket.
pub(super) fn temporary_directory(environ: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, value) = environ.iter().find(|(name, _)| name == "TMPDIR")?;
    (!value.is_empty()).then(|| value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block as XNU lays it out (`sysctl_procargsx`).
    fn block(count: i32, rest: &str) -> Vec<u8> {
        [&count.to_ne_bytes()[..], rest.as_bytes()].concat()
    }

    fn pair(name: &str, value: &str) -> (OsString, OsString) {
        (name.into(), value.into())
    }

    #[test]
    fn arguments_and_variables_are_told_apart() {
        let started = parse(&block(
            3,
            "/usr/local/share/dotnet/dotnet\0\0\0\0\0\0dotnet\0app.dll\0\0TMPDIR=/var/folders/x/T/\0A=b=c\0EMPTY=\0\0\
             executable_path=/usr/local/share/dotnet/dotnet\0\0",
        ));
        let started = started.unwrap();
        assert_eq!(started.command_line, ["dotnet", "app.dll", ""]);
        let environ = started.environ.unwrap();
        assert_eq!(environ, [pair("TMPDIR", "/var/folders/x/T/"), pair("A", "b=c"), pair("EMPTY", "")]);
        assert_eq!(temporary_directory(&environ), Some("/var/folders/x/T/".into()));
    }

    #[test]
    fn variables_that_the_kernel_hides_are_unknown() {
        let hidden = parse(&block(1, "/bin/sleep\0\0\0sleep\0")).unwrap();
        assert_eq!(hidden, Started { command_line: vec!["sleep".into()], environ: None });
    }

    #[test]
    fn without_a_temporary_directory_none_is_made_up() {
        assert_eq!(temporary_directory(&[pair("HOME", "/x")]), None);
        assert_eq!(temporary_directory(&[pair("TMPDIR", "")]), None);
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for wrong in [&b""[..], b"\x01\0", &block(-1, "/a\0a\0"), &block(1, "/a"), &block(1, "/a\0\0\0")] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
        // It may claim more arguments than there are.
        let short = parse(&block(i32::MAX, "/a\0a\0b=c\0")).unwrap();
        assert!(short.command_line.len() <= 3 && short.environ.is_none(), "{short:?}");
    }
}
