
use builtin;
use str;

set edit:completion:arg-completer[gcwatch] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'gcwatch'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'gcwatch'= {
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand run 'Start a program and watch it from its first collection'
            cand attach 'Watch a process that is already running'
            cand ps 'List .NET processes, and whether they can be watched'
            cand report 'Report on recordings (.nettrace)'
            cand graph 'Take a graph of the whole heap of a process, or read one: what is there, and what holds it'
            cand diff 'Compare recordings or JSON documents: one with one, or several runs with several'
            cand try 'Compare settings of the GC, or several commands, in many runs of each'
            cand config 'Show which options are in force, and where each comes from'
            cand metrics 'List the metrics that --assert can check'
            cand schema 'Print the JSON Schema of the document and of the NDJSON lines'
            cand completions 'Print a completion script for a shell'
            cand man 'Print the manual page (roff)'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'gcwatch;run'= {
            cand --only 'With --follow: watch only processes with this name, such as testhost; can be given more than once'
            cand --repeat 'Run the command so many times, one after the other. The files of --output and --record get the number of the run in their names: gc-1.json, gc-2.json'
            cand --level 'basic: pauses and sizes; moves: also what moved and survived; roots: also what held objects [default: roots, or what the target allows; in `attach` roots only in sampling windows if blocking collections would take long]'
            cand --sample 'Watch roots only in sampling windows: N collections, or a length of time, in each interval, such as `1/30s` or `2s/30s`. Between windows background GC is on'
            cand --between 'With --sample: the level between the windows'
            cand --record 'Also write the raw stream to a file that `gcwatch report`, PerfView and dotnet-trace read. Its name may contain {pid}, {name} and {time}. If FILE is a directory, gcwatch chooses the name'
            cand --rotate 'Start a new file after SIZE (100MiB, 1GB), at the next point from which it can be read alone; keep the last N files (0: all). Their number goes before the extension'
            cand --duration 'Stop watching after this time; the target keeps running'
            cand --gcs 'Stop watching after this many complete collections at the level watched (collections of the 100 ms after that are shown too)'
            cand --stop-on 'Stop watching at the first collection for which this holds, such as `pause > 200ms`, and exit with 10; can be given more than once'
            cand --keep-recording 'With --stop-on and --rotate: go on watching, and keep the files with the collection, the one before and the one after, at most N times'
            cand --graph-at 'Take a graph of the heap when a collection meets this condition for the first time, such as `heap.after > 500MiB`, and go on watching; can be given more than once. The program stands still while it is copied, at its next blocking collection'
            cand --graph-output 'The file for --graph-at, which gcwatch graph reads [default: gcwatch-PID.gcgraph]'
            cand --profiler-path 'Use this build of the profiler library'
            cand --assert 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it'
            cand --assert-file 'Read more assertions from a TOML file, which holds a list for each profile'
            cand --assert-profile 'The profile in the file [default: `default`, or the only one]'
            cand --warmup 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`'
            cand --format 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr'
            cand -o 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --output 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --min-pause 'text, csv, ndjson: show collections that paused at least this long'
            cand --gen 'text, csv, ndjson: show collections of these generations'
            cand --color 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]'
            cand --units 'Units of sizes: iec (KiB), si (kB), or bytes'
            cand --follow 'Watch every .NET process that the command starts, not only the first; each has its own report'
            cand --alloc 'Show what allocates, by type and by method, from the runtime''s samples. On .NET 8 and 9 it also sends other events then, such as one for each finalized object'
            cand --no-names 'Omit the names of types and methods. At level roots they lengthen each pause slightly, at the other levels the runtime lists its methods when the watch ends'
            cand --blocks 'Keep every moved and surviving range and every root, not only totals'
            cand --strict 'Fail (exit code 11) if data is lost or incomplete'
            cand -q 'Show only errors'
            cand --quiet 'Show only errors'
            cand -v 'Log each step (-vv: everything)'
            cand --verbose 'Log each step (-vv: everything)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;attach'= {
            cand -p 'The process id, spelt as in the .NET tools'
            cand --process-id 'The process id, spelt as in the .NET tools'
            cand -n 'The one .NET process with this name'
            cand --name 'The one .NET process with this name'
            cand --diagnostic-port 'The path of a diagnostics socket or pipe, optionally `,connect`'
            cand --level 'basic: pauses and sizes; moves: also what moved and survived; roots: also what held objects [default: roots, or what the target allows; in `attach` roots only in sampling windows if blocking collections would take long]'
            cand --sample 'Watch roots only in sampling windows: N collections, or a length of time, in each interval, such as `1/30s` or `2s/30s`. Between windows background GC is on'
            cand --between 'With --sample: the level between the windows'
            cand --record 'Also write the raw stream to a file that `gcwatch report`, PerfView and dotnet-trace read. Its name may contain {pid}, {name} and {time}. If FILE is a directory, gcwatch chooses the name'
            cand --rotate 'Start a new file after SIZE (100MiB, 1GB), at the next point from which it can be read alone; keep the last N files (0: all). Their number goes before the extension'
            cand --duration 'Stop watching after this time; the target keeps running'
            cand --gcs 'Stop watching after this many complete collections at the level watched (collections of the 100 ms after that are shown too)'
            cand --stop-on 'Stop watching at the first collection for which this holds, such as `pause > 200ms`, and exit with 10; can be given more than once'
            cand --keep-recording 'With --stop-on and --rotate: go on watching, and keep the files with the collection, the one before and the one after, at most N times'
            cand --graph-at 'Take a graph of the heap when a collection meets this condition for the first time, such as `heap.after > 500MiB`, and go on watching; can be given more than once. The program stands still while it is copied, at its next blocking collection'
            cand --graph-output 'The file for --graph-at, which gcwatch graph reads [default: gcwatch-PID.gcgraph]'
            cand --profiler-path 'Use this build of the profiler library'
            cand --max-blocking-gc 'Watch roots continuously only if a blocking gen2 collection is estimated to take at most this long; otherwise in windows, as with --sample 1/30s'
            cand --step-back 'Switch to windows once gen2 collections that watching makes blocking have stopped the program for this share of the time (measured over at least 10 s), or one of them for this long'
            cand --assert 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it'
            cand --assert-file 'Read more assertions from a TOML file, which holds a list for each profile'
            cand --assert-profile 'The profile in the file [default: `default`, or the only one]'
            cand --warmup 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`'
            cand --format 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr'
            cand -o 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --output 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --min-pause 'text, csv, ndjson: show collections that paused at least this long'
            cand --gen 'text, csv, ndjson: show collections of these generations'
            cand --color 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]'
            cand --units 'Units of sizes: iec (KiB), si (kB), or bytes'
            cand --alloc 'Show what allocates, by type and by method, from the runtime''s samples. On .NET 8 and 9 it also sends other events then, such as one for each finalized object'
            cand --no-names 'Omit the names of types and methods. At level roots they lengthen each pause slightly, at the other levels the runtime lists its methods when the watch ends'
            cand --blocks 'Keep every moved and surviving range and every root, not only totals'
            cand --strict 'Fail (exit code 11) if data is lost or incomplete'
            cand -q 'Show only errors'
            cand --quiet 'Show only errors'
            cand -v 'Log each step (-vv: everything)'
            cand --verbose 'Log each step (-vv: everything)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;ps'= {
            cand --format 'Report format; text is a table'
            cand --json 'Short for --format json'
            cand --why 'Also list processes that cannot be watched, and say why'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'gcwatch;report'= {
            cand --assert 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it'
            cand --assert-file 'Read more assertions from a TOML file, which holds a list for each profile'
            cand --assert-profile 'The profile in the file [default: `default`, or the only one]'
            cand --warmup 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`'
            cand --format 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr'
            cand -o 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --output 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --min-pause 'text, csv, ndjson: show collections that paused at least this long'
            cand --gen 'text, csv, ndjson: show collections of these generations'
            cand --color 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]'
            cand --units 'Units of sizes: iec (KiB), si (kB), or bytes'
            cand --blocks 'Keep every moved and surviving range and every root, not only totals'
            cand --strict 'Fail (exit code 11) if data is lost or incomplete'
            cand -q 'Show only errors'
            cand --quiet 'Show only errors'
            cand -v 'Log each step (-vv: everything)'
            cand --verbose 'Log each step (-vv: everything)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;graph'= {
            cand -p 'The process id, spelt as in the .NET tools'
            cand --process-id 'The process id, spelt as in the .NET tools'
            cand -n 'The one .NET process with this name'
            cand --name 'The one .NET process with this name'
            cand -o 'Keep the graph in this file; as one for PerfView and Visual Studio if its name ends with .gcdump [default: it is only shown]'
            cand --output 'Keep the graph in this file; as one for PerfView and Visual Studio if its name ends with .gcdump [default: it is only shown]'
            cand --within 'How long to wait for a collection of the program'
            cand --at 'Take it when a collection meets this condition, such as `heap.after > 500MiB`: watch until then, and use the next collection. Can be given more than once'
            cand --deadline 'How long the copy of the process may live'
            cand --again 'Take a second graph after this time, and show what is new, gone and the same. All objects are followed meanwhile, so gen2 collections block the program. With --output app.gcgraph, the first one is kept as app-before.gcgraph'
            cand --profiler-path 'Use this build of the profiler library'
            cand --format 'Report format'
            cand --top 'How many types, objects and paths to show'
            cand --type 'Show what holds the objects of this type'
            cand --object 'Show the object at this address, and what holds it'
            cand --color 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]'
            cand --units 'Units of sizes: iec (KiB), si (kB), or bytes'
            cand --induce 'Do not wait: induce a full, blocking collection'
            cand --pause-ok 'Where the process cannot be copied: walk its heap while the program stands still. An estimate of how long is shown before'
            cand --strings 'Keep the contents of strings in the file; they may be secrets'
            cand --browse 'Look around in it, in the terminal: types, what keeps what alive, objects with their fields and paths (? shows all keys)'
            cand -v 'Log each step (-vv: everything)'
            cand --verbose 'Log each step (-vv: everything)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;diff'= {
            cand --fail-on 'A change that must not occur, such as `gen2.per_gib > +10%` (exit code 10); can be given more than once. With several runs a side it must also be more than the spread between runs'
            cand --min-effect 'Call a difference better or worse only from this percentage on [default: 5]'
            cand --format 'Report format; text is a table'
            cand -o 'Where to write; `-` is stdout'
            cand --output 'Where to write; `-` is stdout'
            cand --color 'When to use colours'
            cand --units 'Units of sizes: iec (KiB), si (kB), or bytes'
            cand --strict 'Compare nothing (exit code 11) if the runs differ in program, arguments, runtime, system, GC, processors or level, if a side is twice as long as the other, or if data is lost or incomplete'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;try'= {
            cand --env 'A variant: variables of the environment for the command, separated by commas; can be given more than once [default: the settings of the GC that the program''s runtime has]'
            cand --runs 'Runs of each variant that count'
            cand --warmup 'Runs of each variant before them that do not count'
            cand --metric 'Also compare a number that the command prints on stdout: a regular expression with one group, such as `(\d+) requests/s`; the last match counts, and decides instead of the time'
            cand --goal 'Show the settings of the best variant for this only [default: for each]'
            cand --fail-on 'A change that must not occur, such as `gen2.per_gib > +10%` (exit code 10); can be given more than once. With several runs a side it must also be more than the spread between runs'
            cand --min-effect 'Call a difference better or worse only from this percentage on [default: 5]'
            cand --format 'Report format; text is a table'
            cand -o 'Where to write; `-` is stdout'
            cand --output 'Where to write; `-` is stdout'
            cand --color 'When to use colours'
            cand --units 'Units of sizes: iec (KiB), si (kB), or bytes'
            cand --higher-is-better 'More is better for --metric, not less'
            cand --ignore-failure 'Go on if a run fails; its exit code is not looked at'
            cand --show-output 'Show what the commands print, on stderr'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;config'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'gcwatch;metrics'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'gcwatch;schema'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'gcwatch;completions'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'gcwatch;man'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'gcwatch;help'= {
            cand run 'Start a program and watch it from its first collection'
            cand attach 'Watch a process that is already running'
            cand ps 'List .NET processes, and whether they can be watched'
            cand report 'Report on recordings (.nettrace)'
            cand graph 'Take a graph of the whole heap of a process, or read one: what is there, and what holds it'
            cand diff 'Compare recordings or JSON documents: one with one, or several runs with several'
            cand try 'Compare settings of the GC, or several commands, in many runs of each'
            cand config 'Show which options are in force, and where each comes from'
            cand metrics 'List the metrics that --assert can check'
            cand schema 'Print the JSON Schema of the document and of the NDJSON lines'
            cand completions 'Print a completion script for a shell'
            cand man 'Print the manual page (roff)'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'gcwatch;help;run'= {
        }
        &'gcwatch;help;attach'= {
        }
        &'gcwatch;help;ps'= {
        }
        &'gcwatch;help;report'= {
        }
        &'gcwatch;help;graph'= {
        }
        &'gcwatch;help;diff'= {
        }
        &'gcwatch;help;try'= {
        }
        &'gcwatch;help;config'= {
        }
        &'gcwatch;help;metrics'= {
        }
        &'gcwatch;help;schema'= {
        }
        &'gcwatch;help;completions'= {
        }
        &'gcwatch;help;man'= {
        }
        &'gcwatch;help;help'= {
        }
    ]
    $completions[$command]
}
