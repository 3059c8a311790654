//! Options from elsewhere: the command line overrides the variable `GCWATCH_<OPTION>`, which overrides a `gcwatch.toml`
//! in this directory or the nearest one above.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{FalseyValueParser, Resettable};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command, CommandFactory};
use toml::de::{DeTable, DeValue};

use super::Cli;
use crate::escape::escape_untrusted;
use crate::exit::{Code, Failure};
use crate::settings::{self, Found, Text};

const FILE: &str = "gcwatch.toml";
/// The subcommands that take options from it.
const COMMANDS: [&str; 5] = ["run", "attach", "report", "diff", "try"];
/// Options for the command line only: a settings file that came with a directory must not choose which files gcwatch
/// overwrites or removes, nor what it loads into a process.
const NEVER: [&str; 5] = ["output", "record", "rotate", "profiler-path", "env"];

/// A settings file, and what it sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) path: PathBuf,
    /// By option, then by subcommand (`None`: all of them).
    options: BTreeMap<String, BTreeMap<Option<String>, Setting>>,
}

/// The values that a file gives to an option.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    values: Vec<String>,
    line: usize,
}

impl Config {
    /// Reads the nearest file from `start` upward that only the caller or root can have written; `None` if there is
    /// none. Adds the files that it passes over to `passed_over`.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, or sets an option that it may not set: a usage error.
    pub(crate) fn find(start: &Path, passed_over: &mut Vec<Failure>) -> Result<Option<Config>, Failure> {
        for path in start.ancestors().map(|dir| dir.join(FILE)) {
            match settings::found(&path)? {
                Found::Text(text) => {
                    return Config::parse(path.clone(), &text).map(Some).map_err(|what| {
                        Failure::told(Code::USAGE, &path.display().to_string(), &what)
                            .remedy("set options by their long names, such as level = \"moves\"")
                    });
                }
                // Go on as if the file were not there. Otherwise another user's file would disable the caller's own
                // settings further up, assertions among them.
                Found::PassedOver(why) => passed_over.push(why),
                Found::Nothing => {}
            }
        }
        Ok(None)
    }

    fn parse(path: PathBuf, text: &Text) -> Result<Config, String> {
        let table = DeTable::parse(&text.text).map_err(|e| text.mistake(&e))?;
        let mut config = Config { path, options: BTreeMap::new() };
        let line = |at: usize| text.text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1;
        for (key, value) in table.get_ref() {
            match value.get_ref() {
                DeValue::Table(inner) if COMMANDS.contains(&key.get_ref().as_ref()) => {
                    for (name, value) in inner {
                        let line = line(name.span().start);
                        config.set(Some(key.get_ref()), name.get_ref(), value.get_ref(), line)?;
                    }
                }
                value => config.set(None, key.get_ref(), value, line(key.span().start))?,
            }
        }
        Ok(config)
    }

    fn set(
        &mut self,
        command: Option<&str>,
        name: &str,
        value: &DeValue<'_>,
        line: usize,
    ) -> Result<(), String> {
        let values = accepted(command, name, value).map_err(|what| format!("line {line}: {what}"))?;
        let by_command = self.options.entry(name.to_owned()).or_default();
        by_command.insert(command.map(str::to_owned), Setting { values, line });
        Ok(())
    }

    /// Whether the file sets an option of a subcommand.
    pub(crate) fn sets(&self, command: &str, name: &str) -> bool {
        self.setting(command, name).is_some()
    }

    /// What the file sets for an option of a subcommand. The subcommand's own table overrides the rest of the file.
    fn setting(&self, command: &str, name: &str) -> Option<&Setting> {
        let by_command = self.options.get(name)?;
        by_command.get(&Some(command.to_owned())).or_else(|| by_command.get(&None))
    }

    /// Whether the subcommand's own table sets the option.
    fn own(&self, command: &str, name: &str) -> bool {
        self.options.get(name).is_some_and(|by_command| by_command.contains_key(&Some(command.to_owned())))
    }

    /// Where the file sets an option: its path and line.
    fn place(&self, command: Option<&str>, name: &str) -> Option<String> {
        let own = command.and_then(|command| self.setting(command, name));
        let setting = own.or_else(|| self.options.get(name)?.values().next())?;
        Some(format!("{}, line {}", escape_untrusted(&self.path.display().to_string()), setting.line))
    }
}

/// The values for an option, if the option accepts them.
fn accepted(command: Option<&str>, name: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    if NEVER.contains(&name) {
        return Err(format!("`{name}` can be given on the command line only"));
    }
    let cli = Cli::command();
    let of = |c: &&Command| command.is_none_or(|only| c.get_name() == only);
    let options: Vec<&Arg> = subcommands(&cli).filter(of).flat_map(Command::get_arguments).collect();
    let Some(option) = options.iter().find(|arg| arg.get_long() == Some(name)) else {
        let has = |c: &&Command| c.get_arguments().any(|arg| arg.get_long() == Some(name));
        let others: Vec<_> = subcommands(&cli).filter(has).map(|c| format!("`{}`", c.get_name())).collect();
        if let Some(command) = command.filter(|_| !others.is_empty()) {
            let have = if others.len() > 1 { "have" } else { "has" };
            return Err(format!("`{command}` has no option `{name}`; only {} {have} it", others.join(", ")));
        }
        let near = nearest(options.iter().filter_map(|arg| arg.get_long()), name);
        return Err(format!("there is no option `{name}`; did you mean `{near}`?"));
    };
    let values = match value {
        DeValue::Array(list) => list.iter().map(|value| scalar(value.get_ref())).collect(),
        one => scalar(one).map(|text| vec![text]),
    };
    let values: Vec<String> =
        values.ok_or_else(|| format!("`{name}` is neither a value nor a list of values"))?;
    if values.iter().any(|text| escape_untrusted(text) != *text) {
        return Err(format!("`{name}` has a value with characters that cannot be printed"));
    }
    let many = matches!(option.get_action(), ArgAction::Append) || option.get_value_delimiter().is_some();
    if values.len() > 1 && !many {
        return Err(format!("`{name}` takes one value"));
    }
    Ok(values)
}

/// The subcommands that take options from settings.
fn subcommands(cli: &Command) -> impl Iterator<Item = &Command> {
    cli.get_subcommands().filter(|c| COMMANDS.contains(&c.get_name()))
}

/// The name that is most like `to`.
fn nearest<'a>(names: impl Iterator<Item = &'a str>, to: &str) -> &'a str {
    let alike = |name: &str| strsim::jaro_winkler(name, to);
    names.max_by(|a, b| alike(a).total_cmp(&alike(b))).unwrap_or_default()
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n.to_string()),
        DeValue::Float(n) => n.as_str().parse::<f64>().ok().map(|n| n.to_string()),
        DeValue::Boolean(b) => Some(b.to_string()),
        _ => None,
    }
}

/// The environment variable of an option.
fn variable(long: &str) -> String {
    format!("GCWATCH_{}", long.to_uppercase().replace('-', "_"))
}

/// Whether an option accepts a value, as far as its list of possible values tells.
fn fits(arg: &Arg, value: &str) -> bool {
    let possible = arg.get_possible_values();
    possible.is_empty() || possible.iter().any(|p| p.matches(value, false))
}

/// Whether the option of that name accepts the value in any subcommand.
fn fits_elsewhere(long: &str, value: &str) -> bool {
    let cli = Cli::command();
    let mut all = subcommands(&cli).flat_map(Command::get_arguments);
    all.any(|arg| arg.get_long() == Some(long) && fits(arg, value))
}

/// Variables that are no options: gcwatch's tests read them, or gcwatch sets them in processes that it watches.
const INTERNAL: [&str; 4] = ["GCWATCH_CACHE", "GCWATCH_DOTNET_ROOT", "GCWATCH_PROFILER", "GCWATCH_TEST_"];

/// A sentence for each variable that begins with `GCWATCH_` and that gcwatch ignores.
pub(crate) fn odd_variables() -> Vec<String> {
    let cli = Cli::command();
    let all = subcommands(&cli).flat_map(Command::get_arguments);
    let options: BTreeSet<&str> = all.filter_map(Arg::get_long).collect();
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ours = set.filter(|name| name.starts_with("GCWATCH_"));
    let complaints = ours.filter_map(|name| {
        if let Some(option) = options.iter().find(|option| variable(option) == name) {
            let never = NEVER.contains(option);
            return never
                .then(|| format!("{name} is ignored: --{option} can be given on the command line only"));
        }
        if INTERNAL.iter().any(|known| match known.strip_suffix('_') {
            Some(_) => name.starts_with(known),
            None => name == *known,
        }) {
            return None;
        }
        let variables: Vec<String> = options.iter().map(|option| variable(option)).collect();
        let near = nearest(variables.iter().map(String::as_str), &name);
        Some(format!("{name} is not a setting of gcwatch; did you mean {near}?"))
    });
    complaints.collect()
}

/// Where the value that clap refused comes from, if not from the command line.
pub(crate) fn source_of(error: &clap::Error, words: &[OsString], config: Option<&Config>) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let long = option.strip_prefix("--")?.split([' ', '=']).next()?;
    let typed = |word: &OsString| {
        word.to_str().and_then(|word| word.strip_prefix("--")).is_some_and(|word| {
            word == long || word.strip_prefix(long).is_some_and(|rest| rest.starts_with('='))
        })
    };
    if words.iter().take_while(|word| *word != "--").any(typed) {
        return None;
    }
    if std::env::var_os(variable(long)).is_some() {
        return Some(format!("the value comes from {} in the environment", variable(long)));
    }
    let command = words.iter().filter_map(|word| word.to_str()).find(|word| COMMANDS.contains(word));
    Some(format!("the value comes from {}", config?.place(command, long)?))
}

/// The clap command, with values from the environment and the settings file as defaults.
pub(crate) fn command(config: Option<&Config>) -> Command {
    let mut cli = Cli::command();
    for name in COMMANDS {
        cli = cli.mut_subcommand(name, |sub| {
            sub.mut_args(|arg| {
                let Some(long) = arg.get_long().map(str::to_owned) else { return arg };
                let named = variable(&long);
                let set = std::env::var(&named).ok();
                // Ignore a value that only another subcommand's option accepts: `diff` has no `ndjson`.
                let understood = set.is_none_or(|value| fits(&arg, &value) || !fits_elsewhere(&long, &value));
                let arg = match !NEVER.contains(&long.as_str()) && understood {
                    true => arg.env(named).hide_env(true),
                    false => arg.env(Resettable::Reset),
                };
                let arg = match arg.get_action() {
                    ArgAction::SetTrue => arg.value_parser(FalseyValueParser::new()),
                    _ => arg,
                };
                let values = config.and_then(|c| Some(&c.setting(name, &long)?.values));
                let own = config.is_some_and(|c| c.own(name, &long));
                let fit = |value: &String| fits(&arg, value) || !fits_elsewhere(&long, value);
                match values.filter(|values| own || values.iter().all(fit)) {
                    Some(values) => arg.default_values(values.clone()),
                    None => arg,
                }
            })
        });
    }
    cli
}

/// An option, its value, and where that comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) option: String,
    /// `None` if nothing sets it.
    pub(crate) value: Option<String>,
    pub(crate) from: String,
}

/// Every option of a subcommand, and where its value comes from.
///
/// # Errors
/// clap refuses a value.
pub(crate) fn in_force(config: Option<&Config>, of: &str) -> Result<Vec<InForce>, clap::Error> {
    let cli = command(config);
    // Add the arguments that the subcommand requires.
    let words = if of == "diff" { &["gcwatch", of, "1", "2"][..] } else { &["gcwatch", of, "1"] };
    let matches = cli.clone().try_get_matches_from(words)?;
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
                (_, Some(config)) if config.setting(of, long).is_some() => config.path.display().to_string(),
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
        Config::parse(PathBuf::from("gcwatch.toml"), &Text::own(text))
    }

    fn value(config: &Config, of: &str, option: &str) -> (Option<String>, String) {
        let all = in_force(Some(config), of).unwrap();
        let found = all.into_iter().find(|row| row.option == option).unwrap();
        (found.value, found.from)
    }

    #[test]
    fn a_subcommands_table_overrides_the_rest() {
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
    fn the_command_line_overrides_the_file() {
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
