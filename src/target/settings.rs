//! Reads a target's GC settings before its first event, from its environment or else its `runtimeconfig.json`.

use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::process::ProcessStatus;
use serde_json::Value;

use crate::gc::facts::GcSettings;
use crate::sys;

/// The settings from environment and file; unknown if gcwatch cannot read them.
pub(crate) fn gc_settings(facts: Option<&ProcessStatus>) -> GcSettings {
    let Some(facts) = facts else { return GcSettings::default() };
    let config = runtime_config(facts);
    let setting = |variable: &str, property: &str| {
        from_environment(facts, variable)
            .map(|v| (v, "environment"))
            .or_else(|| config.as_ref()?.pointer(property).and_then(as_bool).map(|v| (v, "runtimeconfig")))
    };
    let properties = "/runtimeOptions/configProperties/System.GC.";
    let server = setting("gcServer", &format!("{properties}Server"));
    let concurrent = setting("gcConcurrent", &format!("{properties}Concurrent"));
    // If gcwatch could read the file or the environment, what neither sets has its default; otherwise it is unknown.
    let known = config.is_some() || facts.environ.is_some();
    let default = |value| known.then_some(value);
    GcSettings {
        server: server.map(|s| s.0).or(default(false)),
        concurrent: concurrent.map(|c| c.0).or(default(true)),
        heaps: None,
        regions: regions(facts, config.as_ref()),
        source: server.or(concurrent).map(|s| s.1).or(known.then_some("defaults")),
    }
}

/// A GC setting from the environment, which is a hexadecimal number.
fn from_environment(facts: &ProcessStatus, name: &str) -> Option<bool> {
    ["DOTNET_", "COMPlus_"].iter().find_map(|prefix| {
        let value = facts.variable(&format!("{prefix}{name}"))?.to_str()?.trim();
        u64::from_str_radix(value.trim_start_matches("0x"), 16).ok().map(|n| n != 0)
    })
}

fn as_bool(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_str()?.to_ascii_lowercase().parse().ok())
}

/// A `runtimeconfig.json` usually has a few hundred bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Reads `app.runtimeconfig.json` beside `app.dll`, or beside the executable `app`.
fn runtime_config(facts: &ProcessStatus) -> Option<Value> {
    let args = facts.command_line.as_ref()?;
    let app = args.iter().map(Path::new).find(|a| a.extension().is_some_and(|e| e == "dll"));
    let app: PathBuf = app.map(Path::to_owned).or_else(|| facts.executable.clone())?;
    let text = sys::read_of(facts.pid, app.with_extension("runtimeconfig.json"), MAX_CONFIG_BYTES).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Whether the GC uses regions: since .NET 7, on 64 bits, except in `libclrgc`, which still uses segments. Unknown for
/// a GC that is not part of .NET.
fn regions(facts: &ProcessStatus, config: Option<&Value>) -> Option<bool> {
    let major: u32 = facts.runtime_version()?.split('.').next()?.parse().ok()?;
    if major < 7 {
        return Some(false);
    }
    match standalone_gc(facts, config)?.as_str() {
        "" => cfg!(target_pointer_width = "64").then_some(true),
        "clrgc" => Some(false),
        "clrgcexp" => Some(true),
        _ => None,
    }
}

/// The name of the target's standalone GC, without prefix and suffix; empty for the runtime's built-in GC. `None` if
/// gcwatch cannot read the environment.
fn standalone_gc(facts: &ProcessStatus, config: Option<&Value>) -> Option<String> {
    facts.environ.as_ref()?;
    let variable = |name: &str| {
        ["DOTNET_", "COMPlus_"].iter().find_map(|p| facts.variable(&format!("{p}{name}"))?.to_str())
    };
    let property =
        |name: &str| config?.pointer(&format!("/runtimeOptions/configProperties/System.GC.{name}"))?.as_str();
    let setting = |name: &str| variable(name).or_else(|| property(name)).filter(|value| !value.is_empty());
    let Some(file) = setting("GCPath")
        .or_else(|| property("Path"))
        .or_else(|| setting("GCName"))
        .or_else(|| property("Name"))
    else {
        return Some(String::new());
    };
    let stem = Path::new(file).file_stem()?.to_str()?;
    Some(stem.strip_prefix("lib").unwrap_or(stem).to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_are_read_from_a_file_of_limited_size() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let app = dir.path().join("app.dll");
        let mut facts = ProcessStatus::default();
        facts.pid = std::process::id();
        facts.command_line = Some(vec!["dotnet".into(), app.clone().into()]);
        let config = app.with_extension("runtimeconfig.json");
        fs::write(&config, r#"{"runtimeOptions":{"configProperties":{"System.GC.Server":true}}}"#)?;
        assert_eq!(gc_settings(Some(&facts)).server, Some(true));
        fs::write(&config, " ".repeat(MAX_CONFIG_BYTES as usize) + "{}")?;
        assert_eq!(gc_settings(Some(&facts)).server, None);
        Ok(())
    }
}
