//! npm packages: one for each platform with the program, and one that starts the program of the platform at hand.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::entry::{Entry, tar_gz};
use super::release::{Artifact, HOME, LICENCE, NAME, Release, SUMMARY};

pub(super) fn make(release: &Release) -> Result<Vec<Artifact>> {
    let mut packages = Vec::new();
    let mut platforms = Map::new();
    for program in &release.programs {
        let (os, cpu) = program.platform.npm;
        let name = format!("{NAME}-{os}-{cpu}");
        let mut manifest = manifest(release, &name);
        manifest["os"] = json!([os]);
        manifest["cpu"] = json!([cpu]);
        let file = Entry::program(format!("package/{}", program.platform.program), program.bytes.clone());
        packages.push(package(release, &name, &manifest, file)?);
        platforms.insert(name, json!(release.version));
    }
    if platforms.is_empty() {
        return Ok(packages);
    }
    let mut manifest = manifest(release, NAME);
    manifest["bin"] = json!({NAME: "gcwatch.js"});
    manifest["engines"] = json!({"node": ">=16"});
    // npm installs the one whose `os` and `cpu` fit.
    manifest["optionalDependencies"] = Value::Object(platforms);
    let launcher = Entry::program("package/gcwatch.js", include_str!("launcher.js"));
    packages.push(package(release, NAME, &manifest, launcher)?);
    Ok(packages)
}

fn manifest(release: &Release, name: &str) -> Value {
    json!({
        "name": name,
        "version": release.version,
        "description": SUMMARY,
        "homepage": HOME,
        "license": LICENCE,
    })
}

fn package(release: &Release, name: &str, manifest: &Value, file: Entry) -> Result<Artifact> {
    let text = serde_json::to_string_pretty(manifest)? + "\n";
    let mut entries = vec![
        file,
        Entry::file("package/README.md", release.document("README.md")?),
        Entry::file("package/package.json", text),
    ];
    for (name, text) in release.licences()? {
        entries.push(Entry::file(format!("package/{name}"), text));
    }
    Ok(Artifact { path: format!("{name}-{}.tgz", release.version), bytes: tar_gz(entries, release.time)? })
}
