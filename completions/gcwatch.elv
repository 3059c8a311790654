
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
            cand report 'The same reports from a recording (.nettrace)'
            cand diff 'Compare two recordings or JSON documents'
            cand config 'Show which options are in force, and where each comes from'
            cand metrics 'List what --assert can bound'
            cand schema 'Print the JSON Schema of the document and of the NDJSON lines'
            cand completions 'Print a completion script for a shell'
            cand man 'Print the manual page (roff)'
        }
        &'gcwatch;run'= {
            cand --only 'With --follow: only processes of this name, such as testhost; can be given more than once'
            cand --level 'basic: pauses and sizes; moves: and what moved and survived; roots: and what held it [default: roots, or what the target allows; in `attach` roots in windows where blocking would take long]'
            cand --sample 'Look at roots in windows only: at N collections, or for a time, each time the interval is over, such as `1/30s` or `2s/30s`. Between them background GC is on'
            cand --between 'With --sample: the level between the windows'
            cand --record 'Keep the raw stream as well: `gcwatch report`, PerfView and dotnet-trace read it. The name may hold {pid}, {name} and {time}; in a directory it gets a name of its own'
            cand --rotate 'Begin another file after SIZE (100MiB, 1GB), at the next point where it can be read alone, and keep the last N of them (0: all). Their number goes before the extension'
            cand --duration 'Stop watching after this time; the target goes on'
            cand --gcs 'Stop watching after this many complete collections at the level watched (those of the last 100 ms are shown too)'
            cand --profiler-path 'Another build of the profiler library'
            cand --assert 'A bound that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level the lowest level that can answer is watched'
            cand --assert-file 'More of them from a TOML file: lists of bounds by profile name'
            cand --assert-profile 'Which list of the file [default: `default`, or the only one]'
            cand --format 'text is live: a line per collection, then a summary'
            cand -o 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --output 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --min-pause 'text, csv, ndjson: show collections that paused at least this long'
            cand --gen 'text, csv, ndjson: show collections of these generations'
            cand --color 'When to colour [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]'
            cand --units 'KiB, kB, or plain bytes'
            cand --follow 'Watch every .NET process that the command starts, not only the first; each has its own report'
            cand --no-names 'At level roots: leave out names of types and methods, which cost a little of each pause'
            cand --blocks 'Keep every moved and surviving range and every root, not only totals'
            cand --strict 'Lost or incomplete data is a failure (exit code 11)'
            cand -q 'Only errors'
            cand --quiet 'Only errors'
            cand -v 'Say what is being done (-vv: every step)'
            cand --verbose 'Say what is being done (-vv: every step)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;attach'= {
            cand -p 'The same, as the .NET tools spell it'
            cand --process-id 'The same, as the .NET tools spell it'
            cand -n 'The one .NET process with this name'
            cand --name 'The one .NET process with this name'
            cand --diagnostic-port 'A diagnostics socket (or pipe) by its path, optionally `,connect`'
            cand --level 'basic: pauses and sizes; moves: and what moved and survived; roots: and what held it [default: roots, or what the target allows; in `attach` roots in windows where blocking would take long]'
            cand --sample 'Look at roots in windows only: at N collections, or for a time, each time the interval is over, such as `1/30s` or `2s/30s`. Between them background GC is on'
            cand --between 'With --sample: the level between the windows'
            cand --record 'Keep the raw stream as well: `gcwatch report`, PerfView and dotnet-trace read it. The name may hold {pid}, {name} and {time}; in a directory it gets a name of its own'
            cand --rotate 'Begin another file after SIZE (100MiB, 1GB), at the next point where it can be read alone, and keep the last N of them (0: all). Their number goes before the extension'
            cand --duration 'Stop watching after this time; the target goes on'
            cand --gcs 'Stop watching after this many complete collections at the level watched (those of the last 100 ms are shown too)'
            cand --profiler-path 'Another build of the profiler library'
            cand --max-blocking-gc 'Watch roots all the time only where a blocking gen2 collection is estimated to take at most this long; else in windows, as with --sample 1/30s'
            cand --step-back 'Go on in windows as soon as gen2 collections that block because of watching have stopped the program for this share of the time (of 10 s at least), or one of them for this long'
            cand --assert 'A bound that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level the lowest level that can answer is watched'
            cand --assert-file 'More of them from a TOML file: lists of bounds by profile name'
            cand --assert-profile 'Which list of the file [default: `default`, or the only one]'
            cand --format 'text is live: a line per collection, then a summary'
            cand -o 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --output 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --min-pause 'text, csv, ndjson: show collections that paused at least this long'
            cand --gen 'text, csv, ndjson: show collections of these generations'
            cand --color 'When to colour [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]'
            cand --units 'KiB, kB, or plain bytes'
            cand --no-names 'At level roots: leave out names of types and methods, which cost a little of each pause'
            cand --blocks 'Keep every moved and surviving range and every root, not only totals'
            cand --strict 'Lost or incomplete data is a failure (exit code 11)'
            cand -q 'Only errors'
            cand --quiet 'Only errors'
            cand -v 'Say what is being done (-vv: every step)'
            cand --verbose 'Say what is being done (-vv: every step)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;ps'= {
            cand --format 'text is a table'
            cand --json 'The same as --format json'
            cand --why 'Also processes that cannot be watched, and why'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'gcwatch;report'= {
            cand --assert 'A bound that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level the lowest level that can answer is watched'
            cand --assert-file 'More of them from a TOML file: lists of bounds by profile name'
            cand --assert-profile 'Which list of the file [default: `default`, or the only one]'
            cand --format 'text is live: a line per collection, then a summary'
            cand -o 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --output 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]'
            cand --min-pause 'text, csv, ndjson: show collections that paused at least this long'
            cand --gen 'text, csv, ndjson: show collections of these generations'
            cand --color 'When to colour [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]'
            cand --units 'KiB, kB, or plain bytes'
            cand --blocks 'Keep every moved and surviving range and every root, not only totals'
            cand --strict 'Lost or incomplete data is a failure (exit code 11)'
            cand -q 'Only errors'
            cand --quiet 'Only errors'
            cand -v 'Say what is being done (-vv: every step)'
            cand --verbose 'Say what is being done (-vv: every step)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'gcwatch;diff'= {
            cand --fail-on 'A change that must not be, such as `pause.p99 > +10%` (exit code 10); can be given more than once'
            cand --format 'text is a table'
            cand -o 'Where to write; `-` is stdout'
            cand --output 'Where to write; `-` is stdout'
            cand --color 'When to colour'
            cand --units 'KiB, kB, or plain bytes'
            cand -h 'Print help'
            cand --help 'Print help'
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
    ]
    $completions[$command]
}
