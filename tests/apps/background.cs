// Makes background collections of a large old graph while other threads allocate fast enough for foreground collections
// within them. Prints the GCMemoryInfo of each collection that it catches.
//
//   background [live=N] [threads=N] [rounds=N]
//
// stdout: "ready pid=N"; then the work; then for each caught collection a line
// "info kind=background|ephemeral|blocking index= generation= compacted= concurrent= pauses_ns=A,B",
// where B is 0 except for background collections; at the end "done gc0= gc1= gc2= checksum=".
using System;
using System.Collections.Generic;
using System.Threading;

static class Background
{
    sealed class Node
    {
        public Node Next, Other;
        public object Young;
    }

    static readonly SortedDictionary<long, string> caught = new SortedDictionary<long, string>();
    static volatile bool stop;

    static int Main(string[] args)
    {
        int live = App.Number(args, "live", 400_000), rounds = App.Number(args, "rounds", 4);
        Node[] old = Graph(live);
        GC.Collect();
        App.Ready();
        var threads = new Thread[App.Number(args, "threads", 2)];
        for (int i = 0; i < threads.Length; i++)
        {
            ulong seed = (ulong)i + 1;
            threads[i] = new Thread(() => Allocate(old, seed));
            threads[i].Start();
        }
        for (int round = 0; round < rounds; round++)
        {
            long before = GC.CollectionCount(0), full = 0;
            for (int look = 0; full <= before; look++)
            {
                // Asks again, because a background collection that was already running ignores the request.
                if (look % 2000 == 0) GC.Collect(2, GCCollectionMode.Forced, blocking: false);
                full = Catch();
                Thread.Sleep(0);
            }
        }
        stop = true;
        foreach (Thread thread in threads) thread.Join();
        GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
        Catch();
        foreach (string line in caught.Values) Console.WriteLine(line);
        long checksum = 0;
        foreach (Node node in old) checksum += node.Young == null ? 0 : 1;
        Console.WriteLine($"done {App.Counts()} checksum={checksum}");
        return 0;
    }

    static Node[] Graph(int live)
    {
        var nodes = new Node[live];
        for (int i = 0; i < live; i++) nodes[i] = new Node();
        ulong state = 88172645463325252;
        foreach (Node node in nodes)
        {
            node.Next = nodes[App.Random(ref state) % (ulong)live];
            node.Other = nodes[App.Random(ref state) % (ulong)live];
        }
        return nodes;
    }

    // Mostly garbage; the old graph holds some of it for a while, which then grows old, large arrays included.
    static void Allocate(Node[] old, ulong seed)
    {
        ulong state = seed * 0x9E3779B97F4A7C15 | 1;
        while (!stop)
        {
            ulong random = App.Random(ref state);
            var young = new byte[32 + random % 256];
            if (random % 64 == 0) old[(random >> 16) % (ulong)old.Length].Young = young;
            if (random % 8192 == 0) old[(random >> 16) % (ulong)old.Length].Young = new byte[100_000];
        }
    }

    // Notes the GCMemoryInfo of the latest collection of each kind; returns the number of the latest full one.
    static long Catch()
    {
        Note("ephemeral", GC.GetGCMemoryInfo(GCKind.Ephemeral));
        return Math.Max(Note("background", GC.GetGCMemoryInfo(GCKind.Background)),
            Note("blocking", GC.GetGCMemoryInfo(GCKind.FullBlocking)));
    }

    static long Note(string kind, GCMemoryInfo info)
    {
        // A background collection that ran blocking leaves only its number in its GCMemoryInfo.
        if (info.HeapSizeBytes == 0 || caught.ContainsKey(info.Index)) return info.Index;
        TimeSpan second = info.PauseDurations.Length > 1 ? info.PauseDurations[1] : TimeSpan.Zero;
        caught[info.Index] = $"info kind={kind} index={info.Index} generation={info.Generation} "
            + $"compacted={info.Compacted} concurrent={info.Concurrent} "
            + $"pauses_ns={info.PauseDurations[0].Ticks * 100},{second.Ticks * 100}";
        return info.Index;
    }
}
