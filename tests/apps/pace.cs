// Collections at a pace of our choosing, each with a number of ranges of our choosing, for `cargo xtask bench`.
//
//   pace [result=FILE] [per_second=N] [seconds=N] [collections=N] [blocks=N] [gen1_every=N]
//        [stamps=1] [background=1] [settle=1]
//
//   per_second  collections, asked for one by one; 0: as many as it can
//   collections how many at most; 0: as many as the time allows
//   blocks      survivors of each, with a dead object between every two of them
//   gen1_every  each N-th collection is of generation 1, as in any program (16): without them, each leaves regions behind
//               in generation 1, and all that the runtime says of regions becomes more with each
//   stamps      stdout gets "gc N NS" after each: how many there were, and the monotonic clock where one ended
//   background  background collections, one after the other, of a generation 2 that has so many blocks
//   settle      a full blocking collection comes last, and is counted: no background one is left running then, which the
//               runtime counts from its start, and whose end is unknown
//
// It begins at a line of stdin. stdout: "ready pid=N"; at the end, there and in FILE:
// "done gcs= wall_ns= stall_ns= median_ns= asked=". stall_ns is the time inside GC.Collect, of background collections the
// time that a busy thread stood still; median_ns is the middle one of the collections.
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

    // Old survivors with an old dead object between every two of them.
    static void Grow(object[] survivors)
    {
        // Dense, so one block more; a small heap would be collected at once.
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
        // Half of it is free from now on; otherwise the runtime would rather compact that than collect beside the program.
        System.Runtime.GCSettings.LatencyMode = System.Runtime.GCLatencyMode.SustainedLowLatency;
        GC.KeepAlive(between);
    }

    // How long we stood still for one, in ticks: the runtime's own count leaves out the stop in which it tells survivors.
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
