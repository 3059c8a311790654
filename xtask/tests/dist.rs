//! Checks the packages that are made from made-up programs: `cargo xtask dist --check` tries the real ones.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use xtask::dist::{
    self, Artifact, Artifacts, DOCUMENTS, Dependency, LicenceFile, PLATFORMS, Program, Release,
};

/// A release for the platforms that `wanted` accepts.
fn release(wanted: impl Fn(&str) -> bool) -> Release {
    let program = |platform: &'static xtask::dist::Platform| Program {
        platform,
        bytes: format!("the program of {}\n", platform.name).repeat(5000).into_bytes(),
    };
    let dependency = |name: &str, text: &str| Dependency {
        name: name.to_owned(),
        version: "1.2.3".to_owned(),
        licence: "MIT".to_owned(),
        needs: Vec::new(),
        foreign: true,
        files: vec![LicenceFile { name: "LICENSE".to_owned(), text: text.to_owned() }],
    };
    Release {
        version: "9.8.7".to_owned(),
        time: 1_700_000_000,
        programs: PLATFORMS.iter().filter(|platform| wanted(platform.name)).map(program).collect(),
        documents: DOCUMENTS.map(|path| (path.to_owned(), format!("# {path}\n").into_bytes())).into(),
        dependencies: vec![dependency("one", "the text"), dependency("two", "the text\n")],
    }
}

fn made(wanted: impl Fn(&str) -> bool) -> Artifacts {
    dist::make(&release(wanted)).expect("packages")
}

fn find<'a>(artifacts: &'a Artifacts, path: &str) -> &'a Artifact {
    let known: Vec<&str> = artifacts.files.iter().map(|file| file.path.as_str()).collect();
    artifacts
        .files
        .iter()
        .find(|file| file.path == path)
        .unwrap_or_else(|| panic!("{path} is not in {known:?}"))
}

#[test]
fn equal_programs_make_equal_packages() {
    let first = made(|_| true);
    // The clocks of all formats go on by one at least; the coarsest, that of zip, counts two seconds.
    thread::sleep(Duration::from_millis(2100));
    let second = made(|_| true);
    assert_eq!(first.files.len(), second.files.len());
    for (a, b) in first.files.iter().zip(&second.files) {
        assert_eq!(a.path, b.path);
        assert!(a.bytes == b.bytes, "{} differs", a.path);
    }
}

#[test]
fn the_time_is_that_of_the_release() {
    let early = made(|_| true);
    let late = Release { time: 1_800_000_000, ..release(|_| true) };
    let late = dist::make(&late).expect("packages");
    for path in ["gcwatch-9.8.7-linux-x64.tar.gz", "gcwatch_9.8.7_amd64.deb", "gcwatch-9.8.7-1.x86_64.rpm"] {
        assert!(find(&early, path).bytes != find(&late, path).bytes, "{path} has another time");
    }
}

#[test]
fn each_platform_has_its_packages() {
    let all = made(|_| true);
    assert_eq!(all.skipped, Vec::<String>::new());
    for platform in &PLATFORMS {
        let of: Vec<&str> =
            all.files.iter().map(|file| file.path.as_str()).filter(|path| platform.has(path)).collect();
        // An archive, a .NET tool, a wheel, an npm package; on Linux also a deb and an rpm.
        let expected = if platform.name.starts_with("linux") { 6 } else { 4 };
        assert_eq!(of.len(), expected, "{}: {of:?}", platform.name);
    }
    let of_platforms =
        |file: &&Artifact| PLATFORMS.iter().filter(|platform| platform.has(&file.path)).count();
    assert!(all.files.iter().all(|file| of_platforms(&file) < 2), "a package for two platforms");
    let others: BTreeSet<&str> =
        all.files.iter().filter(|file| of_platforms(file) == 0).map(|file| file.path.as_str()).collect();
    let expected = [
        "SHA256SUMS",
        "gcwatch-9.8.7-oci.tar",
        "gcwatch-9.8.7.cdx.json",
        "gcwatch-9.8.7.tgz",
        "gcwatch.9.8.7.nupkg",
        "homebrew/gcwatch.rb",
        "scoop/gcwatch.json",
        "winget/Gcwatch.Gcwatch.installer.yaml",
        "winget/Gcwatch.Gcwatch.locale.en-US.yaml",
        "winget/Gcwatch.Gcwatch.yaml",
    ];
    assert_eq!(others, expected.into());
}

#[test]
fn what_cannot_be_made_is_said() {
    let linux = made(|name| name == "linux-x64");
    assert_eq!(linux.skipped.len(), 2, "{:?}", linux.skipped);
    assert!(linux.files.iter().all(|file| !file.path.contains('/')), "a manifest without its archive");
    let none = made(|_| false);
    let left: Vec<&str> = none.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(left, ["gcwatch-9.8.7.cdx.json", "SHA256SUMS"]);
}

#[test]
fn manifests_have_the_hashes_of_the_archives() {
    let all = made(|_| true);
    let sums = String::from_utf8(find(&all, "SHA256SUMS").bytes.clone()).expect("text");
    let sum = |path: &str| {
        let line = sums.lines().find(|line| line.ends_with(&format!("  {path}"))).expect("a sum");
        line.split(' ').next().expect("a sum").to_owned()
    };
    let formula = String::from_utf8_lossy(&find(&all, "homebrew/gcwatch.rb").bytes).into_owned();
    for platform in ["linux-x64", "linux-arm64", "osx-x64", "osx-arm64"] {
        let archive = format!("gcwatch-9.8.7-{platform}.tar.gz");
        let lines = format!("/{archive}\"\n      sha256 \"{}\"\n", sum(&archive));
        assert!(formula.contains(&lines), "{lines}\n{formula}");
    }
    let windows = sum("gcwatch-9.8.7-win-x64.zip");
    let scoop = String::from_utf8_lossy(&find(&all, "scoop/gcwatch.json").bytes).into_owned();
    assert!(scoop.contains(&windows), "{scoop}");
    let winget =
        String::from_utf8_lossy(&find(&all, "winget/Gcwatch.Gcwatch.installer.yaml").bytes).into_owned();
    assert!(winget.contains(&windows.to_uppercase()), "{winget}");
    assert_eq!(sums.lines().count(), all.files.len() - 1);
}

#[test]
fn equal_licences_are_there_once() {
    let wanted = |name: &str| name == "linux-x64";
    let text = |release: &Release| {
        let files = dist::make(release).expect("packages").files;
        let archive = files.iter().find(|file| file.path.ends_with("linux-x64.tar.gz")).expect("an archive");
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(archive.bytes.as_slice()));
        let mut entries = tar.entries().expect("entries").map(|entry| entry.expect("an entry"));
        let mut file = entries
            .find(|entry| entry.path().expect("a path").ends_with("LICENSES-OF-DEPENDENCIES.txt"))
            .expect("the licences");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut file, &mut text).expect("text");
        text
    };
    let said = text(&release(wanted));
    assert!(said.contains("one 1.2.3: MIT\ntwo 1.2.3: MIT\n"), "{said}");
    assert!(said.ends_with("one 1.2.3 (LICENSE)\ntwo 1.2.3 (LICENSE):\n\nthe text\n"), "{said}");
}
