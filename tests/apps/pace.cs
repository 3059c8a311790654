// Makes collections at a given pace, each with a given number of ranges, for `cargo xtask bench`.
//
//   pace [result=FILE] [per_second=N] [seconds=N] [collections=N] [blocks=N] [gen1_every=N]
//        [stamps=1] [background=1] [settle=1]
//
//   per_second  collections, induced one by one; 0: as many as it can
//   collections at most this many; 0: as many as the time allows
//   blocks      survivors of each, with a dead object between any two of them
//   gen1_every  each N-th collection is of gen1, as in any program (16): otherwise each collection leaves regions in
//               gen1, and the runtime writes more and more about regions
//   stamps      prints "gc N NS" after each: how many there were, and its end by the monotonic clock
//   background  makes background collections, one after the other, of a gen2 with this many blocks
//   settle      ends with a full blocking collection, which counts: it waits for a background one, which the runtime
//               counts from its start, and whose end would be unknown
//
// It begins at a line of stdin. stdout: "ready pid=N"; at the end, there and in FILE: "done gcs= wall_ns= stall_ns=
// median_ns= asked=". stall_ns is the time inside GC.Collect; with background, the time that a busy thread was stopped;
// median_ns is the median of that per collection.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Threading;

static class Pace
{
    static int Main(string[] args)
    {
        int perSecond = App.Number(args, "per_second", 100);
        int seconds = App.Number(args, "seconds", 10);
        int collections = App.Number(args, "collections", 0);
        var survivors = new object[App.Number(args, "blocks", 10)];
        int gen1Every = App.Number(args, "gen1_every", 16);
        bool stamps = App.Number(args, "stamps", 0) != 0;
        var each = new List<long>(100_000);
        string result = args.Where(arg => arg.StartsWith("result=")).Select(arg => arg.Substring(7)).LastOrDefault();
        bool background = App.Number(args, "background", 0) != 0;
        if (background) Grow(survivors);
        App.Ready();
        Console.ReadLine();
        int before = GC.CollectionCount(0);
        long second = Stopwatch.Frequency, start = Stopwatch.GetTimestamp(), stall = 0, asked = 0;
        while (true)
        {
            long now = Stopwatch.GetTimestamp();
            if (now - start >= seconds * second || (collections != 0 && asked >= collections)) break;
            if (perSecond != 0)
            {
                long wait = start + asked * second / perSecond - now;
                if (wait > 0)
                {
                    long milliseconds = wait * 1000 / second;
                    if (milliseconds > 0) Thread.Sleep((int)milliseconds);
                    else Thread.SpinWait(20);
                    continue;
                }
            }
            if (background)
            {
                each.Add(InBackground());
                stall += each[each.Count - 1];
                asked++;
                continue;
            }
            Fragment(survivors);
            long begin = Stopwatch.GetTimestamp();
            GC.Collect(asked % gen1Every == gen1Every - 1 ? 1 : 0, GCCollectionMode.Forced, true);
            long end = Stopwatch.GetTimestamp();
            each.Add(end - begin);
            stall += end - begin;
            asked++;
            // On Linux a tick is a nanosecond of the monotonic clock.
            if (stamps) Console.WriteLine($"gc {GC.CollectionCount(0)} {end}");
        }
        if (App.Number(args, "settle", 0) != 0) GC.Collect(2, GCCollectionMode.Forced, true);
        double ns = 1e9 / second;
        each.Sort();
        long median = each.Count == 0 ? 0 : each[each.Count / 2];
        string line = $"done gcs={GC.CollectionCount(0) - before} wall_ns={(long)((Stopwatch.GetTimestamp() - start) * ns)} "
            + $"stall_ns={(long)(stall * ns)} median_ns={(long)(median * ns)} asked={asked}";
        if (result != null) File.WriteAllText(result, line);
        Console.WriteLine(line);
        return 0;
    }

    // Makes old survivors with an old dead object between any two of them.
    static void Grow(object[] survivors)
    {
        // Dense, so that it is one block more; with a small heap the collection would block.
        ballast = new object[2_000_000];
        for (int i = 0; i < ballast.Length; i++) ballast[i] = new object();
        var between = new object[survivors.Length];
        for (int i = 0; i < survivors.Length; i++)
        {
            survivors[i] = new object();
            between[i] = new object();
        }
        GC.Collect();
        GC.Collect();
        // From here on every second object is dead: without this mode the runtime would compact them, and block.
        System.Runtime.GCSettings.LatencyMode = System.Runtime.GCLatencyMode.SustainedLowLatency;
        GC.KeepAlive(between);
    }

    // How long this thread was stopped, in ticks: the runtime's own count leaves out the stop for the survivor walk.
    static long InBackground()
    {
        long before = GC.GetGCMemoryInfo(GCKind.Background).Index;
        long second = Stopwatch.Frequency, stall = 0, begin = Stopwatch.GetTimestamp(), last = begin;
        GC.Collect(2, GCCollectionMode.Forced, false, false);
        for (int i = 1; ; i++)
        {
            long now = Stopwatch.GetTimestamp();
            if (now - last > second / 20_000) stall += now - last;
            last = now;
            if (i % 4096 != 0) continue;
            if (GC.GetGCMemoryInfo(GCKind.Background).Index != before) break;
            if (now - begin > 10 * second) throw new Exception("no background collection in 10 s");
        }
        return stall;
    }

    static object dead;
    static object[] ballast;

    static void Fragment(object[] survivors)
    {
        for (int i = 0; i < survivors.Length; i++)
        {
            survivors[i] = new object();
            dead = new object();
        }
        dead = null;
    }
}
