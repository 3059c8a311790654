// Makes and frees handles in a loop, on a number of threads.
//
//   threads=N        number of threads (1)
//
// Commands, one per line:
//   keep             keeps one pinned handle to a byte[1000], made in Demo.Keeper.Keep    "kept"
//   collect          collects                                                             "collected index=N"
//   exit             (or the end of stdin) ends the process
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Demo
{
    static class Program
    {
        static volatile bool s_stop;

        static void Main(string[] args)
        {
            var all = new Thread[App.Number(args, "threads", 1)];
            for (int i = 0; i < all.Length; i++)
            {
                all[i] = new Thread(Storm) { IsBackground = true };
                all[i].Start();
            }
            App.Ready();
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
            s_stop = true;
            foreach (Thread thread in all) thread.Join();
        }

        static void Storm()
        {
            var o = new object();
            while (!s_stop) GCHandle.Alloc(o, GCHandleType.Normal).Free();
        }

        static string Do(string[] words)
        {
            switch (words[0])
            {
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
