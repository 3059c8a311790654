//! How the program ended, in words.

/// What ended a program that did not end well; `None`: it ended well, or gcwatch did not see it.
pub(super) fn told(code: Option<i32>) -> Option<String> {
    let code = code.filter(|&code| code != 0)?;
    Some(match meaning(code) {
        Some(meaning) => format!("ended with exit code {}: {meaning}", shown(code)),
        None => format!("ended with exit code {}", shown(code)),
    })
}

/// Codes of Windows are known by their hexadecimal digits.
fn shown(code: i32) -> String {
    if (0..=0xFFFF).contains(&code) { code.to_string() } else { format!("{code:#010X}") }
}

fn meaning(code: i32) -> Option<&'static str> {
    // The codes of Windows are unsigned: NTSTATUS, HRESULT and the code of .NET's exceptions.
    Some(match code as u32 {
        130 => "SIGINT (Ctrl-C)",
        132 => "SIGILL, an invalid instruction",
        134 => "SIGABRT, as a rule an unhandled exception or Environment.FailFast",
        135 => "SIGBUS, a crash in native code",
        136 => "SIGFPE, a crash in native code",
        137 => "SIGKILL; out of memory, or somebody killed it",
        139 => "SIGSEGV, a crash in native code or a stack overflow",
        143 => "SIGTERM",
        0xC000_0005 => "an access violation, a crash in native code",
        0xC000_00FD => "a stack overflow",
        0xC000_013A => "Ctrl-C",
        0xC000_0409 | 0xC000_0602 | 0x8013_1623 => "Environment.FailFast",
        0xE043_4352 => "an unhandled exception",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_are_named() {
        assert_eq!((told(None), told(Some(0))), (None, None));
        assert_eq!(told(Some(3)).as_deref(), Some("ended with exit code 3"));
        assert_eq!(told(Some(143)).as_deref(), Some("ended with exit code 143: SIGTERM"));
        let unhandled = told(Some(0xE043_4352_u32 as i32));
        assert_eq!(unhandled.as_deref(), Some("ended with exit code 0xE0434352: an unhandled exception"));
    }
}
