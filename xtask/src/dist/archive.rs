//! The archive of each platform: the program, completions, the manual page, licences.

use anyhow::Result;

use super::entry::{Entry, tar_gz, zip};
use super::release::{Artifact, DEPENDENCIES, Release};

pub(super) fn make(release: &Release) -> Result<Vec<Artifact>> {
    let mut archives = Vec::new();
    for program in &release.programs {
        let stem = release.stem(program.platform);
        let mut entries =
            vec![Entry::program(format!("{stem}/{}", program.platform.program), program.bytes.clone())];
        for (path, bytes) in &release.documents {
            // The manual page lies beside the program, where package managers expect it.
            let path = path.strip_prefix("docs/").unwrap_or(path);
            entries.push(Entry::file(format!("{stem}/{path}"), bytes.clone()));
        }
        let licences = release.licences()?.into_iter().filter(|(name, _)| *name == DEPENDENCIES);
        entries.extend(licences.map(|(name, text)| Entry::file(format!("{stem}/{name}"), text)));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        archives.push(match program.platform.program.ends_with(".exe") {
            true => Artifact { path: format!("{stem}.zip"), bytes: zip(&entries)? },
            false => Artifact { path: format!("{stem}.tar.gz"), bytes: tar_gz(entries, release.time)? },
        });
    }
    Ok(archives)
}
