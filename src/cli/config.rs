//! Options from elsewhere: the command line goes over `GCWATCH_<OPTION>`, and that over a `gcwatch.toml`
//! in this directory or the nearest one above.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::builder::FalseyValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Cli;
use crate::exit::{Code, Failure};

/// The file's name.
const FILE: &str = "gcwatch.toml";
/// The subcommands that take options from it.
const COMMANDS: [&str; 3] = ["run", "attach", "report"];
/// A file that came with somebody's directory must not choose what is overwritten or removed, nor what is
/// loaded into a process.
const NEVER: [&str; 4] = ["output", "record", "rotate", "profiler-path"];

/// One file, and what it sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) path: PathBuf,
    /// By subcommand (`None`: all of them), then by option.
    values: BTreeMap<Option<String>, BTreeMap<String, Vec<String>>>,
}

impl Config {
    /// Reads the nearest file from `start` upward; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or sets what cannot be set: a usage error.
    pub(crate) fn find(start: &Path) -> Result<Option<Config>, Failure> {
        let Some(path) = start.ancestors().map(|dir| dir.join(FILE)).find(|path| path.is_file()) else {
            return Ok(None);
        };
        let config = std::fs::read_to_string(&path)
            .map_err(|e| e.to_string())
            .and_then(|text| Config::parse(path.clone(), &text));
        config.map(Some).map_err(|what| {
            Failure::new(Code::USAGE, format!("{}: {what}", path.display()))
                .remedy("it holds options by their long names, such as level = \"moves\"")
        })
    }

    fn parse(path: PathBuf, text: &str) -> Result<Config, String> {
        let table: toml::Table = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
        let mut config = Config { path, values: BTreeMap::new() };
        for (key, value) in table {
            match value {
                toml::Value::Table(inner) if COMMANDS.contains(&key.as_str()) => {
                    for (name, value) in inner {
                        config.set(Some(&key), name, &value)?;
                    }
                }
                value => config.set(None, key, &value)?,
            }
        }
        Ok(config)
    }

    fn set(&mut self, command: Option<&str>, name: String, value: &toml::Value) -> Result<(), String> {
        if NEVER.contains(&name.as_str()) {
            return Err(format!("`{name}` can be given on the command line only"));
        }
        let cli = Cli::command();
        let of = |c: &&Command| command.map_or(COMMANDS.contains(&c.get_name()), |only| c.get_name() == only);
        let options: Vec<&Arg> = cli.get_subcommands().filter(of).flat_map(Command::get_arguments).collect();
        let Some(option) = options.iter().find(|arg| arg.get_long() == Some(name.as_str())) else {
            let names = options.iter().filter_map(|arg| arg.get_long());
            let near = names
                .max_by(|a, b| strsim::jaro_winkler(a, &name).total_cmp(&strsim::jaro_winkler(b, &name)));
            return Err(format!("`{name}` is no option; the nearest is `{}`", near.unwrap_or_default()));
        };
        let texts = match value {
            toml::Value::Array(list) => list.iter().map(scalar).collect::<Option<Vec<String>>>(),
            one => scalar(one).map(|text| vec![text]),
        };
        let texts = texts.ok_or_else(|| format!("`{name}` is neither a value nor a list of values"))?;
        let many = matches!(option.get_action(), ArgAction::Append) || option.get_value_delimiter().is_some();
        if texts.len() > 1 && !many {
            return Err(format!("`{name}` takes one value"));
        }
        let commands = self.values.entry(command.map(str::to_owned)).or_default();
        commands.insert(name, texts);
        Ok(())
    }

    /// What it sets for an option; a subcommand's own table goes over the rest.
    fn values(&self, command: &str, name: &str) -> Option<&Vec<String>> {
        let of = |key: Option<&str>| self.values.get(&key.map(str::to_owned))?.get(name);
        of(Some(command)).or_else(|| of(None))
    }
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(n) => Some(n.to_string()),
        toml::Value::Float(n) => Some(n.to_string()),
        toml::Value::Boolean(b) => Some(b.to_string()),
        _ => None,
    }
}

/// The variable of an option.
fn variable(long: &str) -> String {
    format!("GCWATCH_{}", long.to_uppercase().replace('-', "_"))
}

/// The command line as it is understood with a file's values.
pub(crate) fn command(config: Option<&Config>) -> Command {
    let mut cli = Cli::command();
    for name in COMMANDS {
        cli = cli.mut_subcommand(name, |sub| {
            sub.mut_args(|arg| {
                let Some(long) = arg.get_long().map(str::to_owned) else { return arg };
                let arg = arg.env(variable(&long)).hide_env(true);
                let arg = match arg.get_action() {
                    ArgAction::SetTrue => arg.value_parser(FalseyValueParser::new()),
                    _ => arg,
                };
                match config.and_then(|c| c.values(name, &long)) {
                    Some(values) => arg.default_values(values.clone()),
                    None => arg,
                }
            })
        });
    }
    cli
}

/// One option as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) option: String,
    /// `None`: not set.
    pub(crate) value: Option<String>,
    pub(crate) from: String,
}

/// Every option of a subcommand, and where its value comes from.
///
/// # Errors
/// A value that does not fit.
pub(crate) fn in_force(config: Option<&Config>, of: &str) -> Result<Vec<InForce>, clap::Error> {
    let cli = command(config);
    // With the one word that each of them cannot do without.
    let matches = cli.clone().try_get_matches_from(["gcwatch", of, "1"])?;
    let Some((_, matches)) = matches.subcommand() else { return Ok(Vec::new()) };
    let Some(sub) = cli.find_subcommand(of) else { return Ok(Vec::new()) };
    let options = sub.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?)));
    let rows = options.filter(|(arg, _)| !["help", "version"].contains(&arg.get_id().as_str()));
    Ok(rows
        .map(|(arg, long)| {
            let id = arg.get_id().as_str();
            let value = matches.get_raw(id).map(|values| {
                values.map(|v| v.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ")
            });
            let from = match (matches.value_source(id), config) {
                (Some(ValueSource::EnvVariable), _) => variable(long),
                (Some(ValueSource::CommandLine), _) => "command line".to_owned(),
                (_, Some(config)) if config.values(of, long).is_some() => config.path.display().to_string(),
                _ => "default".to_owned(),
            };
            InForce { option: format!("--{long}"), value, from }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(PathBuf::from("gcwatch.toml"), text)
    }

    fn value(config: &Config, of: &str, option: &str) -> (Option<String>, String) {
        let all = in_force(Some(config), of).unwrap();
        let found = all.into_iter().find(|row| row.option == option).unwrap();
        (found.value, found.from)
    }

    #[test]
    fn a_subcommand_s_table_goes_over_the_rest() {
        let config = parse(
            "level = \"moves\"\nstrict = true\nassert = [\"lost == 0\", \"gc.count > 0\"]\n[attach]\nlevel = \"basic\"\n",
        )
        .unwrap();
        let file = "gcwatch.toml".to_owned();
        assert_eq!(value(&config, "run", "--level"), (Some("moves".into()), file.clone()));
        assert_eq!(value(&config, "attach", "--level"), (Some("basic".into()), file.clone()));
        assert_eq!(value(&config, "report", "--strict"), (Some("true".into()), file.clone()));
        assert_eq!(value(&config, "run", "--assert"), (Some("lost == 0, gc.count > 0".into()), file));
        assert_eq!(value(&config, "run", "--units"), (Some("iec".into()), "default".into()));
    }

    #[test]
    fn the_command_line_goes_over_the_file() {
        let config = parse("level = \"moves\"").unwrap();
        let matches = command(Some(&config))
            .try_get_matches_from(["gcwatch", "run", "--level", "basic", "--", "x"])
            .unwrap();
        let (_, run) = matches.subcommand().unwrap();
        assert_eq!(run.value_source("level"), Some(ValueSource::CommandLine));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("levle = \"moves\"", "`level`"),
            ("output = \"/etc/passwd\"", "command line only"),
            ("[run]\nprofiler-path = \"x.so\"", "command line only"),
            ("level = [\"basic\", \"moves\"]", "one value"),
            ("level = { a = 1 }", "neither"),
            ("level = ", "TOML"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }
}
