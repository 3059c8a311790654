// A program with one disease of garbage collection, or with none.
//
// With end=1 there is a collection after all allocations.
//
//   diseases healthy|growth|large|induced|pinning|midlife|suspension|fragmentation|finalizers|limit [rounds=N]
//
// stdout: "ready pid=N", at the end "done checksum= gc0= gc1= gc2= allocated=".
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

static class Diseases
{
    static ulong state = 88172645463325252;
    static long checksum;
    static readonly List<byte[]> cache = new List<byte[]>();

    static int Main(string[] args)
    {
        App.Ready();
        int rounds = App.Number(args, "rounds", 0);
        switch (args[0])
        {
            case "healthy": Healthy(Or(rounds, 300)); break;
            case "growth": Growth(Or(rounds, 150_000)); break;
            case "large": Large(Or(rounds, 2_000)); break;
            case "induced": Induced(Or(rounds, 60)); break;
            case "pinning": Pinning(Or(rounds, 40)); break;
            case "midlife": MidLife(Or(rounds, 400_000)); break;
            case "suspension": Suspension(Or(rounds, 20)); break;
            case "fragmentation": Fragmentation(Or(rounds, 8_000)); break;
            case "finalizers": Finalizers(Or(rounds, 60_000)); break;
            case "limit": Limit(Or(rounds, 400_000)); break;
            default: throw new ArgumentException(args[0]);
        }
        long allocated = GC.GetTotalAllocatedBytes(true);
        if (App.Number(args, "end", 0) != 0) GC.Collect();
        Console.WriteLine($"done checksum={checksum} {App.Counts()} allocated={allocated}");
        return 0;
    }

    static int Or(int given, int otherwise) => given > 0 ? given : otherwise;

    static byte[] Use(byte[] bytes)
    {
        bytes[0] = (byte)App.Random(ref state);
        checksum += bytes[0] + bytes.Length;
        return bytes;
    }

    // Objects that die at once, up to about `bytes`.
    static void Garbage(int bytes)
    {
        for (int made = 0; made < bytes;)
        {
            int length = 32 + (int)(App.Random(ref state) % 256);
            Use(new byte[length]);
            made += length;
        }
    }

    // A live set of one size, garbage that dies young, and one large buffer that is used again and again.
    static void Healthy(int rounds)
    {
        var live = new byte[20_000][];
        for (int i = 0; i < live.Length; i++) live[i] = Use(new byte[256]);
        var buffer = new byte[1 << 20];
        for (int round = 0; round < rounds; round++)
        {
            Garbage(2_000_000);
            for (int i = 0; i < 50; i++) live[App.Random(ref state) % (ulong)live.Length] = Use(new byte[256]);
            Use(buffer);
        }
        GC.KeepAlive(live);
    }

    // A cache without a bound.
    static void Growth(int entries)
    {
        for (int i = 0; i < entries; i++)
        {
            cache.Add(Use(new byte[2_000]));
            Garbage(2_000);
        }
    }

    // A new large array for each piece of work.
    static void Large(int arrays)
    {
        var recent = new byte[2][];
        for (int i = 0; i < arrays; i++)
        {
            recent[i % recent.Length] = Use(new byte[1 << 20]);
            Garbage(20_000);
        }
        GC.KeepAlive(recent);
    }

    static void Induced(int rounds)
    {
        for (int i = 0; i < rounds; i++)
        {
            Garbage(500_000);
            CollectNow();
        }
    }

    static void CollectNow() => GC.Collect();

    // Thousands of small pinned objects with garbage between them.
    static void Pinning(int rounds)
    {
        for (int round = 0; round < rounds; round++)
        {
            var handles = new GCHandle[3_000];
            for (int i = 0; i < handles.Length; i++)
            {
                Garbage(3_000);
                handles[i] = GCHandle.Alloc(Use(new byte[64]), GCHandleType.Pinned);
            }
            foreach (var handle in handles) handle.Free();
        }
    }

    // Objects that live for two collections of gen0.
    static void MidLife(int objects)
    {
        var window = new Queue<byte[]>();
        for (int i = 0; i < objects; i++)
        {
            window.Enqueue(Use(new byte[1_000]));
            if (window.Count > 6_000) window.Dequeue();
        }
        GC.KeepAlive(window);
    }

    [DllImport("libc"), SuppressGCTransition]
    static extern IntPtr memset(IntPtr memory, int value, UIntPtr bytes);

    // A thread that cannot be stopped while it is in native code.
    static void Suspension(int rounds)
    {
        bool stop = false;
        const int Bytes = 256 << 20;
        // A call that sleeps would be interrupted by the runtime's signal.
        var native = new Thread[2];
        for (int i = 0; i < native.Length; i++)
        {
            IntPtr memory = Marshal.AllocHGlobal(Bytes);
            native[i] = new Thread(() => { while (!Volatile.Read(ref stop)) memset(memory, 1, (UIntPtr)Bytes); });
            native[i].Start();
        }
        for (int i = 0; i < rounds; i++) Garbage(18_000_000);
        Volatile.Write(ref stop, true);
        foreach (var thread in native) thread.Join();
    }

    // Large arrays, of which every second one dies, and then larger ones, which do not fit into the gaps.
    static void Fragmentation(int rounds)
    {
        var live = new byte[2_400][];
        for (int i = 0; i < live.Length; i++) live[i] = Use(new byte[100_000]);
        for (int i = 0; i < live.Length; i += 2) live[i] = null;
        for (int i = 0; i < rounds; i++) Use(new byte[150_000]);
        GC.KeepAlive(live);
    }

    sealed class Finalized
    {
        readonly byte[] buffer = Use(new byte[4_000]);
        ~Finalized() => Interlocked.Add(ref checksum, buffer.Length);
    }

    static void Finalizers(int objects)
    {
        for (int i = 0; i < objects; i++)
        {
            new Finalized();
            Garbage(1_000);
        }
    }

    // A live set that nearly fills the heap's limit.
    static void Limit(int objects)
    {
        var live = new byte[36_000][];
        for (int i = 0; i < live.Length; i++) live[i] = Use(new byte[2_000]);
        for (int i = 0; i < objects; i++) live[App.Random(ref state) % (ulong)live.Length] = Use(new byte[2_000]);
        GC.KeepAlive(live);
    }
}
