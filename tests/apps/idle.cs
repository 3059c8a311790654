// Does nothing, with a heap of a known size, and says how it is when it is asked.
//
//   idle [bytes=N] [collect=1]
//
//   bytes    what it holds in small arrays
//   collect  it collects once at its start
//
// stdout: "ready pid=N"; for each line of stdin "now heap= allocated= gcs= committed= fragmented= info=": bytes of the heap
// with what is dead in it, bytes allocated since its start by all threads, and collections; and of the last collection
// bytes that were committed, that were free, and of the heap. It ends with stdin.
using System;

static class Idle
{
    static void Main(string[] args)
    {
        var held = new byte[App.Number(args, "bytes", 2_000_000) / 1000][];
        for (int i = 0; i < held.Length; i++) held[i] = new byte[1000];
        if (App.Number(args, "collect", 0) == 1) GC.Collect();
        App.Ready();
        while (Console.ReadLine() != null)
        {
            long heap = GC.GetTotalMemory(false), allocated = GC.GetTotalAllocatedBytes(true);
            var last = GC.GetGCMemoryInfo(GCKind.Any);
            Console.WriteLine($"now heap={heap} allocated={allocated} gcs={GC.CollectionCount(0)} "
                + $"committed={last.TotalCommittedBytes} fragmented={last.FragmentedBytes} info={last.HeapSizeBytes}");
        }
        GC.KeepAlive(held);
    }
}
