// A tree of processes as the arguments describe it; each node is this program.
//
//   tree [gcs=N] [exit=N] [hold=PATH] [abort] { [early] [off] [sh] gcs=N ... } { ... }
//
// A node starts its early children, collects N times (generations 0, 1, 2 in turn), prints "ready pid= parent= ports=",
// waits for the file PATH, starts its other children, waits for all, prints "node pid= parent= gc0= gc1= gc2=" and
// exits with the code or aborts. off: with DOTNET_EnableDiagnostics=0. sh: by a shell that waits.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;

static class Tree
{
    static int Main(string[] args)
    {
        var own = new List<string>();
        var children = new List<List<string>>();
        int depth = 0;
        foreach (string word in args)
        {
            if (word == "}") depth--;
            if (depth == 0 && word == "{") children.Add(new List<string>());
            else if (depth > 0) children[^1].Add(word);
            else if (word != "}") own.Add(word);
            if (word == "{") depth++;
        }
        string[] words = own.ToArray();
        var early = children.Where(child => child.TakeWhile(word => word != "{").Contains("early")).ToList();
        var started = early.Select(Start).ToList();

        int gcs = App.Number(words, "gcs", 0);
        for (int i = 0; i < gcs; i++) GC.Collect(i % 3);
        string parent = File.ReadAllText("/proc/self/stat").Split(") ")[^1].Split(' ')[1];
        App.Ready($"parent={parent} ports={Environment.GetEnvironmentVariable("DOTNET_DiagnosticPorts")}");
        string hold = words.FirstOrDefault(word => word.StartsWith("hold="));
        while (hold != null && !File.Exists(hold.Substring(5))) Thread.Sleep(10);
        started.AddRange(children.Except(early).Select(Start));
        foreach (var child in started) child.WaitForExit();
        Console.WriteLine($"node pid={Environment.ProcessId} parent={parent} {App.Counts()}");
        if (words.Contains("abort")) Environment.FailFast("as told");
        return App.Number(words, "exit", 0);
    }

    static Process Start(List<string> words)
    {
        string dll = Assembly.GetEntryAssembly().Location;
        string[] arguments = { "exec", "--fx-version", Environment.Version.ToString(3), dll };
        var own = words.TakeWhile(word => word != "{").ToList();
        var info = new ProcessStartInfo(own.Contains("sh") ? "/bin/sh" : Environment.ProcessPath);
        // With a command after it, the shell does not replace itself by the program.
        if (own.Contains("sh"))
            foreach (string word in new[] { "-c", "\"$0\" \"$@\"; exit $?", Environment.ProcessPath })
                info.ArgumentList.Add(word);
        foreach (string word in arguments.Concat(words)) info.ArgumentList.Add(word);
        if (own.Contains("off")) info.Environment["DOTNET_EnableDiagnostics"] = "0";
        return Process.Start(info);
    }
}
