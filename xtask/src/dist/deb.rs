//! Packages for Debian and Ubuntu.

use anyhow::Result;

use super::entry::{Entry, gzip, tar_gz};
use super::platform::Linux;
use super::release::{Artifact, DEPENDENCIES, HOME, MAINTAINER, NAME, Release, SUMMARY};

pub(super) fn make(release: &Release) -> Result<Vec<Artifact>> {
    let mut packages = Vec::new();
    for program in &release.programs {
        let Some(linux) = &program.platform.linux else { continue };
        let files = files(release, &program.bytes, "vendor-completions")?;
        let kib = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum::<usize>();
        let control = Entry::file("./control", control(release, linux, kib));
        let dotted = |file: Entry| Entry { path: format!("./{}", file.path), ..file };
        let files = files.into_iter().map(dotted).collect();
        packages.push(Artifact {
            path: format!("{NAME}_{}_{}.deb", release.version, linux.deb),
            bytes: ar(
                release.time,
                &[
                    ("debian-binary", b"2.0\n".to_vec()),
                    ("control.tar.gz", tar_gz(vec![control], release.time)?),
                    ("data.tar.gz", tar_gz(files, release.time)?),
                ],
            )?,
        });
    }
    Ok(packages)
}

/// What the package installs. Only the folder for zsh differs between the families of distributions.
pub(super) fn files(release: &Release, program: &[u8], zsh: &str) -> Result<Vec<Entry>> {
    let document = |path: &str| release.document(path).map(<[u8]>::to_vec);
    let mut files = vec![
        Entry::program(format!("usr/bin/{NAME}"), program),
        Entry::file("usr/share/bash-completion/completions/gcwatch", document("completions/gcwatch.bash")?),
        Entry::file(
            "usr/share/fish/vendor_completions.d/gcwatch.fish",
            document("completions/gcwatch.fish")?,
        ),
        Entry::file("usr/share/man/man1/gcwatch.1.gz", gzip(release.document("docs/gcwatch.1")?)?),
        Entry::file(format!("usr/share/zsh/{zsh}/_gcwatch"), document("completions/_gcwatch")?),
        Entry::file(format!("usr/share/doc/{NAME}/README.md"), document("README.md")?),
        Entry::file(format!("usr/share/doc/{NAME}/changelog.gz"), gzip(release.document("CHANGELOG.md")?)?),
        Entry::file(format!("usr/share/doc/{NAME}/copyright"), copyright()),
    ];
    for (name, text) in release.licences()? {
        files.push(Entry::file(format!("usr/share/doc/{NAME}/{name}"), text));
    }
    Ok(files)
}

fn control(release: &Release, linux: &Linux, kib: usize) -> String {
    format!(
        "Package: {NAME}\nVersion: {}\nArchitecture: {}\nMaintainer: {MAINTAINER}\nInstalled-Size: {kib}\n\
         Section: devel\nPriority: optional\nHomepage: {HOME}\nDescription: {SUMMARY}\n \
         What moved, what survived, which roots held it, and what it cost: live in the\n \
         terminal, or as JSON. It needs no .NET SDK and no change to the application.\n",
        release.version, linux.deb
    )
}

/// Names the licences in the format of Debian.
fn copyright() -> String {
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: {NAME}\n\
         Source: {HOME}\n\nFiles: *\nCopyright: 2026 the gcwatch developers\nLicense: MIT or Apache-2.0\n \
         The files LICENSE-MIT and LICENSE-APACHE beside this one hold both licences, the file\n \
         {} those of the libraries that are compiled in.\n",
        DEPENDENCIES
    )
}

fn ar(time: i64, members: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut archive = ::ar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = ::ar::Header::new(name.as_bytes().to_vec(), u64::try_from(bytes.len())?);
        header.set_mtime(u64::try_from(time)?);
        header.set_mode(0o100_644);
        archive.append(&header, bytes.as_slice())?;
    }
    Ok(archive.into_inner()?)
}
