
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'gcwatch' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'gcwatch'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'gcwatch' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Start a program and watch it from its first collection')
            [CompletionResult]::new('attach', 'attach', [CompletionResultType]::ParameterValue, 'Watch a process that is already running')
            [CompletionResult]::new('ps', 'ps', [CompletionResultType]::ParameterValue, 'List .NET processes, and whether they can be watched')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'The same reports from a recording (.nettrace)')
            [CompletionResult]::new('diff', 'diff', [CompletionResultType]::ParameterValue, 'Compare two recordings or JSON documents')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show which options are in force, and where each comes from')
            [CompletionResult]::new('metrics', 'metrics', [CompletionResultType]::ParameterValue, 'List what --assert can bound')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print the JSON Schema of the document and of the NDJSON lines')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual page (roff)')
            break
        }
        'gcwatch;run' {
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'With --follow: only processes of this name, such as testhost; can be given more than once')
            [CompletionResult]::new('--level', '--level', [CompletionResultType]::ParameterName, 'basic: pauses and sizes; moves: and what moved and survived; roots: and what held it [default: roots, or what the target allows; in `attach` roots in windows where blocking would take long]')
            [CompletionResult]::new('--sample', '--sample', [CompletionResultType]::ParameterName, 'Look at roots in windows only: at N collections, or for a time, each time the interval is over, such as `1/30s` or `2s/30s`. Between them background GC is on')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'With --sample: the level between the windows')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Keep the raw stream as well: `gcwatch report`, PerfView and dotnet-trace read it. The name may hold {pid}, {name} and {time}; in a directory it gets a name of its own')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Begin another file after SIZE (100MiB, 1GB), at the next point where it can be read alone, and keep the last N of them (0: all). Their number goes before the extension')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Stop watching after this time; the target goes on')
            [CompletionResult]::new('--gcs', '--gcs', [CompletionResultType]::ParameterName, 'Stop watching after this many complete collections at the level watched (those of the last 100 ms are shown too)')
            [CompletionResult]::new('--profiler-path', '--profiler-path', [CompletionResultType]::ParameterName, 'Another build of the profiler library')
            [CompletionResult]::new('--assert', '--assert', [CompletionResultType]::ParameterName, 'A bound that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level the lowest level that can answer is watched')
            [CompletionResult]::new('--assert-file', '--assert-file', [CompletionResultType]::ParameterName, 'More of them from a TOML file: lists of bounds by profile name')
            [CompletionResult]::new('--assert-profile', '--assert-profile', [CompletionResultType]::ParameterName, 'Which list of the file [default: `default`, or the only one]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'text is live: a line per collection, then a summary')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--min-pause', '--min-pause', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections that paused at least this long')
            [CompletionResult]::new('--gen', '--gen', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections of these generations')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'KiB, kB, or plain bytes')
            [CompletionResult]::new('--follow', '--follow', [CompletionResultType]::ParameterName, 'Watch every .NET process that the command starts, not only the first; each has its own report')
            [CompletionResult]::new('--no-names', '--no-names', [CompletionResultType]::ParameterName, 'At level roots: leave out names of types and methods, which cost a little of each pause')
            [CompletionResult]::new('--blocks', '--blocks', [CompletionResultType]::ParameterName, 'Keep every moved and surviving range and every root, not only totals')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Lost or incomplete data is a failure (exit code 11)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is being done (-vv: every step)')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is being done (-vv: every step)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;attach' {
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The same, as the .NET tools spell it')
            [CompletionResult]::new('--process-id', '--process-id', [CompletionResultType]::ParameterName, 'The same, as the .NET tools spell it')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'The one .NET process with this name')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'The one .NET process with this name')
            [CompletionResult]::new('--diagnostic-port', '--diagnostic-port', [CompletionResultType]::ParameterName, 'A diagnostics socket (or pipe) by its path, optionally `,connect`')
            [CompletionResult]::new('--level', '--level', [CompletionResultType]::ParameterName, 'basic: pauses and sizes; moves: and what moved and survived; roots: and what held it [default: roots, or what the target allows; in `attach` roots in windows where blocking would take long]')
            [CompletionResult]::new('--sample', '--sample', [CompletionResultType]::ParameterName, 'Look at roots in windows only: at N collections, or for a time, each time the interval is over, such as `1/30s` or `2s/30s`. Between them background GC is on')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'With --sample: the level between the windows')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Keep the raw stream as well: `gcwatch report`, PerfView and dotnet-trace read it. The name may hold {pid}, {name} and {time}; in a directory it gets a name of its own')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Begin another file after SIZE (100MiB, 1GB), at the next point where it can be read alone, and keep the last N of them (0: all). Their number goes before the extension')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Stop watching after this time; the target goes on')
            [CompletionResult]::new('--gcs', '--gcs', [CompletionResultType]::ParameterName, 'Stop watching after this many complete collections at the level watched (those of the last 100 ms are shown too)')
            [CompletionResult]::new('--profiler-path', '--profiler-path', [CompletionResultType]::ParameterName, 'Another build of the profiler library')
            [CompletionResult]::new('--max-blocking-gc', '--max-blocking-gc', [CompletionResultType]::ParameterName, 'Watch roots all the time only where a blocking gen2 collection is estimated to take at most this long; else in windows, as with --sample 1/30s')
            [CompletionResult]::new('--step-back', '--step-back', [CompletionResultType]::ParameterName, 'Go on in windows as soon as gen2 collections that block because of watching have stopped the program for this share of the time (of 10 s at least), or one of them for this long')
            [CompletionResult]::new('--assert', '--assert', [CompletionResultType]::ParameterName, 'A bound that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level the lowest level that can answer is watched')
            [CompletionResult]::new('--assert-file', '--assert-file', [CompletionResultType]::ParameterName, 'More of them from a TOML file: lists of bounds by profile name')
            [CompletionResult]::new('--assert-profile', '--assert-profile', [CompletionResultType]::ParameterName, 'Which list of the file [default: `default`, or the only one]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'text is live: a line per collection, then a summary')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--min-pause', '--min-pause', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections that paused at least this long')
            [CompletionResult]::new('--gen', '--gen', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections of these generations')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'KiB, kB, or plain bytes')
            [CompletionResult]::new('--no-names', '--no-names', [CompletionResultType]::ParameterName, 'At level roots: leave out names of types and methods, which cost a little of each pause')
            [CompletionResult]::new('--blocks', '--blocks', [CompletionResultType]::ParameterName, 'Keep every moved and surviving range and every root, not only totals')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Lost or incomplete data is a failure (exit code 11)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is being done (-vv: every step)')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is being done (-vv: every step)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;ps' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'text is a table')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'The same as --format json')
            [CompletionResult]::new('--why', '--why', [CompletionResultType]::ParameterName, 'Also processes that cannot be watched, and why')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'gcwatch;report' {
            [CompletionResult]::new('--assert', '--assert', [CompletionResultType]::ParameterName, 'A bound that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level the lowest level that can answer is watched')
            [CompletionResult]::new('--assert-file', '--assert-file', [CompletionResultType]::ParameterName, 'More of them from a TOML file: lists of bounds by profile name')
            [CompletionResult]::new('--assert-profile', '--assert-profile', [CompletionResultType]::ParameterName, 'Which list of the file [default: `default`, or the only one]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'text is live: a line per collection, then a summary')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--min-pause', '--min-pause', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections that paused at least this long')
            [CompletionResult]::new('--gen', '--gen', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections of these generations')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'KiB, kB, or plain bytes')
            [CompletionResult]::new('--blocks', '--blocks', [CompletionResultType]::ParameterName, 'Keep every moved and surviving range and every root, not only totals')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Lost or incomplete data is a failure (exit code 11)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is being done (-vv: every step)')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is being done (-vv: every step)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;diff' {
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'A change that must not be, such as `pause.p99 > +10%` (exit code 10); can be given more than once')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'text is a table')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'KiB, kB, or plain bytes')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'gcwatch;config' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'gcwatch;metrics' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'gcwatch;schema' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'gcwatch;completions' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'gcwatch;man' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
