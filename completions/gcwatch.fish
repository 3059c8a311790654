# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_gcwatch_global_optspecs
    string join \n h/help V/version
end

function __fish_gcwatch_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_gcwatch_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_gcwatch_using_subcommand
    set -l cmd (__fish_gcwatch_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c gcwatch -n "__fish_gcwatch_needs_command" -s h -l help -d 'Print help'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -s V -l version -d 'Print version'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "run" -d 'Start a program and watch it from its first collection'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "attach" -d 'Watch a process that is already running'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "ps" -d 'List .NET processes, and whether they can be watched'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "report" -d 'Report on recordings (.nettrace)'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "graph" -d 'Take a graph of the whole heap of a process, or read one: what is there, and what holds it'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "diff" -d 'Compare recordings or JSON documents: one with one, or several runs with several'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "try" -d 'Compare settings of the GC, or several commands, in many runs of each'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "config" -d 'Show which options are in force, and where each comes from'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "metrics" -d 'List the metrics that --assert can check'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "schema" -d 'Print the JSON Schema of the document and of the NDJSON lines'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "man" -d 'Print the manual page (roff)'
complete -c gcwatch -n "__fish_gcwatch_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l only -d 'With --follow: watch only processes with this name, such as testhost; can be given more than once' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l repeat -d 'Run the command so many times, one after the other. The files of --output and --record get the number of the run in their names: gc-1.json, gc-2.json' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l level -d 'basic: pauses and sizes; moves: also what moved and survived; roots: also what held objects [default: roots, or what the target allows; in `attach` roots only in sampling windows if blocking collections would take long]' -r -f -a "basic\t''
moves\t''
roots\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l sample -d 'Watch roots only in sampling windows: N collections, or a length of time, in each interval, such as `1/30s` or `2s/30s`. Between windows background GC is on' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l between -d 'With --sample: the level between the windows' -r -f -a "basic\t''
moves\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l record -d 'Also write the raw stream to a file that `gcwatch report`, PerfView and dotnet-trace read. Its name may contain {pid}, {name} and {time}. If FILE is a directory, gcwatch chooses the name' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l rotate -d 'Start a new file after SIZE (100MiB, 1GB), at the next point from which it can be read alone; keep the last N files (0: all). Their number goes before the extension' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l duration -d 'Stop watching after this time; the target keeps running' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l gcs -d 'Stop watching after this many complete collections at the level watched (collections of the 100 ms after that are shown too)' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l stop-on -d 'Stop watching at the first collection for which this holds, such as `pause > 200ms`, and exit with 10; can be given more than once' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l keep-recording -d 'With --stop-on and --rotate: go on watching, and keep the files with the collection, the one before and the one after, at most N times' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l graph-at -d 'Take a graph of the heap when a collection meets this condition for the first time, such as `heap.after > 500MiB`, and go on watching; can be given more than once. The program stands still while it is copied, at its next blocking collection' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l graph-output -d 'The file for --graph-at, which gcwatch graph reads [default: gcwatch-PID.gcgraph]' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l profiler-path -d 'Use this build of the profiler library' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l assert -d 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l assert-file -d 'Read more assertions from a TOML file, which holds a list for each profile' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l assert-profile -d 'The profile in the file [default: `default`, or the only one]' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l warmup -d 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l format -d 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr' -r -f -a "text\t'A line per collection as it happens, then a summary'
json\t'One document'
ndjson\t'A line per collection, as it happens'
csv\t'A row per collection'
markdown\t'For a comment on a pull request or a job summary'
junit\t'The assertions as test cases (XML)'
github\t'Annotations of a workflow of GitHub: what fails, what could not be judged, what gcwatch found'
openmetrics\t'For a metrics scraper; the output file is replaced every few seconds'"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -s o -l output -d 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l min-pause -d 'text, csv, ndjson: show collections that paused at least this long' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l gen -d 'text, csv, ndjson: show collections of these generations' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l color -d 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l units -d 'Units of sizes: iec (KiB), si (kB), or bytes' -r -f -a "iec\t''
si\t''
bytes\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l follow -d 'Watch every .NET process that the command starts, not only the first; each has its own report'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l alloc -d 'Show what allocates, by type and by method, from the runtime\'s samples. On .NET 8 and 9 it also sends other events then, such as one for each finalized object'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l no-names -d 'Omit the names of types and methods. At level roots they lengthen each pause slightly, at the other levels the runtime lists its methods when the watch ends'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l blocks -d 'Keep every moved and surviving range and every root, not only totals'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -l strict -d 'Fail (exit code 11) if data is lost or incomplete'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -s q -l quiet -d 'Show only errors'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -s v -l verbose -d 'Log each step (-vv: everything)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s p -l process-id -d 'The process id, spelt as in the .NET tools' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s n -l name -d 'The one .NET process with this name' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l diagnostic-port -d 'The path of a diagnostics socket or pipe, optionally `,connect`' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l level -d 'basic: pauses and sizes; moves: also what moved and survived; roots: also what held objects [default: roots, or what the target allows; in `attach` roots only in sampling windows if blocking collections would take long]' -r -f -a "basic\t''
moves\t''
roots\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l sample -d 'Watch roots only in sampling windows: N collections, or a length of time, in each interval, such as `1/30s` or `2s/30s`. Between windows background GC is on' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l between -d 'With --sample: the level between the windows' -r -f -a "basic\t''
moves\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l record -d 'Also write the raw stream to a file that `gcwatch report`, PerfView and dotnet-trace read. Its name may contain {pid}, {name} and {time}. If FILE is a directory, gcwatch chooses the name' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l rotate -d 'Start a new file after SIZE (100MiB, 1GB), at the next point from which it can be read alone; keep the last N files (0: all). Their number goes before the extension' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l duration -d 'Stop watching after this time; the target keeps running' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l gcs -d 'Stop watching after this many complete collections at the level watched (collections of the 100 ms after that are shown too)' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l stop-on -d 'Stop watching at the first collection for which this holds, such as `pause > 200ms`, and exit with 10; can be given more than once' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l keep-recording -d 'With --stop-on and --rotate: go on watching, and keep the files with the collection, the one before and the one after, at most N times' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l graph-at -d 'Take a graph of the heap when a collection meets this condition for the first time, such as `heap.after > 500MiB`, and go on watching; can be given more than once. The program stands still while it is copied, at its next blocking collection' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l graph-output -d 'The file for --graph-at, which gcwatch graph reads [default: gcwatch-PID.gcgraph]' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l profiler-path -d 'Use this build of the profiler library' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l max-blocking-gc -d 'Watch roots continuously only if a blocking gen2 collection is estimated to take at most this long; otherwise in windows, as with --sample 1/30s' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l step-back -d 'Switch to windows once gen2 collections that watching makes blocking have stopped the program for this share of the time (measured over at least 10 s), or one of them for this long' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l assert -d 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l assert-file -d 'Read more assertions from a TOML file, which holds a list for each profile' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l assert-profile -d 'The profile in the file [default: `default`, or the only one]' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l warmup -d 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l format -d 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr' -r -f -a "text\t'A line per collection as it happens, then a summary'
json\t'One document'
ndjson\t'A line per collection, as it happens'
csv\t'A row per collection'
markdown\t'For a comment on a pull request or a job summary'
junit\t'The assertions as test cases (XML)'
github\t'Annotations of a workflow of GitHub: what fails, what could not be judged, what gcwatch found'
openmetrics\t'For a metrics scraper; the output file is replaced every few seconds'"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s o -l output -d 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l min-pause -d 'text, csv, ndjson: show collections that paused at least this long' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l gen -d 'text, csv, ndjson: show collections of these generations' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l color -d 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l units -d 'Units of sizes: iec (KiB), si (kB), or bytes' -r -f -a "iec\t''
si\t''
bytes\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l alloc -d 'Show what allocates, by type and by method, from the runtime\'s samples. On .NET 8 and 9 it also sends other events then, such as one for each finalized object'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l no-names -d 'Omit the names of types and methods. At level roots they lengthen each pause slightly, at the other levels the runtime lists its methods when the watch ends'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l blocks -d 'Keep every moved and surviving range and every root, not only totals'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -l strict -d 'Fail (exit code 11) if data is lost or incomplete'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s q -l quiet -d 'Show only errors'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s v -l verbose -d 'Log each step (-vv: everything)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand ps" -l format -d 'Report format; text is a table' -r -f -a "text\t''
json\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand ps" -l json -d 'Short for --format json'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand ps" -l why -d 'Also list processes that cannot be watched, and say why'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand ps" -s h -l help -d 'Print help'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l assert -d 'A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once. Without --level, gcwatch uses the lowest level that can check it' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l assert-file -d 'Read more assertions from a TOML file, which holds a list for each profile' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l assert-profile -d 'The profile in the file [default: `default`, or the only one]' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l warmup -d 'Collections that begin in this time from the start of the watch count for no assertion, such as `10s`' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l format -d 'Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub and without this option, gcwatch also writes annotations to stderr' -r -f -a "text\t'A line per collection as it happens, then a summary'
json\t'One document'
ndjson\t'A line per collection, as it happens'
csv\t'A row per collection'
markdown\t'For a comment on a pull request or a job summary'
junit\t'The assertions as test cases (XML)'
github\t'Annotations of a workflow of GitHub: what fails, what could not be judged, what gcwatch found'
openmetrics\t'For a metrics scraper; the output file is replaced every few seconds'"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -s o -l output -d 'Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l min-pause -d 'text, csv, ndjson: show collections that paused at least this long' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l gen -d 'text, csv, ndjson: show collections of these generations' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l color -d 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l units -d 'Units of sizes: iec (KiB), si (kB), or bytes' -r -f -a "iec\t''
si\t''
bytes\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l blocks -d 'Keep every moved and surviving range and every root, not only totals'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -l strict -d 'Fail (exit code 11) if data is lost or incomplete'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -s q -l quiet -d 'Show only errors'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -s v -l verbose -d 'Log each step (-vv: everything)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -s p -l process-id -d 'The process id, spelt as in the .NET tools' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -s n -l name -d 'The one .NET process with this name' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -s o -l output -d 'Keep the graph in this file; as one for PerfView and Visual Studio if its name ends with .gcdump [default: it is only shown]' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l within -d 'How long to wait for a collection of the program' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l at -d 'Take it when a collection meets this condition, such as `heap.after > 500MiB`: watch until then, and use the next collection. Can be given more than once' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l deadline -d 'How long the copy of the process may live' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l again -d 'Take a second graph after this time, and show what is new, gone and the same. All objects are followed meanwhile, so gen2 collections block the program. With --output app.gcgraph, the first one is kept as app-before.gcgraph' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l profiler-path -d 'Use this build of the profiler library' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l format -d 'Report format' -r -f -a "text\t'For people'
json\t'One JSON document'"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l top -d 'How many types, objects and paths to show' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l type -d 'Show what holds the objects of this type' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l object -d 'Show the object at this address, and what holds it' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l color -d 'When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l units -d 'Units of sizes: iec (KiB), si (kB), or bytes' -r -f -a "iec\t''
si\t''
bytes\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l induce -d 'Do not wait: induce a full, blocking collection'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l pause-ok -d 'Where the process cannot be copied: walk its heap while the program stands still. An estimate of how long is shown before'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l strings -d 'Keep the contents of strings in the file; they may be secrets'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -l browse -d 'Look around in it, in the terminal: types, what keeps what alive, objects with their fields and paths (? shows all keys)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -s v -l verbose -d 'Log each step (-vv: everything)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand graph" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -l fail-on -d 'A change that must not occur, such as `gen2.per_gib > +10%` (exit code 10); can be given more than once. With several runs a side it must also be more than the spread between runs' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -l min-effect -d 'Call a difference better or worse only from this percentage on [default: 5]' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -l format -d 'Report format; text is a table' -r -f -a "text\t''
json\t''
markdown\t''
github\t'Annotations of a workflow of GitHub'"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -s o -l output -d 'Where to write; `-` is stdout' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -l units -d 'Units of sizes: iec (KiB), si (kB), or bytes' -r -f -a "iec\t''
si\t''
bytes\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -l strict -d 'Compare nothing (exit code 11) if the runs differ in program, arguments, runtime, system, GC, processors or level, if a side is twice as long as the other, or if data is lost or incomplete'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l env -d 'A variant: variables of the environment for the command, separated by commas; can be given more than once [default: the settings of the GC that the program\'s runtime has]' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l runs -d 'Runs of each variant that count' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l warmup -d 'Runs of each variant before them that do not count' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l metric -d 'Also compare a number that the command prints on stdout: a regular expression with one group, such as `(\\d+) requests/s`; the last match counts, and decides instead of the time' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l goal -d 'Show the settings of the best variant for this only [default: for each]' -r -f -a "time\t'The shortest wall time, or the best --metric'
pause\t'The shortest pauses (p99)'
memory\t'The least memory'"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l fail-on -d 'A change that must not occur, such as `gen2.per_gib > +10%` (exit code 10); can be given more than once. With several runs a side it must also be more than the spread between runs' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l min-effect -d 'Call a difference better or worse only from this percentage on [default: 5]' -r
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l format -d 'Report format; text is a table' -r -f -a "text\t''
json\t''
markdown\t''
github\t'Annotations of a workflow of GitHub'"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -s o -l output -d 'Where to write; `-` is stdout' -r -F
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l units -d 'Units of sizes: iec (KiB), si (kB), or bytes' -r -f -a "iec\t''
si\t''
bytes\t''"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l higher-is-better -d 'More is better for --metric, not less'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l ignore-failure -d 'Go on if a run fails; its exit code is not looked at'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -l show-output -d 'Show what the commands print, on stderr'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand try" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand config" -s h -l help -d 'Print help'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand metrics" -s h -l help -d 'Print help'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand schema" -s h -l help -d 'Print help'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand completions" -s h -l help -d 'Print help'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand man" -s h -l help -d 'Print help'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "run" -d 'Start a program and watch it from its first collection'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "attach" -d 'Watch a process that is already running'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "ps" -d 'List .NET processes, and whether they can be watched'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "report" -d 'Report on recordings (.nettrace)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "graph" -d 'Take a graph of the whole heap of a process, or read one: what is there, and what holds it'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "diff" -d 'Compare recordings or JSON documents: one with one, or several runs with several'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "try" -d 'Compare settings of the GC, or several commands, in many runs of each'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "config" -d 'Show which options are in force, and where each comes from'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "metrics" -d 'List the metrics that --assert can check'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "schema" -d 'Print the JSON Schema of the document and of the NDJSON lines'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "man" -d 'Print the manual page (roff)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand help; and not __fish_seen_subcommand_from run attach ps report graph diff try config metrics schema completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -f -a "(gcwatch ps --format pids 2>/dev/null)"
complete -c gcwatch -n "__fish_gcwatch_using_subcommand attach" -s p -l process-id -f -a "(gcwatch ps --format pids 2>/dev/null)"
