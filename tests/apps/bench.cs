// The load for comparing pauses: many old objects that refer to each other, and a fixed amount of short-lived garbage,
// some of which the old objects hold.
//
//   bench [old=N] [iterations=N]
//
// stdout: "ready pid=N", at the end "done old= iterations= allocated_bytes= wall_ns= gc0= gc1= gc2= pause_ns= checksum=".
// The environment (DOTNET_GCgen0size, DOTNET_gcServer) decides how often it collects. wall_ns and pause_ns cover the
// iterations only, the counts the whole process.
using System;
using System.Diagnostics;

static class Bench
{
    sealed class Node
    {
        public Node Next;
        public Node Young;
        public long Value;
    }

    static int Main(string[] args)
    {
        int count = App.Number(args, "old", 100_000);
        int iterations = App.Number(args, "iterations", 10_000_000);
        var old = new Node[count];
        for (int i = 0; i < count; i++) old[i] = new Node { Value = i };
        ulong state = 88172645463325252;
        for (int i = 0; i < count; i++) old[i].Next = old[App.Random(ref state) % (ulong)count];
        GC.Collect();
        GC.Collect();
        App.Ready();

        var pauseBefore = GC.GetTotalPauseDuration();
        long allocatedBefore = GC.GetAllocatedBytesForCurrentThread();
        var clock = Stopwatch.StartNew();
        long checksum = 0;
        for (int i = 0; i < iterations; i++)
        {
            var node = new Node { Value = i };
            if (i % 16 == 0)
            {
                var parent = old[App.Random(ref state) % (ulong)count];
                checksum = checksum * 31 + (parent.Young?.Value ?? parent.Next.Value);
                parent.Young = node;
            }
        }
        clock.Stop();
        long pauseNs = (GC.GetTotalPauseDuration() - pauseBefore).Ticks * 100;
        long allocated = GC.GetAllocatedBytesForCurrentThread() - allocatedBefore;
        GC.KeepAlive(old);
        Console.WriteLine($"done old={count} iterations={iterations} allocated_bytes={allocated} "
            + $"wall_ns={clock.Elapsed.Ticks * 100} {App.Counts()} "
            + $"pause_ns={pauseNs} checksum={checksum:x}");
        return 0;
    }
}
