//! Environment variables of a variant, and the properties of `runtimeconfig.json` that set the same.

use std::str::FromStr;

/// How the runtime reads a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// True or false.
    Switch,
    /// A number, hexadecimal in a variable and decimal in a file.
    Number,
}

/// A setting of the GC that has been tried on real runtimes.
#[derive(Debug)]
struct Setting {
    /// The variable's name behind its prefix.
    name: &'static str,
    /// `None`: the runtime obeys no property (`System.GC.Gen0Size` is ignored by 8, 9 and 10).
    property: Option<&'static str>,
    kind: Kind,
}

const fn setting(name: &'static str, property: Option<&'static str>, kind: Kind) -> Setting {
    Setting { name, property, kind }
}

const SETTINGS: [Setting; 8] = [
    setting("gcServer", Some("System.GC.Server"), Kind::Switch),
    setting("gcConcurrent", Some("System.GC.Concurrent"), Kind::Switch),
    setting("GCRetainVM", Some("System.GC.RetainVM"), Kind::Switch),
    setting("GCConserveMemory", Some("System.GC.ConserveMemory"), Kind::Number),
    setting("GCDynamicAdaptationMode", Some("System.GC.DynamicAdaptationMode"), Kind::Number),
    setting("GCHeapCount", Some("System.GC.HeapCount"), Kind::Number),
    setting("GCHeapHardLimit", Some("System.GC.HeapHardLimit"), Kind::Number),
    setting("GCgen0size", None, Kind::Number),
];

const PREFIXES: [&str; 2] = ["DOTNET_", "COMPlus_"];

/// The variables that a variant sets in the environment of its program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variables(pub(crate) Vec<(String, String)>);

impl Variables {
    /// Variables of the runtime, by their names behind `DOTNET_`.
    pub(super) fn of(settings: &[(&str, &str)]) -> Variables {
        Variables(
            settings.iter().map(|(name, value)| (format!("DOTNET_{name}"), (*value).to_owned())).collect(),
        )
    }

    /// The value that they give to a setting of the GC.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let value = |(variable, value): &(String, String)| {
            (bare(variable)? == name).then(|| hexadecimal(value)).flatten()
        };
        self.0.iter().find_map(value)
    }

    /// `A=1 B=2`, as a shell takes it in front of a command.
    pub(crate) fn line(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}

/// The name behind the prefix.
fn bare(variable: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| variable.strip_prefix(prefix))
}

fn hexadecimal(value: &str) -> Option<u64> {
    let value = value.trim();
    u64::from_str_radix(value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")).unwrap_or(value), 16)
        .ok()
}

impl FromStr for Variables {
    type Err = String;

    /// `DOTNET_gcServer=1,DOTNET_GCHeapCount=2`.
    fn from_str(text: &str) -> Result<Variables, String> {
        let mut variables: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let example = "such as DOTNET_gcServer=1,DOTNET_GCHeapCount=2";
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=VALUE, {example}"))?;
            if name.is_empty() || part.contains('\0') {
                return Err(format!("`{part}` has no name of a variable, {example}"));
            }
            if variables.iter().any(|(other, _)| other == name) {
                return Err(format!(
                    "{name} is given twice in one variant; give --env twice for two variants"
                ));
            }
            check(name, value)?;
            variables.push((name.to_owned(), value.to_owned()));
        }
        Ok(Variables(variables))
    }
}

/// Refuses what the runtime would silently ignore or misread.
fn check(name: &str, value: &str) -> Result<(), String> {
    let prefix_ignoring_case =
        |prefix: &&str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let Some(prefix) = PREFIXES.iter().find(|prefix| prefix_ignoring_case(prefix)) else { return Ok(()) };
    let bare = &name[prefix.len()..];
    let Some(setting) = SETTINGS.iter().find(|setting| setting.name.eq_ignore_ascii_case(bare)) else {
        return Ok(());
    };
    let right = format!("{prefix}{}", setting.name);
    if right != name {
        return Err(format!("the runtime does not know `{name}`; it is spelt {right}"));
    }
    if hexadecimal(value).is_none() {
        return Err(format!(
            "`{value}` is no value of {name}: the runtime reads a hexadecimal number, such as {name}=4000000 for 64 Mi"
        ));
    }
    Ok(())
}

/// What of some variables a `runtimeconfig.json` can say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Names of properties and their values as JSON.
    pub(crate) properties: Vec<(&'static str, String)>,
    /// Variables for which there is no property that the runtime obeys.
    pub(crate) only_in_environment: Vec<String>,
}

/// The properties that set the same as these variables.
pub(crate) fn fragment(variables: &Variables) -> Fragment {
    let mut fragment = Fragment::default();
    for (variable, value) in &variables.0 {
        let known = bare(variable).and_then(|name| SETTINGS.iter().find(|setting| setting.name == name));
        let property = known.and_then(|known| Some((known.property?, known.kind, hexadecimal(value)?)));
        match property {
            Some((property, Kind::Switch, number)) => {
                fragment.properties.push((property, (number != 0).to_string()));
            }
            Some((property, Kind::Number, number)) => {
                fragment.properties.push((property, number.to_string()))
            }
            None => fragment.only_in_environment.push(variable.clone()),
        }
    }
    fragment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_properties() {
        let given = "DOTNET_gcServer=1,DOTNET_GCHeapCount=a,COMPlus_gcConcurrent=0,DOTNET_GCgen0size=0x4000000,X=,Y=a=b";
        let variables: Variables = given.parse().unwrap();
        assert_eq!(
            (variables.number("GCHeapCount"), variables.number("GCgen0size")),
            (Some(10), Some(64 << 20))
        );
        let fragment = fragment(&variables);
        let properties =
            [("System.GC.Server", "true"), ("System.GC.HeapCount", "10"), ("System.GC.Concurrent", "false")];
        assert_eq!(fragment.properties, properties.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(fragment.only_in_environment, ["DOTNET_GCgen0size", "X", "Y"]);
        assert!(variables.line().ends_with(" X= Y=a=b"));
    }

    #[test]
    fn what_the_runtime_would_ignore_is_refused() {
        for (text, word) in [
            ("", "NAME=VALUE"),
            ("A", "NAME=VALUE"),
            ("=1", "no name"),
            ("A=1,A=2", "twice"),
            ("DOTNET_GCServer=1", "spelt DOTNET_gcServer"),
            ("dotnet_gcServer=1", "spelt DOTNET_gcServer"),
            ("DOTNET_GCgen0size=64MiB", "hexadecimal"),
        ] {
            let said = text.parse::<Variables>().unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
        assert!("DOTNET_GCfoo=x,dö=1".parse::<Variables>().is_ok());
    }
}
