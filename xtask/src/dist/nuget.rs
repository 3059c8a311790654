//! The packages of a .NET tool: one for each platform, and one that names them, for `dotnet tool install` of .NET 10.
//! Their format is that of tools that need no runtime (`Runner="executable"`).

use anyhow::Result;

use super::entry::{Entry, zip};
use super::release::{Artifact, DEPENDENCIES, HOME, LICENCE, NAME, Release, SUMMARY};

const SETTINGS: &str = "DotnetToolSettings.xml";

pub(super) fn make(release: &Release) -> Result<Vec<Artifact>> {
    let mut packages = Vec::new();
    let mut rids = String::new();
    for program in &release.programs {
        let rid = program.platform.name;
        let id = format!("{NAME}.{rid}");
        rids.push_str(&format!("    <RuntimeIdentifierPackage RuntimeIdentifier=\"{rid}\" Id=\"{id}\" />\n"));
        let file = program.platform.program;
        let command =
            format!("    <Command Name=\"{NAME}\" EntryPoint=\"{file}\" Runner=\"executable\" />\n");
        let files = vec![
            Entry::file(format!("tools/any/{rid}/{SETTINGS}"), settings(&command, "")),
            Entry::program(format!("tools/any/{rid}/{file}"), program.bytes.clone()),
        ];
        packages.push(package(release, &id, "DotnetToolRidPackage", files)?);
    }
    if rids.is_empty() {
        return Ok(packages);
    }
    let rids = format!("  <RuntimeIdentifierPackages>\n{rids}  </RuntimeIdentifierPackages>\n");
    let settings = settings(&format!("    <Command Name=\"{NAME}\" />\n"), &rids);
    let files = vec![Entry::file(format!("tools/any/any/{SETTINGS}"), settings)];
    packages.push(package(release, NAME, "DotnetTool", files)?);
    Ok(packages)
}

fn settings(commands: &str, rids: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<DotNetCliTool Version=\"2\">\n  <Commands>\n{commands}  \
         </Commands>\n{rids}</DotNetCliTool>\n"
    )
}

fn package(release: &Release, id: &str, kind: &str, files: Vec<Entry>) -> Result<Artifact> {
    let version = &release.version;
    let nuspec = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <package xmlns=\"http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd\">\n  <metadata>\n    \
         <id>{id}</id>\n    <version>{version}</version>\n    <authors>The gcwatch developers</authors>\n    \
         <license type=\"expression\">{LICENCE}</license>\n    <readme>README.md</readme>\n    \
         <projectUrl>{HOME}</projectUrl>\n    <description>{SUMMARY}</description>\n    <packageTypes>\n      \
         <packageType name=\"{kind}\" />\n    </packageTypes>\n  </metadata>\n</package>\n"
    );
    let relations = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\n  \
         <Relationship Type=\"http://schemas.microsoft.com/packaging/2010/07/manifest\" \
         Target=\"/{id}.nuspec\" Id=\"R1\" />\n</Relationships>\n"
    );
    let mut entries = vec![
        Entry::file("[Content_Types].xml", content_types(&files)),
        Entry::file("_rels/.rels", relations),
        Entry::file(format!("{id}.nuspec"), nuspec),
        Entry::file("README.md", release.document("README.md")?),
    ];
    for (name, text) in release.licences()? {
        let name = if name == DEPENDENCIES { name.to_owned() } else { format!("{name}.txt") };
        entries.push(Entry::file(name, text));
    }
    entries.extend(files);
    Ok(Artifact { path: format!("{id}.{version}.nupkg"), bytes: zip(&entries)? })
}

/// The type of each file, by extension, or by name where it has none.
fn content_types(files: &[Entry]) -> String {
    let mut types = String::new();
    for (extension, of) in [
        ("rels", "application/vnd.openxmlformats-package.relationships+xml"),
        ("nuspec", "application/octet"),
        ("md", "application/octet"),
        ("txt", "application/octet"),
        ("xml", "application/octet"),
        ("exe", "application/octet"),
    ] {
        types.push_str(&format!("  <Default Extension=\"{extension}\" ContentType=\"{of}\" />\n"));
    }
    for file in files.iter().filter(|file| file.path.ends_with("/gcwatch")) {
        types.push_str(&format!(
            "  <Override PartName=\"/{}\" ContentType=\"application/octet\" />\n",
            file.path
        ));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\n{types}</Types>\n"
    )
}
