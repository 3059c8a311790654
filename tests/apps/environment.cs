// Prints which variables of the runtime or gcwatch are in its environment and in those of its children.
//
//   environment [child]
//
// stdout: "own NAMES", or "child NAMES" if started as a child; the parent then starts a child by Process.Start, which
// prints its line, and one by the C library's system(), with the environment that the process started with: "native
// NAMES". NAMES begin with GCWATCH_, CORECLR_, COR_ or DOTNET_Diag and are separated by commas, or are "none".
using System;
using System.Collections;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;

static class EnvironmentOfChildren
{
    [DllImport("libc")]
    static extern int system(string command);

    static void Main(string[] args)
    {
        bool child = args.Contains("child");
        string[] names = Environment.GetEnvironmentVariables().Cast<DictionaryEntry>().Select(e => (string)e.Key)
            .Where(name => new[] { "GCWATCH_", "CORECLR_", "COR_", "DOTNET_Diag" }.Any(start => name.StartsWith(start)))
            .OrderBy(name => name, StringComparer.Ordinal).DefaultIfEmpty("none").ToArray();
        Console.WriteLine($"{(child ? "child" : "own")} {string.Join(",", names)}");
        if (child) return;
        string dll = Assembly.GetEntryAssembly().Location;
        string version = Environment.Version.ToString(3);
        using var process = Process.Start(Environment.ProcessPath, $"exec --fx-version {version} \"{dll}\" child");
        process.WaitForExit();
        Console.Out.Flush();
        system("names=$(env | grep -E '^(GCWATCH_|CORECLR_|COR_|DOTNET_Diag)' | cut -d= -f1 | sort | paste -sd, -); "
            + "echo native ${names:-none}");
    }
}
