// Loads itself repeatedly into collectible contexts, and unloads them during collections.
//
// Commands, one per line:
//   churn N          N times: loads a copy, whose method Demo.Plugin.Work makes a pinned handle to a byte[1000] that
//                    outlives it, holds one of its own objects and collects; unloads it, and collects until it is gone
//                                                                               "churned plugins=N unloaded=N"
//   collect          Demo.Program.Collect calls GC.Collect                      "collected index=N"
//   exit             (or the end of stdin) ends the process
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Threading;

namespace Demo
{
    static class Program
    {
        // Frees all but the newest ones.
        const int Kept = 64;
        static readonly Queue<GCHandle> s_kept = new Queue<GCHandle>();

        static void Main()
        {
            App.Ready();
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
        }

        static string Do(string[] words)
        {
            switch (words[0])
            {
                case "churn":
                    return Churn(int.Parse(words[1]));
                case "collect":
                    Collect();
                    return $"collected index={GC.CollectionCount(0)}";
                default:
                    return "what";
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Collect() => GC.Collect();

        static string Churn(int plugins)
        {
            byte[] image = File.ReadAllBytes(typeof(Program).Assembly.Location);
            int unloaded = 0;
            bool stop = false;
            // Collects while modules are unloaded.
            var collector = new Thread(() =>
            {
                while (!Volatile.Read(ref stop)) { GC.Collect(0); Thread.Sleep(1); }
            });
            collector.Start();
            for (int i = 0; i < plugins; i++)
            {
                WeakReference context = Load(image);
                for (int tries = 0; context.IsAlive && tries < 100; tries++)
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                }
                if (!context.IsAlive) unloaded++;
                while (s_kept.Count > Kept) s_kept.Dequeue().Free();
            }
            Volatile.Write(ref stop, true);
            collector.Join();
            return $"churned plugins={plugins} unloaded={unloaded}";
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static WeakReference Load(byte[] image)
        {
            var context = new AssemblyLoadContext("plugin", isCollectible: true);
            Type plugin = context.LoadFromStream(new MemoryStream(image)).GetType("Demo.Plugin");
            s_kept.Enqueue((GCHandle)plugin.GetMethod("Work").Invoke(null, null));
            context.Unload();
            return new WeakReference(context);
        }
    }

    public static class Plugin
    {
        class Own { public byte[] Bytes = new byte[100]; }

        static Own s_own;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static GCHandle Work()
        {
            s_own = new Own();
            GCHandle handle = GCHandle.Alloc(new byte[1000], GCHandleType.Pinned);
            GC.Collect(0);
            GC.KeepAlive(s_own);
            return handle;
        }
    }
}
