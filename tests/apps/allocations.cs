// A program that counts what it allocates, by type and by method, and its calls of GC.Collect.
//
//   allocations [rounds=N] [wait=1]
//
// It begins when it reads a line with wait=1. stdout: "ready pid=N", for each method and type "made NAME TYPE HEAP COUNT
// BYTES", for each method that called GC.Collect "asked NAME COUNT", at the end "done ...". HEAP is "small" or "large". With
// wait=1 it ends when stdin ends.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

sealed class Order
{
    public long A = 1, B = 2, C = 3, D = 4, E = 5;
    public Order Next;
}

static class Allocations
{
    static ulong state = 88172645463325252;
    static object kept;
    static readonly Dictionary<string, long[]> made = new Dictionary<string, long[]>();
    static readonly Dictionary<string, long> asked = new Dictionary<string, long>();

    static int Main(string[] args)
    {
        int rounds = App.Number(args, "rounds", 400_000);
        bool wait = App.Number(args, "wait", 0) != 0;
        App.Ready();
        if (wait) Console.ReadLine();
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int round = 0; round < rounds; round++)
        {
            // In an order that has nothing to do with the distance between two samples.
            switch (App.Random(ref state) % 64)
            {
                case ulong n when n < 24: Orders(); break;
                case ulong n when n < 40: Texts(); break;
                case ulong n when n < 52: Lists(); break;
                case ulong n when n < 60: Buffers(); break;
                default: Fill<int>(); break;
            }
            if (App.Random(ref state) % 512 == 0) LargeBytes();
            if (App.Random(ref state) % 1024 == 0) LargeNumbers();
        }
        long all = GC.GetAllocatedBytesForCurrentThread() - before;
        for (int n = 0; n < 5; n++) CollectNow();
        for (int n = 0; n < 3; n++) CollectInLambda();
        CollectLater().GetAwaiter().GetResult();
        foreach (var row in made)
        {
            Console.WriteLine($"made {row.Key} {row.Value[0]} {row.Value[1]}");
        }
        foreach (var row in asked) Console.WriteLine($"asked {row.Key} {row.Value}");
        Console.WriteLine($"done all={all} {App.Counts()}");
        if (wait) while (Console.ReadLine() != null) { }
        GC.KeepAlive(kept);
        return 0;
    }

    // `key`: method, type and heap. Counting allocates once for each key.
    static void Count(string key, long bytes)
    {
        if (!made.TryGetValue(key, out long[] row)) made[key] = row = new long[2];
        row[0]++;
        row[1] += bytes;
    }

    static int Length(int least, int most) => least + (int)(App.Random(ref state) % (ulong)(most - least));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Orders()
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        Order first = null;
        for (int n = 0; n < 16; n++) first = new Order { Next = first };
        long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
        kept = first;
        for (int n = 0; n < 16; n++) Count("Allocations.Orders Order small", bytes / 16);
    }

    // The framework allocates, at the request of this method.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Texts()
    {
        int length = Length(10, 500);
        long before = GC.GetAllocatedBytesForCurrentThread();
        kept = new string('x', length);
        Count("Allocations.Texts string small", GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Lists()
    {
        int length = Length(50, 400);
        long before = GC.GetAllocatedBytesForCurrentThread();
        kept = new List<long>(length);
        long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
        long array = 24 + 8L * length;
        Count("Allocations.Lists long[] small", array);
        Count("Allocations.Lists List<long> small", bytes - array);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Buffers()
    {
        int length = Length(1_000, 5_000);
        long before = GC.GetAllocatedBytesForCurrentThread();
        kept = new byte[length];
        Count("Allocations.Buffers byte[] small", GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Fill<T>()
    {
        int length = Length(100, 400);
        long before = GC.GetAllocatedBytesForCurrentThread();
        kept = new T[length];
        Count("Allocations.Fill int[] small", GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void LargeBytes()
    {
        int length = Length(110_000, 400_000);
        long before = GC.GetAllocatedBytesForCurrentThread();
        kept = new byte[length];
        Count("Allocations.LargeBytes byte[] large", GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void LargeNumbers()
    {
        int length = Length(150_000, 300_000);
        long before = GC.GetAllocatedBytesForCurrentThread();
        kept = new double[length];
        Count("Allocations.LargeNumbers double[] large", GC.GetAllocatedBytesForCurrentThread() - before);
    }

    static void Asked(string by)
    {
        asked.TryGetValue(by, out long before);
        asked[by] = before + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CollectNow()
    {
        Asked("Allocations.CollectNow");
        GC.Collect();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CollectInLambda()
    {
        Action collect = () =>
        {
            Asked("Allocations.CollectInLambda|(lambda)");
            GC.Collect(1, GCCollectionMode.Forced, true);
        };
        collect();
    }

    static async Task CollectLater()
    {
        for (int n = 0; n < 2; n++)
        {
            await Task.Yield();
            Asked("Allocations.CollectLater|(async)");
            GC.Collect(0);
        }
    }
}
