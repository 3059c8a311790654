// Starts itself once more with its own environment, and prints what happened.
//
//   grandchild [direct|sh] [exit=N] [work=N]
//
// stdout: its own "ready pid=N ports=VALUE profiling=VALUE"; the grandchild's "grandchild pid= ports= profiling= gc0=
// gc1= gc2="; any other line of the grandchild after "grandchild said "; at the end "done exit= elapsed_ms=" of the
// grandchild. ports is DOTNET_DiagnosticPorts, profiling CORECLR_ENABLE_PROFILING, "none" if unset. With sh a shell
// starts the grandchild.
using System;
using System.Diagnostics;
using System.Linq;
using System.Reflection;

static class Grandchild
{
    static int Main(string[] args)
    {
        string own = $"ports={Variable("DOTNET_DiagnosticPorts")} profiling={Variable("CORECLR_ENABLE_PROFILING")}";
        int exit = App.Number(args, "exit", 7), work = App.Number(args, "work", 10);
        if (args.Contains("grandchild"))
        {
            for (int i = 0; i < work; i++) GC.Collect(i % 3);
            Console.WriteLine($"grandchild pid={Environment.ProcessId} {own} {App.Counts()}");
            return exit;
        }
        App.Ready(own);
        var clock = Stopwatch.StartNew();
        using var process = Process.Start(StartInfo(args.Contains("sh"), $"grandchild exit={exit} work={work}"));
        while (process.StandardOutput.ReadLine() is string line)
            Console.WriteLine(line.StartsWith("grandchild ") ? line : "grandchild said " + line);
        process.WaitForExit();
        Console.WriteLine($"done exit={process.ExitCode} elapsed_ms={clock.ElapsedMilliseconds}");
        return 0;
    }

    static ProcessStartInfo StartInfo(bool shell, string arguments)
    {
        // Starts it as this process was started: by the host, with the same options before the assembly.
        string dll = Assembly.GetEntryAssembly().Location;
        string version = Environment.Version.ToString(3);
        string host = $"exec --fx-version {version} \"{dll}\" {arguments}";
        var info = shell
            ? new ProcessStartInfo("/bin/sh") { ArgumentList = { "-c", $"\"{Environment.ProcessPath}\" {host}" } }
            : new ProcessStartInfo(Environment.ProcessPath, host);
        info.RedirectStandardOutput = true;
        return info;
    }

    static string Variable(string name) => Environment.GetEnvironmentVariable(name) is string value && value != "" ? value : "none";
}
