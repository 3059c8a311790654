//! The list of what is compiled in, in the format CycloneDX 1.5. It covers all platforms.

use anyhow::Result;
use serde_json::{Value, json};

use super::licences::Dependency;
use super::release::{Artifact, LICENCE, NAME, Release};

pub(super) fn make(release: &Release) -> Result<Artifact> {
    let root = reference(NAME, &release.version);
    let component = |dependency: &Dependency| {
        json!({
            "type": "library",
            "bom-ref": reference(&dependency.name, &dependency.version),
            "name": dependency.name,
            "version": dependency.version,
            "purl": reference(&dependency.name, &dependency.version),
            "licenses": [{"expression": dependency.licence}],
        })
    };
    let needs = |dependency: &Dependency| {
        let mut needs: Vec<String> =
            dependency.needs.iter().map(|(name, version)| reference(name, version)).collect();
        needs.sort();
        json!({"ref": reference(&dependency.name, &dependency.version), "dependsOn": needs})
    };
    let libraries = release.dependencies.iter().filter(|dependency| dependency.name != NAME);
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": jiff::Timestamp::from_second(release.time)?.to_string(),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": NAME,
                "version": release.version,
                "purl": root,
                "licenses": [{"expression": LICENCE}],
            },
        },
        "components": libraries.map(component).collect::<Vec<Value>>(),
        "dependencies": release.dependencies.iter().map(needs).collect::<Vec<Value>>(),
    });
    let path = format!("{NAME}-{}.cdx.json", release.version);
    Ok(Artifact { path, bytes: (serde_json::to_string_pretty(&bom)? + "\n").into_bytes() })
}

fn reference(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}
