// Collections at a pace of our choosing, each with a number of ranges of our choosing, for `cargo xtask bench`.
//
//   pace [result=FILE] [per_second=N] [seconds=N] [collections=N] [blocks=N] [gen1_every=N]
//        [stamps=1]
//
//   per_second  collections, asked for one by one; 0: as many as it can
//   collections how many at most; 0: as many as the time allows
//   blocks      survivors of each, with a dead object between every two of them
//   gen1_every  every so-manieth is of generation 1, as in any program (16): without them, each leaves regions behind
//               in generation 1, and all that the runtime says of regions becomes more with each
//   stamps      stdout gets "gc N NS" after each: how many there were, and the monotonic clock where one ended
//
// It begins at a line of stdin. stdout: "ready pid=N"; at the end, there and in FILE:
// "done gcs= wall_ns= stall_ns= asked=". stall_ns is the time inside GC.Collect.
using System;
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
        string result = args.Where(arg => arg.StartsWith("result=")).Select(arg => arg.Substring(7)).LastOrDefault();
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
            Fragment(survivors);
            long begin = Stopwatch.GetTimestamp();
            GC.Collect(asked % gen1Every == gen1Every - 1 ? 1 : 0, GCCollectionMode.Forced, true);
            long end = Stopwatch.GetTimestamp();
            stall += end - begin;
            asked++;
            // On Linux a tick is a nanosecond of the monotonic clock.
            if (stamps) Console.WriteLine($"gc {GC.CollectionCount(0)} {end}");
        }
        double ns = 1e9 / second;
        string line = $"done gcs={GC.CollectionCount(0) - before} wall_ns={(long)((Stopwatch.GetTimestamp() - start) * ns)} "
            + $"stall_ns={(long)(stall * ns)} asked={asked}";
        if (result != null) File.WriteAllText(result, line);
        Console.WriteLine(line);
        return 0;
    }

    static object dead;

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
