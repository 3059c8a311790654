//! Prints what gcwatch knows of itself: schema, options in force, completions, manual page.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use super::conclude::report_failed;
use crate::cli::Cli;
use crate::cli::config::{self, Config};
use crate::escape::escape_untrusted;
use crate::exit::{Code, Failure};
use crate::version::VERSION;

/// `gcwatch schema`.
pub(super) fn schema() -> Result<Code, Failure> {
    let text = serde_json::to_string_pretty(&crate::report::schema()).map_err(io::Error::from)?;
    print(format!("{text}\n").as_bytes())
}

/// `gcwatch config`.
pub(super) fn config(config: Option<&Config>, of: &str) -> Result<Code, Failure> {
    let rows = config::in_force(config, of).map_err(|e| {
        let failure = refused(&e.to_string());
        match config::source_of(&e, &[of.into()], config) {
            Some(source) => failure.seen(source),
            None => failure,
        }
    })?;
    let mut text = match config {
        Some(config) => format!("{}\n\n", escape_untrusted(&config.path.display().to_string())),
        None => "no gcwatch.toml in this directory or above\n\n".to_owned(),
    };
    let width = |of: fn(&config::InForce) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let first = width(|row| row.option.len());
    let second = width(|row| row.value.as_deref().unwrap_or("-").chars().count());
    for row in &rows {
        let value = escape_untrusted(row.value.as_deref().unwrap_or("-"));
        text += &format!("{:<first$}  {value:<second$}  {}\n", row.option, escape_untrusted(&row.from));
    }
    print(text.as_bytes())
}

/// clap's message about a value: its first line says what happened, the others which values are possible.
fn refused(said: &str) -> Failure {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let failure = Failure::new(Code::USAGE, first.strip_prefix("error: ").unwrap_or(first));
    let others = lines.take_while(|line| !line.starts_with("For more information"));
    others.fold(failure, |failure, line| failure.remedy(line.trim_start_matches('[').trim_end_matches(']')))
}

/// `gcwatch completions`. For bash, zsh and fish, the script also completes the process ids for `attach`.
pub(super) fn completions(shell: Shell) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gcwatch", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => {
            script = script.replace("complete -F _gcwatch ", "complete -F _gcwatch_with_pids ");
            script.insert_str(0, BASH_PIDS);
        }
        Shell::Zsh => {
            script = script.replace("::pid -- The process:_default", "::pid -- The process:_gcwatch_pids");
            script = script.replacen("\n_gcwatch() {", &format!("\n{ZSH_PIDS}\n_gcwatch() {{"), 1);
        }
        Shell::Fish => script.push_str(FISH_PIDS),
        _ => {}
    }
    print(script.as_bytes())
}

const BASH_PIDS: &str = r#"_gcwatch_with_pids() {
    local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    if [[ "${COMP_WORDS[1]}" == attach && "${cur}" != -* ]] &&
        [[ "${before}" == attach || "${before}" == -p || "${before}" == --process-id ]]; then
        COMPREPLY=( $(compgen -W "$(gcwatch ps --format pids 2>/dev/null | cut -f1)" -- "${cur}") )
        return 0
    fi
    _gcwatch "$@"
}

"#;

const ZSH_PIDS: &str = r#"_gcwatch_pids() {
    local -a pids
    pids=(${(f)"$(gcwatch ps --format pids 2>/dev/null | tr '\t' ':')"})
    _describe -t processes 'process' pids
}
"#;

const FISH_PIDS: &str = r#"complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -f -a "(gcwatch ps --format pids 2>/dev/null)"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s p -l process-id -f -a "(gcwatch ps --format pids 2>/dev/null)"
"#;

/// `gcwatch man`: one page with a section for each subcommand.
pub(super) fn man() -> Result<Code, Failure> {
    let mut page = Vec::new();
    let cli = Cli::command().version(VERSION);
    clap_mangen::Man::new(cli.clone()).render(&mut page)?;
    // Replace references to pages of subcommands, which do not exist.
    let text = String::from_utf8_lossy(&page).replace("\ngcwatch\\-", "\n.B gcwatch ").replace("(1)\n", "\n");
    let mut page = text.into_bytes();
    for sub in cli.get_subcommands() {
        let name = sub.get_name().to_owned();
        let man = clap_mangen::Man::new(sub.clone().bin_name(format!("gcwatch {name}")));
        let mut section = Vec::new();
        man.render_synopsis_section(&mut section)?;
        man.render_description_section(&mut section)?;
        man.render_options_section(&mut section)?;
        let section = String::from_utf8_lossy(&section).replace("\n.SH ", "\n.SS ");
        let section = section.strip_prefix(".SH ").map_or(section.clone(), |rest| format!(".SS {rest}"));
        write!(page, ".SH GCWATCH {}\n{section}", name.to_uppercase())?;
    }
    print(&page)
}

pub(super) fn print(bytes: &[u8]) -> Result<Code, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Code::OK),
        Err(e) => report_failed(&e, None),
    }
}
