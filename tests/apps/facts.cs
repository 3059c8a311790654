// Prints facts about its process, and collects three times.
//
//   facts
//
// stdout: "ready pid= server= concurrent= version= arch= os= processors= reserved_gib=", then "done gc0= gc1= gc2=".
// reserved_gib is address space: a heap with regions reserves a range of hundreds of GiB.
using System;
using System.IO;
using System.Linq;
using System.Runtime;
using System.Runtime.InteropServices;

static class Facts
{
    static void Main()
    {
        // Background collections are enabled if the initial latency mode is Interactive.
        bool concurrent = GCSettings.LatencyMode == GCLatencyMode.Interactive;
        App.Ready($"server={GCSettings.IsServerGC} concurrent={concurrent} version={Environment.Version} "
            + $"arch={RuntimeInformation.ProcessArchitecture} os={(OperatingSystem.IsLinux() ? "Linux" : "other")} "
            + $"processors={Environment.ProcessorCount} reserved_gib={ReservedBytes() >> 30}");
        for (int generation = 0; generation < 3; generation++) GC.Collect(generation);
        Console.WriteLine($"done {App.Counts()}");
    }

    static long ReservedBytes()
    {
        string line = File.ReadLines("/proc/self/status").First(text => text.StartsWith("VmSize:"));
        return long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[^2].Trim().Split('\t')[^1]) << 10;
    }
}
