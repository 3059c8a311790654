// A program with one disease of garbage collection, or with none.
//
// With end=1 there is a collection after all allocations.
//
//   diseases healthy|growth|large|induced|pinning|midlife|suspension|fragmentation|finalizers|limit|stacks|handles|
//            cards|handleleak|old|gaps|busy|young [rounds=N]
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
            case "midlife": MidLife(Or(rounds, 400_000), 6_000); break;
            case "suspension": Suspension(Or(rounds, 20)); break;
            case "fragmentation": Fragmentation(Or(rounds, 8_000)); break;
            case "finalizers": Finalizers(Or(rounds, 60_000)); break;
            case "limit": Limit(Or(rounds, 400_000)); break;
            case "stacks": Stacks(Or(rounds, 12)); break;
            case "handles": Handles(Or(rounds, 30)); break;
            case "cards": Cards(Or(rounds, 30)); break;
            case "handleleak": HandleLeak(Or(rounds, 60)); break;
            case "old": Old(Or(rounds, 8_000_000)); break;
            case "gaps": Gaps(Or(rounds, 12)); break;
            case "young": MidLife(Or(rounds, 1_000_000), 60_000); break;
            case "busy": Busy(Or(rounds, 12)); break;
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

    // Objects that live until `alive` others were made.
    static void MidLife(int objects, int alive)
    {
        var window = new Queue<byte[]>();
        for (int i = 0; i < objects; i++)
        {
            window.Enqueue(Use(new byte[1_000]));
            if (window.Count > alive) window.Dequeue();
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

    // Threads whose stacks are deep while they allocate.
    static void Stacks(int rounds)
    {
        var thread = new Thread(() => checksum += Deep(40_000, rounds), 256 << 20);
        thread.Start();
        thread.Join();
    }

    static int Deep(int depth, int rounds)
    {
        object held = depth % 1_000 == 0 ? new object() : null;
        if (depth > 0)
        {
            int below = Deep(depth - 1, rounds);
            GC.KeepAlive(held);
            return below + 1;
        }
        for (int i = 0; i < rounds; i++) Garbage(18_000_000);
        return 0;
    }

    // Very many handles, of which some get new objects all the time. Few objects, so that the time is that of the handles on
    // any processor.
    static void Handles(int rounds)
    {
        var old = new object();
        var handles = new GCHandle[2_000_000];
        for (int i = 0; i < handles.Length; i++) handles[i] = GCHandle.Alloc(old);
        for (int round = 0; round < rounds; round++)
        {
            object fresh = null;
            for (int i = 0; i < 100_000; i++)
            {
                if (i % 100 == 0) fresh = new object();
                handles[App.Random(ref state) % (ulong)handles.Length].Target = fresh;
            }
            Garbage(15_000_000);
        }
        foreach (var handle in handles) handle.Free();
    }

    // A large old array whose elements are replaced by new objects all the time.
    static void Cards(int rounds)
    {
        var table = new object[16_000_000];
        for (int round = 0; round < rounds; round++)
        {
            for (int i = 0; i < 60_000; i++)
                table[App.Random(ref state) % (ulong)table.Length] = new object();
            Garbage(15_000_000);
        }
        GC.KeepAlive(table);
    }

    // Handles that nobody frees.
    static void HandleLeak(int rounds)
    {
        var target = new object();
        for (int round = 0; round < rounds; round++)
        {
            for (int i = 0; i < 1_000; i++) GCHandle.Alloc(target);
            Garbage(18_000_000);
        }
    }

    sealed class Node
    {
        public Node Next;
        public long Value;
    }

    // Many small old objects that are replaced bit by bit.
    static void Old(int replaced)
    {
        var live = new Node[1_000_000];
        for (int i = 0; i < live.Length; i++) live[i] = new Node { Value = i };
        for (int i = 0; i < replaced; i++)
        {
            ulong at = App.Random(ref state) % (ulong)live.Length;
            live[at] = new Node { Value = i, Next = null };
            if (i % 64 == 0) Garbage(4_000);
        }
        GC.KeepAlive(live);
    }

    // Most of the old objects die, again and again, and leave gaps.
    static void Gaps(int rounds)
    {
        for (int round = 0; round < rounds; round++)
        {
            var live = new byte[400_000][];
            for (int i = 0; i < live.Length; i++) live[i] = Use(new byte[200]);
            Garbage(40_000_000);
            for (int i = 0; i < live.Length; i++) if (i % 8 != 0) live[i] = null;
            cache.AddRange(Array.FindAll(live, kept => kept != null));
            Garbage(40_000_000);
            if (cache.Count > 300_000) cache.RemoveRange(0, cache.Count / 2);
        }
    }

    // More threads that compute than the machine has processors.
    static void Busy(int rounds)
    {
        bool stop = false;
        var threads = new Thread[8 * Environment.ProcessorCount];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(() => { ulong own = 1; while (!Volatile.Read(ref stop)) App.Random(ref own); });
            threads[i].Start();
        }
        for (int i = 0; i < rounds; i++) Garbage(18_000_000);
        Volatile.Write(ref stop, true);
        foreach (var thread in threads) thread.Join();
    }
}
