// Makes and frees handles in a loop, on as many threads as it is told, and says how fast that is.
//
//   threads=N        how many threads do so (1)
//
// Commands, one per line:
//   rate MS          counts for so many milliseconds                                      "rated handles=N us=T"
//   make N           makes and frees N handles on the threads as they go on               "made handles=N"
//   keep             keeps one pinned handle to a byte[1000], made in Demo.Keeper.Keep    "kept"
//   collect          collects                                                             "collected index=N"
//   exit             (or the end of stdin) ends the process
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Demo
{
    static class Program
    {
        // A cache line each.
        static readonly long[] s_made = new long[64 * 16];
        static volatile bool s_stop;

        static void Main(string[] args)
        {
            int threads = Math.Min(App.Number(args, "threads", 1), 64);
            var all = new Thread[threads];
            for (int i = 0; i < threads; i++)
            {
                int at = i * 16;
                all[i] = new Thread(() => Storm(at)) { IsBackground = true };
                all[i].Start();
            }
            App.Ready();
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
            s_stop = true;
            foreach (Thread thread in all) thread.Join();
        }

        static void Storm(int at)
        {
            var o = new object();
            while (!s_stop)
            {
                for (int i = 0; i < 1000; i++) GCHandle.Alloc(o, GCHandleType.Normal).Free();
                Volatile.Write(ref s_made[at], s_made[at] + 1000);
            }
        }

        static long Made()
        {
            long sum = 0;
            for (int at = 0; at < s_made.Length; at += 16) sum += Volatile.Read(ref s_made[at]);
            return sum;
        }

        static string Do(string[] words)
        {
            switch (words[0])
            {
                case "rate":
                {
                    long before = Made(), began = Stopwatch.GetTimestamp();
                    Thread.Sleep(int.Parse(words[1]));
                    long made = Made() - before, ticks = Stopwatch.GetTimestamp() - began;
                    return $"rated handles={made} us={ticks * 1000000 / Stopwatch.Frequency}";
                }
                case "make":
                {
                    long before = Made(), wanted = long.Parse(words[1]);
                    while (Made() - before < wanted) Thread.Sleep(1);
                    return $"made handles={Made() - before}";
                }
                case "keep":
                    Keeper.Keep();
                    return "kept";
                case "collect":
                    Collect();
                    return $"collected index={GC.CollectionCount(0)}";
                default:
                    return "what";
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Collect() => GC.Collect();
    }

    static class Keeper
    {
        static GCHandle s_kept;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Keep() => s_kept = GCHandle.Alloc(new byte[1000], GCHandleType.Pinned);
    }
}
