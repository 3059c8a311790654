//! Packages for Fedora, RHEL and SUSE.

use anyhow::Result;
use rpm::{BuildConfig, CompressionType, FileOptions, PackageBuilder};

use super::deb;
use super::release::{Artifact, HOME, LICENCE, NAME, Release, SUMMARY};

pub(super) fn make(release: &Release) -> Result<Vec<Artifact>> {
    let mut packages = Vec::new();
    for program in &release.programs {
        let Some(linux) = &program.platform.linux else { continue };
        let mut package = PackageBuilder::new(NAME, &release.version, LICENCE, linux.rpm, SUMMARY);
        // Every rpm reads gzip.
        let config = BuildConfig::v4().compression(CompressionType::Gzip);
        package.using_config(config.source_date(u32::try_from(release.time)?));
        package.url(HOME).description(SUMMARY).build_host("gcwatch.invalid");
        for file in deb::files(release, &program.bytes, "site-functions")? {
            let mode = u16::try_from(file.mode())?;
            let options = FileOptions::new(format!("/{}", file.path)).permissions(mode);
            package.with_file_contents(file.bytes, options)?;
        }
        let mut bytes = Vec::new();
        package.build()?.write(&mut bytes)?;
        let path = format!("{NAME}-{}-1.{}.rpm", release.version, linux.rpm);
        packages.push(Artifact { path, bytes });
    }
    Ok(packages)
}
