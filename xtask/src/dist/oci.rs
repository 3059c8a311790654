//! An OCI image from scratch with the one file, for sidecars and debug containers: an image layout in a tar archive, with
//! an image for each Linux architecture.

use anyhow::Result;
use serde_json::{Value, json};

use super::entry::{Entry, gzip, tar};
use super::release::{Artifact, HOME, LICENCE, NAME, Release, SUMMARY, sha256};

pub(super) fn make(release: &Release) -> Result<Vec<Artifact>> {
    let mut blobs = Vec::new();
    let mut images = Vec::new();
    for program in &release.programs {
        let Some(linux) = &program.platform.linux else { continue };
        let layer = tar(vec![Entry::program(NAME, program.bytes.clone())], release.time)?;
        let config = json!({
            "architecture": linux.oci,
            "config": {"Entrypoint": [format!("/{NAME}")], "Labels": labels(release), "WorkingDir": "/"},
            "created": created(release)?,
            "history": [{"created": created(release)?, "created_by": NAME}],
            "os": "linux",
            "rootfs": {"diff_ids": [format!("sha256:{}", sha256(&layer))], "type": "layers"},
        });
        let config = blob(&mut blobs, CONFIG, config.to_string().into_bytes());
        let layer = blob(&mut blobs, LAYER, gzip(&layer)?);
        let manifest = json!({
            "annotations": labels(release),
            "config": config,
            "layers": [layer],
            "mediaType": MANIFEST,
            "schemaVersion": 2,
        });
        let mut manifest = blob(&mut blobs, MANIFEST, manifest.to_string().into_bytes());
        manifest["platform"] = json!({"architecture": linux.oci, "os": "linux"});
        images.push(manifest);
    }
    if images.is_empty() {
        return Ok(Vec::new());
    }
    let index = json!({"manifests": images, "mediaType": INDEX, "schemaVersion": 2});
    let mut index = blob(&mut blobs, INDEX, index.to_string().into_bytes());
    index["annotations"] = json!({
        "io.containerd.image.name": format!("{NAME}:{}", release.version),
        "org.opencontainers.image.ref.name": release.version,
    });
    let top = json!({"manifests": [index], "mediaType": INDEX, "schemaVersion": 2});
    blobs.push(Entry::file("index.json", top.to_string()));
    blobs.push(Entry::file("oci-layout", json!({"imageLayoutVersion": "1.0.0"}).to_string()));
    let path = format!("{NAME}-{}-oci.tar", release.version);
    Ok(vec![Artifact { path, bytes: tar(blobs, release.time)? }])
}

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Adds a blob, and returns its descriptor.
fn blob(blobs: &mut Vec<Entry>, media_type: &str, bytes: Vec<u8>) -> Value {
    let (digest, size) = (sha256(&bytes), bytes.len());
    blobs.push(Entry::file(format!("blobs/sha256/{digest}"), bytes));
    json!({"digest": format!("sha256:{digest}"), "mediaType": media_type, "size": size})
}

fn labels(release: &Release) -> Value {
    json!({
        "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.licenses": LICENCE,
        "org.opencontainers.image.title": NAME,
        "org.opencontainers.image.url": HOME,
        "org.opencontainers.image.version": release.version,
    })
}

fn created(release: &Release) -> Result<String> {
    Ok(jiff::Timestamp::from_second(release.time)?.to_string())
}
