//! The exit code of a comparison.

use crate::assertion::ChangeVerdict;
use crate::exit::Code;

/// The exit code from the verdicts.
pub(super) fn of(judged: &[ChangeVerdict]) -> Code {
    if judged.iter().any(|judged| judged.fails == Some(true)) {
        Code::BROKEN
    } else if judged.iter().any(|judged| judged.fails.is_none()) {
        Code::INCOMPLETE
    } else {
        Code::OK
    }
}
