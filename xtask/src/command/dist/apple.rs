//! Signs what runs on macOS: ad hoc, that is with hashes of the pages only. Apple silicon runs nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use arwen_codesign::{AdhocSignOptions, adhoc_sign};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Builds the profiler library with a Cargo command that lacks the package only, and signs it: gcwatch embeds it.
pub(super) fn library(cargo: &mut Command, directory: &Path) -> Result<PathBuf> {
    cargo.args(["--package", "netcore-profiler", "--lib", "--message-format", "json"]);
    let built = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(built.status.success(), "the profiler library does not build");
    let said = String::from_utf8_lossy(&built.stdout).into_owned();
    let library = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .flat_map(|message| message["env"].as_array().cloned().unwrap_or_default())
        .find(|pair| pair[0] == "NETCORE_PROFILER_LIBRARY")
        .and_then(|pair| pair[1].as_str().map(PathBuf::from))
        .context("cargo did not say where the library is")?;
    let path = directory.join("libnetcore_profiler.dylib");
    fs::write(&path, signed(fs::read(library)?, "netcore_profiler")?)?;
    Ok(path)
}

/// The same file with a signature.
pub(super) fn signed(bytes: Vec<u8>, name: &str) -> Result<Vec<u8>> {
    let bytes = with_room(bytes).with_context(|| format!("{name} has no room for a signature"))?;
    adhoc_sign(bytes, &AdhocSignOptions::new(name))
        .map_err(|error| anyhow!("{name} cannot be signed: {error}"))
}

/// Adds the load command of an empty signature to a file that has none, which is what the linker makes for Intel.
fn with_room(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    const HEADER: usize = 32;
    const SIGNATURE: u32 = 0x1d;
    const COMMAND: u32 = 16;
    const UUID: u32 = 0x1b;
    let number = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let (count, size) = (number(&bytes, 16)?, number(&bytes, 20)?);
    let (mut at, mut uuid) = (HEADER, None);
    for _ in 0..count {
        match number(&bytes, at)? {
            UUID => uuid = Some(at + 8),
            SIGNATURE => {
                let start = usize::try_from(number(&bytes, at + 8)?).ok()?;
                identify(bytes.get_mut(..start)?, uuid)?;
                return Some(bytes);
            }
            _ => {}
        }
        at += usize::try_from(number(&bytes, at + 4)?).ok()?;
    }
    identify(&mut bytes, uuid)?;
    // The linker leaves zeros behind the commands. The signature comes last in the file.
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let command = [SIGNATURE, COMMAND, u32::try_from(bytes.len()).ok()?, 0];
    let free = bytes.get(at..at + 16).is_some_and(|room| room.iter().all(|byte| *byte == 0));
    for (place, value) in (at..).step_by(4).zip(command) {
        bytes.get_mut(place..place + 4)?.copy_from_slice(&value.to_le_bytes());
    }
    bytes[16..20].copy_from_slice(&(count + 1).to_le_bytes());
    bytes[20..24].copy_from_slice(&(size + COMMAND).to_le_bytes());
    free.then_some(bytes)
}

/// Makes the identifier of a file from the rest of it: the linker's depends on where it has linked.
fn identify(bytes: &mut [u8], at: Option<usize>) -> Option<()> {
    let Some(at) = at else { return Some(()) };
    bytes.get_mut(at..at + 16)?.fill(0);
    let hash = Sha256::digest(&*bytes);
    bytes.get_mut(at..at + 16)?.copy_from_slice(hash.get(..16)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with one command of 24 bytes, and `rest` behind it.
    fn file(command: u32, rest: &[u8]) -> Vec<u8> {
        let header = [0xfeed_facf, 0, 0, 2, 1, 24, 0, 0, command, 24, 0, 0, 0, 0];
        let header = header.iter().flat_map(|word: &u32| word.to_le_bytes());
        header.chain(rest.iter().copied()).collect()
    }

    #[test]
    fn room_is_made_behind_the_commands() {
        let with = with_room(file(0x19, &[0; 17])).expect("room");
        assert_eq!(with.len(), 80);
        let words: Vec<u32> =
            with.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("a word"))).collect();
        assert_eq!((words[4], words[5]), (2, 40), "number and size of the commands");
        assert_eq!(words[14..18], [0x1d, 16, 80, 0]);
    }

    #[test]
    fn the_identifier_depends_on_the_rest_only() {
        let made = |uuid: u8, last: u8| {
            let mut file = file(0x1b, &[0; 32]);
            file[40..56].fill(uuid);
            file.push(last);
            with_room(file).expect("room")
        };
        assert_eq!(made(1, 0), made(2, 0));
        assert_ne!(made(1, 0)[40..56], made(1, 1)[40..56]);
    }

    #[test]
    fn a_file_without_room_and_a_signed_one_are_left_alone() {
        assert_eq!(with_room(file(0x19, &[0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(with_room(vec![0; 20]), None);
        let signed = file(0x1d, &[]);
        assert_eq!(with_room(signed.clone()), Some(signed));
    }
}
