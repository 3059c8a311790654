//! Makes the packages of a release from its programs. Nothing here reads a clock, a file or the environment: equal input
//! gives equal bytes.

mod archive;
mod deb;
mod entry;
mod licences;
mod manifests;
mod npm;
mod nuget;
mod oci;
mod platform;
mod release;
mod rpm;
mod sbom;
mod sums;
mod wheel;

use anyhow::Result;

pub use licences::{Dependency, LicenceFile};
pub use platform::{PLATFORMS, Platform};
pub use release::{Artifact, Artifacts, DOCUMENTS, Program, Release};

/// Makes all packages.
///
/// # Errors
/// If a document is missing, or a package cannot be written.
pub fn make(release: &Release) -> Result<Artifacts> {
    let mut files = archive::make(release)?;
    let (manifests, skipped) = manifests::make(release, &files);
    files.extend(manifests);
    files.extend(deb::make(release)?);
    files.extend(rpm::make(release)?);
    files.extend(oci::make(release)?);
    files.extend(nuget::make(release)?);
    files.extend(wheel::make(release)?);
    files.extend(npm::make(release)?);
    files.push(sbom::make(release)?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.push(sums::make(&files));
    Ok(Artifacts { files, skipped })
}
