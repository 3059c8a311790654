//! What package managers need to know to install the archives: a Homebrew formula, a manifest for Scoop, and the three
//! files for winget. Each needs the archives that it names.

use serde_json::json;

use super::release::{Artifact, HOME, LICENCE, NAME, Release, SUMMARY, sha256};

/// An archive under its address.
struct Download {
    url: String,
    sha256: String,
    /// The folder in the archive.
    folder: String,
}

/// The manifests that can be made, and why the others cannot.
pub(super) fn make(release: &Release, archives: &[Artifact]) -> (Vec<Artifact>, Vec<String>) {
    let (mut made, mut skipped) = (Vec::new(), Vec::new());
    let download = |platform: &str| {
        let folder = format!("{NAME}-{}-{platform}", release.version);
        let archive = archives
            .iter()
            .find(|archive| archive.path.strip_prefix(&folder).is_some_and(|rest| rest.starts_with('.')))?;
        let url = format!("{HOME}/releases/download/v{}/{}", release.version, archive.path);
        Some(Download { url, sha256: sha256(&archive.bytes), folder })
    };
    let unix = ["osx-arm64", "osx-x64", "linux-arm64", "linux-x64"].map(download);
    match unix {
        [Some(mac_arm), Some(mac), Some(linux_arm), Some(linux)] => {
            let text = homebrew(release, [mac_arm, mac, linux_arm, linux]);
            made.push(Artifact { path: "homebrew/gcwatch.rb".to_owned(), bytes: text.into_bytes() });
        }
        _ => {
            skipped.push("homebrew: it needs the archives of both macOS and both Linux platforms".to_owned())
        }
    }
    match download("win-x64") {
        Some(windows) => made.extend(scoop(release, &windows).into_iter().chain(winget(release, &windows))),
        None => skipped.push("scoop, winget: they need the archive of win-x64".to_owned()),
    }
    (made, skipped)
}

fn homebrew(release: &Release, downloads: [Download; 4]) -> String {
    let [mac_arm, mac, linux_arm, linux] = downloads
        .map(|Download { url, sha256, .. }| format!("      url \"{url}\"\n      sha256 \"{sha256}\"\n"));
    format!(
        r##"class Gcwatch < Formula
  desc "{SUMMARY}"
  homepage "{HOME}"
  version "{}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
{mac_arm}    end
    on_intel do
{mac}    end
  end
  on_linux do
    on_arm do
{linux_arm}    end
    on_intel do
{linux}    end
  end

  def install
    bin.install "gcwatch"
    man1.install "gcwatch.1"
    bash_completion.install "completions/gcwatch.bash" => "gcwatch"
    fish_completion.install "completions/gcwatch.fish"
    zsh_completion.install "completions/_gcwatch"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/gcwatch --version")
  end
end
"##,
        release.version
    )
}

fn scoop(release: &Release, windows: &Download) -> Option<Artifact> {
    let manifest = json!({
        "version": release.version,
        "description": SUMMARY,
        "homepage": HOME,
        "license": LICENCE.replace(" OR ", "|"),
        "architecture": {"64bit": {
            "url": windows.url,
            "hash": windows.sha256,
            "extract_dir": windows.folder,
        }},
        "bin": "gcwatch.exe",
    });
    let text = serde_json::to_string_pretty(&manifest).ok()? + "\n";
    Some(Artifact { path: "scoop/gcwatch.json".to_owned(), bytes: text.into_bytes() })
}

fn winget(release: &Release, windows: &Download) -> [Artifact; 3] {
    const ID: &str = "Gcwatch.Gcwatch";
    let file = |suffix: &str, kind: &str, body: String| {
        let text = format!(
            "PackageIdentifier: {ID}\nPackageVersion: {}\n{body}ManifestType: {kind}\nManifestVersion: 1.6.0\n",
            release.version
        );
        Artifact { path: format!("winget/{ID}{suffix}.yaml"), bytes: text.into_bytes() }
    };
    let installer = format!(
        "InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n- RelativeFilePath: \
         {}\\gcwatch.exe\n  PortableCommandAlias: gcwatch\nInstallers:\n- Architecture: x64\n  InstallerUrl: \
         {}\n  InstallerSha256: {}\n",
        windows.folder,
        windows.url,
        windows.sha256.to_uppercase()
    );
    let locale = format!(
        "PackageLocale: en-US\nPublisher: The gcwatch developers\nPackageName: {NAME}\nPackageUrl: {HOME}\nLicense: \
         {LICENCE}\nShortDescription: {SUMMARY}\n"
    );
    [
        file("", "version", "DefaultLocale: en-US\n".to_owned()),
        file(".installer", "installer", installer),
        file(".locale.en-US", "defaultLocale", locale),
    ]
}
