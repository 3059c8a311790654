// Does nothing, with a heap of a known size, and says how it is when it is asked.
//
//   idle [bytes=N]
//
//   bytes  what it holds in small arrays
//
// stdout: "ready pid=N"; for each line of stdin "now heap= allocated= gcs=": bytes of the heap with what is dead in it,
// bytes allocated since its start by all threads, and collections. It ends with stdin.
using System;

static class Idle
{
    static void Main(string[] args)
    {
        var held = new byte[App.Number(args, "bytes", 2_000_000) / 1000][];
        for (int i = 0; i < held.Length; i++) held[i] = new byte[1000];
        App.Ready();
        while (Console.ReadLine() != null)
        {
            long heap = GC.GetTotalMemory(false), allocated = GC.GetTotalAllocatedBytes(true);
            Console.WriteLine($"now heap={heap} allocated={allocated} gcs={GC.CollectionCount(0)}");
        }
        GC.KeepAlive(held);
    }
}
