//! The platforms that have packages, and what each kind of package calls them.

/// A platform, under all its names.
#[derive(Debug, PartialEq, Eq)]
pub struct Platform {
    /// Its name in .NET, and in the names of our archives.
    pub name: &'static str,
    /// Its name in Rust.
    pub triple: &'static str,
    /// The name of the program's file.
    pub program: &'static str,
    /// What the tags of Python wheels call it.
    pub(super) wheel: &'static str,
    /// What npm calls its operating system and processor.
    pub(super) npm: (&'static str, &'static str),
    /// What only Linux has.
    pub(super) linux: Option<Linux>,
}

/// The architecture's names on Linux.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Linux {
    pub(super) deb: &'static str,
    pub(super) rpm: &'static str,
    pub(super) oci: &'static str,
}

/// All platforms. The Linux programs are static: they run on every distribution.
pub const PLATFORMS: [Platform; 5] = [
    Platform {
        name: "linux-x64",
        triple: "x86_64-unknown-linux-musl",
        program: "gcwatch",
        wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
        npm: ("linux", "x64"),
        linux: Some(Linux { deb: "amd64", rpm: "x86_64", oci: "amd64" }),
    },
    Platform {
        name: "linux-arm64",
        triple: "aarch64-unknown-linux-musl",
        program: "gcwatch",
        wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        npm: ("linux", "arm64"),
        linux: Some(Linux { deb: "arm64", rpm: "aarch64", oci: "arm64" }),
    },
    Platform {
        name: "win-x64",
        triple: "x86_64-pc-windows-gnu",
        program: "gcwatch.exe",
        wheel: "win_amd64",
        npm: ("win32", "x64"),
        linux: None,
    },
    Platform {
        name: "osx-x64",
        triple: "x86_64-apple-darwin",
        program: "gcwatch",
        wheel: "macosx_12_0_x86_64",
        npm: ("darwin", "x64"),
        linux: None,
    },
    Platform {
        name: "osx-arm64",
        triple: "aarch64-apple-darwin",
        program: "gcwatch",
        wheel: "macosx_12_0_arm64",
        npm: ("darwin", "arm64"),
        linux: None,
    },
];

impl Platform {
    /// What npm calls its operating system and processor.
    pub fn npm(&self) -> (&'static str, &'static str) {
        self.npm
    }

    /// Whether a package is for this platform, by its file name.
    pub fn has(&self, package: &str) -> bool {
        let Self { name, wheel, npm: (os, cpu), linux, .. } = self;
        let mut parts =
            vec![format!("-{name}."), format!(".{name}."), format!("-{wheel}."), format!("-{os}-{cpu}-")];
        if let Some(Linux { deb, rpm, .. }) = linux {
            parts.extend([format!("_{deb}.deb"), format!(".{rpm}.rpm")]);
        }
        parts.iter().any(|part| package.contains(part))
    }
}
