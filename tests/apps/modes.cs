// Asks for collections and suppresses them in every way, one after the other.
//
//   modes [wait] [storm=N]
//
// stdout: "ready pid=N"; with "wait" it waits for the line "go" first, and for the line "exit" at the end. For each
// phase "phase name= first= last= index= generation= compacted=": its collections have numbers above first and up to
// last; index, generation and compacted are those of the latest finished one. The start of a no-GC region adds
// "started=". At the end "done gc0= gc1= gc2=".
using System;
using System.Runtime;

static class Modes
{
    static object[] survivors = new object[4096];

    static int Main(string[] args)
    {
        bool wait = Array.IndexOf(args, "wait") >= 0;
        App.Ready();
        while (wait && Console.ReadLine() is string line && line != "go") { }
        foreach (GCCollectionMode mode in new[] { GCCollectionMode.Forced, GCCollectionMode.Optimized })
            foreach (int generation in new[] { 0, 1, 2 })
                Phase($"induced-{mode.ToString().ToLowerInvariant()}-{generation}",
                    () => GC.Collect(generation, mode, blocking: true));
        Phase("induced-sweeping", () => GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: false));
        Phase("induced-compacting", () => GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true));
        // GCCollectionMode.Aggressive, since .NET 7.
        Phase("induced-aggressive", () => GC.Collect(2, (GCCollectionMode)3, blocking: true, compacting: true));
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        survivors[0] = new byte[200_000];
        Phase("induced-large", () => GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true));

        foreach (GCLatencyMode mode in new[]
            { GCLatencyMode.LowLatency, GCLatencyMode.SustainedLowLatency, GCLatencyMode.Batch, GCLatencyMode.Interactive })
        {
            GCLatencyMode before = GCSettings.LatencyMode;
            Phase(mode.ToString().ToLowerInvariant(), () =>
            {
                GCSettings.LatencyMode = mode;
                Allocate(6_000_000);
            });
            GCSettings.LatencyMode = before;
        }

        // Enough room: no collection happens inside.
        NoGc("no-gc-kept", 1_000_000, () => Allocate(500_000));
        // More than the size of the region, which ends it.
        NoGc("no-gc-broken", 1_000_000, () => Allocate(6_000_000));

        int storm = App.Number(args, "storm", 1000);
        Phase("storm", () =>
        {
            int end = GC.CollectionCount(0) + storm;
            while (GC.CollectionCount(0) < end) Allocate(100_000);
        });
        // Waits for a background collection of the storm, which the program's end would cut off.
        Phase("induced-compacting", () => GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true));
        Console.WriteLine($"done {App.Counts()}");
        while (wait && Console.ReadLine() is string line && line != "exit") { }
        return 0;
    }

    static void NoGc(string name, long size, Action inside)
    {
        bool started = false;
        Phase(name + "-start", () => started = GC.TryStartNoGCRegion(size), () => $" started={started}");
        Phase(name, inside);
        Phase(name + "-end", () =>
        {
            if (GCSettings.LatencyMode == GCLatencyMode.NoGCRegion) GC.EndNoGCRegion();
        });
    }

    static void Phase(string name, Action action, Func<string> more = null)
    {
        int first = GC.CollectionCount(0);
        action();
        int last = GC.CollectionCount(0);
        GCMemoryInfo info = GC.GetGCMemoryInfo(GCKind.Any);
        Console.WriteLine($"phase name={name} first={first} last={last} index={info.Index} "
            + $"generation={info.Generation} compacted={info.Compacted}{more?.Invoke()}");
    }

    static ulong state = 88172645463325252;

    static void Allocate(int bytes)
    {
        for (int done = 0; done < bytes;)
        {
            ulong random = App.Random(ref state);
            var array = new byte[64 + random % 1000];
            survivors[(random >> 20) % (ulong)survivors.Length] = array;
            done += array.Length;
        }
    }
}
