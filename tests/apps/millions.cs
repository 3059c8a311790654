// Many objects that live forever, and a thread that measures how long the program stands still.
//
//   millions objects=N [allocate_mb=N]
//
//   objects      objects of 40 bytes, each with 2.5 references to others on average, and in the array of its thousand
//   allocate_mb  MB of garbage a second (20)
//
// stdout: "ready pid=N". Commands, one per line:
//   begin        forgets the stalls so far                     "began"
//   stall        the longest one since then                    "stall longest_us=N sum=N gc0=N gc1=N gc2=N"
//   exit         (or the end of stdin) ends the process
//
// A stall is the time by which a thread that sleeps 1 ms again and again wakes up late. It needs no tool, and sees
// everything that stops the program: collections, the walk of a profiler, a fork, a busy machine.
using System;
using System.Diagnostics;
using System.Threading;

static class Millions
{
    sealed class Node
    {
        public Node First, Second, Third;
    }

    const int Chunk = 1000;
    static Node[][] s_chunks;
    static object s_garbage;
    static long s_longest, s_allocateBytes;
    static volatile bool s_ended;

    static int Main(string[] args)
    {
        int objects = App.Number(args, "objects", 1_000_000);
        s_allocateBytes = App.Number(args, "allocate_mb", 20) * 1_000_000L;
        Build(objects / Chunk);
        GC.Collect();
        GC.Collect();
        new Thread(Watch).Start();
        new Thread(Allocate).Start();
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit")
        {
            if (line == "begin") Interlocked.Exchange(ref s_longest, 0);
            long longest = Interlocked.Read(ref s_longest) * 1_000_000 / Stopwatch.Frequency;
            Console.WriteLine(line == "begin" ? "began" : $"stall longest_us={longest} sum={Sum()} {App.Counts()}");
        }
        s_ended = true;
        return 0;
    }

    static void Build(int chunks)
    {
        ulong state = 1;
        s_chunks = new Node[chunks][];
        for (int chunk = 0; chunk < chunks; chunk++)
        {
            var nodes = s_chunks[chunk] = new Node[Chunk];
            for (int i = 0; i < Chunk; i++)
            {
                nodes[i] = new Node { First = nodes[Math.Max(0, i - 1)], Second = nodes[i / 2] };
                // To anywhere, as in a real heap.
                if (i % 2 == 0) nodes[i].Third = s_chunks[App.Random(ref state) % (ulong)(chunk + 1)][i / 2];
            }
        }
    }

    // Something that must stay the same.
    static int Sum()
    {
        int sum = 0;
        foreach (Node[] nodes in s_chunks) sum += nodes[Chunk - 1].First == nodes[Chunk - 2] ? 1 : 0;
        return sum;
    }

    static void Watch()
    {
        long before = Stopwatch.GetTimestamp();
        while (!s_ended)
        {
            Thread.Sleep(1);
            long now = Stopwatch.GetTimestamp(), late = now - before - Stopwatch.Frequency / 1000;
            if (late > Interlocked.Read(ref s_longest)) Interlocked.Exchange(ref s_longest, late);
            before = now;
        }
    }

    static void Allocate()
    {
        long allocated = 0;
        var clock = Stopwatch.StartNew();
        while (!s_ended)
        {
            for (; allocated < clock.Elapsed.TotalSeconds * s_allocateBytes; allocated += 100) s_garbage = new byte[76];
            Thread.Sleep(1);
        }
    }
}
