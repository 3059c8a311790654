
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
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Report on recordings (.nettrace)')
            [CompletionResult]::new('graph', 'graph', [CompletionResultType]::ParameterValue, 'Take a graph of the whole heap of a process, or read one: what is there, and what holds it')
            [CompletionResult]::new('diff', 'diff', [CompletionResultType]::ParameterValue, 'Compare recordings or JSON documents: one with one, or several runs with several')
            [CompletionResult]::new('try', 'try', [CompletionResultType]::ParameterValue, 'Compare settings of the GC, or several commands, in many runs of each')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show which options are in force, and where each comes from')
            [CompletionResult]::new('metrics', 'metrics', [CompletionResultType]::ParameterValue, 'List the metrics that --assert can check')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print the JSON Schema of the document and of the NDJSON lines')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual page (roff)')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'gcwatch;run' {
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'With --follow: watch only processes with this name, such as testhost; can be given more than once')
            [CompletionResult]::new('--repeat', '--repeat', [CompletionResultType]::ParameterName, 'Run the command so many times, one after the other. The files of --output and --record get the number of the run in their names: gc-1.json, gc-2.json')
            [CompletionResult]::new('--level', '--level', [CompletionResultType]::ParameterName, 'basic: pauses and sizes; moves: also what moved and survived; roots: also what held objects [default: roots, or what the target allows; in `attach` roots only in sampling windows if blocking collections would take long]')
            [CompletionResult]::new('--sample', '--sample', [CompletionResultType]::ParameterName, 'Watch roots only in sampling windows: N collections, or a length of time, in each interval, such as `1/30s` or `2s/30s`. Between windows background GC is on')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'With --sample: the level between the windows')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Also write the raw stream to a file that `gcwatch report`, PerfView and dotnet-trace read. Its name may contain {pid}, {name} and {time}. If FILE is a directory, gcwatch chooses the name')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Start a new file after SIZE (100MiB, 1GB), at the next point from which it can be read alone; keep the last N files (0: all). Their number goes before the extension')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Stop watching after this time; the target keeps running')
            [CompletionResult]::new('--gcs', '--gcs', [CompletionResultType]::ParameterName, 'Stop watching after this many complete collections at the level watched (collections of the 100 ms after that are shown too)')
            [CompletionResult]::new('--stop-on', '--stop-on', [CompletionResultType]::ParameterName, 'Stop watching at the first collection for which this holds, such as `pause > 200ms`, and exit with 10; can be given more than once')
            [CompletionResult]::new('--keep-recording', '--keep-recording', [CompletionResultType]::ParameterName, 'With --stop-on and --rotate: go on watching, and keep the files with the collection, the one before and the one after, at most N times')
            [CompletionResult]::new('--graph-at', '--graph-at', [CompletionResultType]::ParameterName, 'Take a graph of the heap when a collection meets this condition for the first time, such as `heap.after > 500MiB`, and go on watching; can be given more than once. The program stands still while it is copied, at its next blocking collection')
            [CompletionResult]::new('--graph-output', '--graph-output', [CompletionResultType]::ParameterName, 'The file for --graph-at, which gcwatch graph reads [default: gcwatch-PID.gcgraph]')
            [CompletionResult]::new('--profiler-path', '--profiler-path', [CompletionResultType]::ParameterName, 'Use this build of the profiler library')
            [CompletionResult]::new('--assert', '--assert', [CompletionResultType]::ParameterName, 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it')
            [CompletionResult]::new('--assert-file', '--assert-file', [CompletionResultType]::ParameterName, 'Read more assertions from a TOML file, which holds a list for each profile')
            [CompletionResult]::new('--assert-profile', '--assert-profile', [CompletionResultType]::ParameterName, 'The profile in the file [default: `default`, or the only one]')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--min-pause', '--min-pause', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections that paused at least this long')
            [CompletionResult]::new('--gen', '--gen', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections of these generations')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'Units of sizes: iec (KiB), si (kB), or bytes')
            [CompletionResult]::new('--follow', '--follow', [CompletionResultType]::ParameterName, 'Watch every .NET process that the command starts, not only the first; each has its own report')
            [CompletionResult]::new('--alloc', '--alloc', [CompletionResultType]::ParameterName, 'Show what allocates, by type and by method, from the runtime''s samples. On .NET 8 and 9 it also sends other events then, such as one for each finalized object')
            [CompletionResult]::new('--no-names', '--no-names', [CompletionResultType]::ParameterName, 'Omit the names of types and methods. At level roots they lengthen each pause slightly, at the other levels the runtime lists its methods when the watch ends')
            [CompletionResult]::new('--blocks', '--blocks', [CompletionResultType]::ParameterName, 'Keep every moved and surviving range and every root, not only totals')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail (exit code 11) if data is lost or incomplete')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;attach' {
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The process id, spelt as in the .NET tools')
            [CompletionResult]::new('--process-id', '--process-id', [CompletionResultType]::ParameterName, 'The process id, spelt as in the .NET tools')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'The one .NET process with this name')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'The one .NET process with this name')
            [CompletionResult]::new('--diagnostic-port', '--diagnostic-port', [CompletionResultType]::ParameterName, 'The path of a diagnostics socket or pipe, optionally `,connect`')
            [CompletionResult]::new('--level', '--level', [CompletionResultType]::ParameterName, 'basic: pauses and sizes; moves: also what moved and survived; roots: also what held objects [default: roots, or what the target allows; in `attach` roots only in sampling windows if blocking collections would take long]')
            [CompletionResult]::new('--sample', '--sample', [CompletionResultType]::ParameterName, 'Watch roots only in sampling windows: N collections, or a length of time, in each interval, such as `1/30s` or `2s/30s`. Between windows background GC is on')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'With --sample: the level between the windows')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Also write the raw stream to a file that `gcwatch report`, PerfView and dotnet-trace read. Its name may contain {pid}, {name} and {time}. If FILE is a directory, gcwatch chooses the name')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Start a new file after SIZE (100MiB, 1GB), at the next point from which it can be read alone; keep the last N files (0: all). Their number goes before the extension')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Stop watching after this time; the target keeps running')
            [CompletionResult]::new('--gcs', '--gcs', [CompletionResultType]::ParameterName, 'Stop watching after this many complete collections at the level watched (collections of the 100 ms after that are shown too)')
            [CompletionResult]::new('--stop-on', '--stop-on', [CompletionResultType]::ParameterName, 'Stop watching at the first collection for which this holds, such as `pause > 200ms`, and exit with 10; can be given more than once')
            [CompletionResult]::new('--keep-recording', '--keep-recording', [CompletionResultType]::ParameterName, 'With --stop-on and --rotate: go on watching, and keep the files with the collection, the one before and the one after, at most N times')
            [CompletionResult]::new('--graph-at', '--graph-at', [CompletionResultType]::ParameterName, 'Take a graph of the heap when a collection meets this condition for the first time, such as `heap.after > 500MiB`, and go on watching; can be given more than once. The program stands still while it is copied, at its next blocking collection')
            [CompletionResult]::new('--graph-output', '--graph-output', [CompletionResultType]::ParameterName, 'The file for --graph-at, which gcwatch graph reads [default: gcwatch-PID.gcgraph]')
            [CompletionResult]::new('--profiler-path', '--profiler-path', [CompletionResultType]::ParameterName, 'Use this build of the profiler library')
            [CompletionResult]::new('--max-blocking-gc', '--max-blocking-gc', [CompletionResultType]::ParameterName, 'Watch roots continuously only if a blocking gen2 collection is estimated to take at most this long; otherwise in windows, as with --sample 1/30s')
            [CompletionResult]::new('--step-back', '--step-back', [CompletionResultType]::ParameterName, 'Switch to windows once gen2 collections that watching makes blocking have stopped the program for this share of the time (measured over at least 10 s), or one of them for this long')
            [CompletionResult]::new('--assert', '--assert', [CompletionResultType]::ParameterName, 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it')
            [CompletionResult]::new('--assert-file', '--assert-file', [CompletionResultType]::ParameterName, 'Read more assertions from a TOML file, which holds a list for each profile')
            [CompletionResult]::new('--assert-profile', '--assert-profile', [CompletionResultType]::ParameterName, 'The profile in the file [default: `default`, or the only one]')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--min-pause', '--min-pause', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections that paused at least this long')
            [CompletionResult]::new('--gen', '--gen', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections of these generations')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'Units of sizes: iec (KiB), si (kB), or bytes')
            [CompletionResult]::new('--alloc', '--alloc', [CompletionResultType]::ParameterName, 'Show what allocates, by type and by method, from the runtime''s samples. On .NET 8 and 9 it also sends other events then, such as one for each finalized object')
            [CompletionResult]::new('--no-names', '--no-names', [CompletionResultType]::ParameterName, 'Omit the names of types and methods. At level roots they lengthen each pause slightly, at the other levels the runtime lists its methods when the watch ends')
            [CompletionResult]::new('--blocks', '--blocks', [CompletionResultType]::ParameterName, 'Keep every moved and surviving range and every root, not only totals')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail (exit code 11) if data is lost or incomplete')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;ps' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Report format; text is a table')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --format json')
            [CompletionResult]::new('--why', '--why', [CompletionResultType]::ParameterName, 'Also list processes that cannot be watched, and say why')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'gcwatch;report' {
            [CompletionResult]::new('--assert', '--assert', [CompletionResultType]::ParameterName, 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it')
            [CompletionResult]::new('--assert-file', '--assert-file', [CompletionResultType]::ParameterName, 'Read more assertions from a TOML file, which holds a list for each profile')
            [CompletionResult]::new('--assert-profile', '--assert-profile', [CompletionResultType]::ParameterName, 'The profile in the file [default: `default`, or the only one]')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]')
            [CompletionResult]::new('--min-pause', '--min-pause', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections that paused at least this long')
            [CompletionResult]::new('--gen', '--gen', [CompletionResultType]::ParameterName, 'text, csv, ndjson: show collections of these generations')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'Units of sizes: iec (KiB), si (kB), or bytes')
            [CompletionResult]::new('--blocks', '--blocks', [CompletionResultType]::ParameterName, 'Keep every moved and surviving range and every root, not only totals')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail (exit code 11) if data is lost or incomplete')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;graph' {
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The process id, spelt as in the .NET tools')
            [CompletionResult]::new('--process-id', '--process-id', [CompletionResultType]::ParameterName, 'The process id, spelt as in the .NET tools')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'The one .NET process with this name')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'The one .NET process with this name')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Keep the graph in this file; as one for PerfView and Visual Studio if its name ends with .gcdump [default: it is only shown]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Keep the graph in this file; as one for PerfView and Visual Studio if its name ends with .gcdump [default: it is only shown]')
            [CompletionResult]::new('--within', '--within', [CompletionResultType]::ParameterName, 'How long to wait for a collection of the program')
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Take it when a collection meets this condition, such as `heap.after > 500MiB`: watch until then, and use the next collection. Can be given more than once')
            [CompletionResult]::new('--deadline', '--deadline', [CompletionResultType]::ParameterName, 'How long the copy of the process may live')
            [CompletionResult]::new('--again', '--again', [CompletionResultType]::ParameterName, 'Take a second graph after this time, and show what is new, gone and the same. All objects are followed meanwhile, so gen2 collections block the program. With --output app.gcgraph, the first one is kept as app-before.gcgraph')
            [CompletionResult]::new('--profiler-path', '--profiler-path', [CompletionResultType]::ParameterName, 'Use this build of the profiler library')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Report format')
            [CompletionResult]::new('--top', '--top', [CompletionResultType]::ParameterName, 'How many types, objects and paths to show')
            [CompletionResult]::new('--type', '--type', [CompletionResultType]::ParameterName, 'Show what holds the objects of this type')
            [CompletionResult]::new('--object', '--object', [CompletionResultType]::ParameterName, 'Show the object at this address, and what holds it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'Units of sizes: iec (KiB), si (kB), or bytes')
            [CompletionResult]::new('--induce', '--induce', [CompletionResultType]::ParameterName, 'Do not wait: induce a full, blocking collection')
            [CompletionResult]::new('--pause-ok', '--pause-ok', [CompletionResultType]::ParameterName, 'Where the process cannot be copied: walk its heap while the program stands still. An estimate of how long is shown before')
            [CompletionResult]::new('--strings', '--strings', [CompletionResultType]::ParameterName, 'Keep the contents of strings in the file; they may be secrets')
            [CompletionResult]::new('--browse', '--browse', [CompletionResultType]::ParameterName, 'Look around in it, in the terminal: types, what keeps what alive, objects with their fields and paths (? shows all keys)')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log each step (-vv: everything)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;diff' {
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'A change that must not occur, such as `gen2.per_gib > +10%` (exit code 10); can be given more than once. With several runs a side it must also be more than the spread between runs')
            [CompletionResult]::new('--min-effect', '--min-effect', [CompletionResultType]::ParameterName, 'Call a difference better or worse only from this percentage on [default: 5]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Report format; text is a table')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'Units of sizes: iec (KiB), si (kB), or bytes')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Compare nothing (exit code 11) if the runs differ in program, arguments, runtime, system, GC, processors or level, if a side is twice as long as the other, or if data is lost or incomplete')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'gcwatch;try' {
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'A variant: variables of the environment for the command, separated by commas; can be given more than once [default: the settings of the GC that the program''s runtime has]')
            [CompletionResult]::new('--runs', '--runs', [CompletionResultType]::ParameterName, 'Runs of each variant that count')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Runs of each variant before them that do not count')
            [CompletionResult]::new('--metric', '--metric', [CompletionResultType]::ParameterName, 'Also compare a number that the command prints on stdout: a regular expression with one group, such as `(\d+) requests/s`; the last match counts, and decides instead of the time')
            [CompletionResult]::new('--goal', '--goal', [CompletionResultType]::ParameterName, 'Show the settings of the best variant for this only [default: for each]')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'A change that must not occur, such as `gen2.per_gib > +10%` (exit code 10); can be given more than once. With several runs a side it must also be more than the spread between runs')
            [CompletionResult]::new('--min-effect', '--min-effect', [CompletionResultType]::ParameterName, 'Call a difference better or worse only from this percentage on [default: 5]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Report format; text is a table')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write; `-` is stdout')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--units', '--units', [CompletionResultType]::ParameterName, 'Units of sizes: iec (KiB), si (kB), or bytes')
            [CompletionResult]::new('--higher-is-better', '--higher-is-better', [CompletionResultType]::ParameterName, 'More is better for --metric, not less')
            [CompletionResult]::new('--ignore-failure', '--ignore-failure', [CompletionResultType]::ParameterName, 'Go on if a run fails; its exit code is not looked at')
            [CompletionResult]::new('--show-output', '--show-output', [CompletionResultType]::ParameterName, 'Show what the commands print, on stderr')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
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
        'gcwatch;help' {
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Start a program and watch it from its first collection')
            [CompletionResult]::new('attach', 'attach', [CompletionResultType]::ParameterValue, 'Watch a process that is already running')
            [CompletionResult]::new('ps', 'ps', [CompletionResultType]::ParameterValue, 'List .NET processes, and whether they can be watched')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Report on recordings (.nettrace)')
            [CompletionResult]::new('graph', 'graph', [CompletionResultType]::ParameterValue, 'Take a graph of the whole heap of a process, or read one: what is there, and what holds it')
            [CompletionResult]::new('diff', 'diff', [CompletionResultType]::ParameterValue, 'Compare recordings or JSON documents: one with one, or several runs with several')
            [CompletionResult]::new('try', 'try', [CompletionResultType]::ParameterValue, 'Compare settings of the GC, or several commands, in many runs of each')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show which options are in force, and where each comes from')
            [CompletionResult]::new('metrics', 'metrics', [CompletionResultType]::ParameterValue, 'List the metrics that --assert can check')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print the JSON Schema of the document and of the NDJSON lines')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual page (roff)')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'gcwatch;help;run' {
            break
        }
        'gcwatch;help;attach' {
            break
        }
        'gcwatch;help;ps' {
            break
        }
        'gcwatch;help;report' {
            break
        }
        'gcwatch;help;graph' {
            break
        }
        'gcwatch;help;diff' {
            break
        }
        'gcwatch;help;try' {
            break
        }
        'gcwatch;help;config' {
            break
        }
        'gcwatch;help;metrics' {
            break
        }
        'gcwatch;help;schema' {
            break
        }
        'gcwatch;help;completions' {
            break
        }
        'gcwatch;help;man' {
            break
        }
        'gcwatch;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
