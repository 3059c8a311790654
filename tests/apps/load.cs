// A load for `cargo xtask bench`, with an option for each thing that makes a collection expensive. The program measures
// its own stalls: that needs no tool, so tools can come and go.
//
//   load result=FILE [threads=N] [old=N] [depth=N] [handles=N] [live_mb=N] [size_min=N] [size_max=N] [survive_every=N]
//        [loh_permille=N] [poh_permille=N] [pin_every=N] [finalize_every=N]
//
//   old             objects that live forever and refer to each other (24 bytes of fields each)
//   depth           frames below the allocating loop, each with two references
//   handles         strong handles
//   live_mb         objects that the threads hold; every survive_every-th allocation replaces one
//   *_permille      allocations on the large object heap (100 KB) or the pinned object heap
//   pin_every       each N-th survivor is pinned until it is replaced
//   finalize_every  each N-th allocation has a finalizer
//
// Without size_max every allocation is a node of 40 bytes, and an old node holds each 256th.
// stdout: "ready pid=N" when it allocates. It runs until stdin has a line or ends, and then writes to FILE, by the
// monotonic clock, "mb END_NS" for each million bytes that a thread has allocated, and "gc END_NS STALL_NS GENERATION"
// for each collection that the first thread noticed. STALL_NS is the time between the two allocations around it, so it
// includes what the runtime's own count leaves out, such as a profiler's walks.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

static class Load
{
    sealed class Node
    {
        public Node Next;
        public Node Young;
        public long Value;
    }

    sealed class Finalized
    {
        public byte[] Content;
        public static long Count;
        ~Finalized() => Count++;
    }

    struct Kept
    {
        public object What;
        public GCHandle Pin;
    }

    // What a thread measures. All memory is allocated at the start, so that measuring does not allocate.
    sealed class Measurements
    {
        const int MaxEvents = 2_000_000;
        readonly long[] ends = new long[MaxEvents], stalls = new long[MaxEvents], megabytes = new long[MaxEvents];
        readonly byte[] generations = new byte[MaxEvents];
        int collections, count;
        long before;
        int gen0, gen1, gen2;

        public void Begin()
        {
            gen0 = GC.CollectionCount(0);
            gen1 = GC.CollectionCount(1);
            gen2 = GC.CollectionCount(2);
            before = Stopwatch.GetTimestamp();
        }

        // Called every few allocations; takes about 30 ns.
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Look()
        {
            long now = Stopwatch.GetTimestamp();
            if (GC.CollectionCount(0) != gen0) Collected(now);
            before = now;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void Collected(long now)
        {
            gen0 = GC.CollectionCount(0);
            int first = GC.CollectionCount(1), second = GC.CollectionCount(2);
            ends[collections] = now;
            stalls[collections] = now - before;
            generations[collections++] = (byte)(second != gen2 ? 2 : first != gen1 ? 1 : 0);
            gen1 = first;
            gen2 = second;
        }

        public void Megabyte() => megabytes[count++] = Stopwatch.GetTimestamp();

        public void Write(StringBuilder lines, bool gcs)
        {
            for (int i = 0; i < count; i++) lines.Append($"mb {Ns(megabytes[i])}\n");
            for (int i = 0; gcs && i < collections; i++)
                lines.Append($"gc {Ns(ends[i])} {Ns(stalls[i])} {generations[i]}\n");
        }
    }

    const int LargeBytes = 100_000;
    static int depth, sizeMin, sizeMax, surviveEvery, lohPermille, pohPermille, pinEvery, finalizeEvery;
    static long liveBytesPerThread;
    static volatile bool stop;
    static Node[] old;

    static int Main(string[] args)
    {
        int threads = App.Number(args, "threads", 1);
        depth = App.Number(args, "depth", 10);
        sizeMin = App.Number(args, "size_min", 100);
        sizeMax = App.Number(args, "size_max", 0);
        surviveEvery = App.Number(args, "survive_every", 50);
        lohPermille = App.Number(args, "loh_permille", 0);
        pohPermille = App.Number(args, "poh_permille", 0);
        pinEvery = App.Number(args, "pin_every", 0);
        finalizeEvery = App.Number(args, "finalize_every", 0);
        liveBytesPerThread = App.Number(args, "live_mb", 0) * 1_000_000L / threads;
        string result = args.Where(arg => arg.StartsWith("result=")).Select(arg => arg.Substring(7)).Last();
        MakeOld(App.Number(args, "old", 1000));
        var handles = new GCHandle[App.Number(args, "handles", 0)];
        for (int i = 0; i < handles.Length; i++) handles[i] = GCHandle.Alloc(new object());
        var measured = Enumerable.Range(0, threads).Select(_ => new Measurements()).ToArray();
        using var begin = new Barrier(threads + 1);
        var all = measured.Select((mine, index) => new Thread(() =>
        {
            ulong seed = 88172645463325252 + (ulong)index;
            var kept = Fill(ref seed);
            begin.SignalAndWait();
            mine.Begin();
            Descend(depth, seed, kept, mine);
        }, 256 << 20) { IsBackground = true }).ToArray();
        foreach (var thread in all) thread.Start();
        GC.Collect();
        GC.Collect();
        begin.SignalAndWait();
        App.Ready();
        Console.ReadLine();
        stop = true;
        foreach (var thread in all) thread.Join();
        foreach (var handle in handles) handle.Free();
        GC.KeepAlive(old);
        var lines = new StringBuilder();
        for (int i = 0; i < threads; i++) measured[i].Write(lines, gcs: i == 0);
        File.WriteAllText(result, lines.ToString());
        return 0;
    }

    static long Ns(long ticks) => (long)(ticks * (1e9 / Stopwatch.Frequency));

    static void MakeOld(int count)
    {
        old = new Node[count];
        ulong state = 4101842887655102017;
        for (int i = 0; i < count; i++) old[i] = new Node { Value = i };
        for (int i = 0; i < count; i++) old[i].Next = old[App.Random(ref state) % (ulong)count];
    }

    static Kept[] Fill(ref ulong state)
    {
        if (sizeMax == 0 || liveBytesPerThread == 0) return new Kept[1];
        var all = new List<Kept>();
        for (long bytes = 0; bytes < liveBytesPerThread; )
        {
            var content = new byte[Size(ref state)];
            bytes += content.Length;
            all.Add(new Kept { What = content });
        }
        return all.ToArray();
    }

    static int Size(ref ulong state) => sizeMin + (int)(App.Random(ref state) % (ulong)(sizeMax - sizeMin));

    // Two references per frame are alive across the call. Each method is called once, so it is optimized at once.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static void Descend(int frames, ulong seed, Kept[] kept, Measurements measured)
    {
        if (frames > 0)
        {
            object one = old, other = kept;
            Descend(frames - 1, seed, kept, measured);
            GC.KeepAlive(one);
            GC.KeepAlive(other);
        }
        else if (sizeMax == 0) AllocateNodes(seed, measured);
        else AllocateMixed(seed, kept, measured);
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static void AllocateNodes(ulong state, Measurements measured)
    {
        while (!stop)
        {
            // 40 bytes a node.
            for (int i = 0; i < 1_000_000 / 40; i++)
            {
                var node = new Node { Value = i };
                if (i % 256 == 0) old[App.Random(ref state) % (ulong)old.Length].Young = node;
                if (i % 16 == 0) measured.Look();
            }
            measured.Megabyte();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static void AllocateMixed(ulong state, Kept[] kept, Measurements measured)
    {
        int survivors = 0;
        long bytes = 0;
        for (long i = 1; !stop; i++)
        {
            int dice = (int)(App.Random(ref state) % 1000);
            byte[] content = dice < lohPermille ? new byte[LargeBytes]
                : dice < lohPermille + pohPermille ? GC.AllocateUninitializedArray<byte>(Size(ref state), pinned: true)
                : new byte[Size(ref state)];
            bytes += content.Length;
            object made = finalizeEvery != 0 && i % finalizeEvery == 0 ? new Finalized { Content = content } : (object)content;
            if (i % surviveEvery == 0)
            {
                ref var slot = ref kept[App.Random(ref state) % (ulong)kept.Length];
                if (slot.Pin.IsAllocated) slot.Pin.Free();
                bool pins = pinEvery != 0 && ++survivors % pinEvery == 0 && made is byte[];
                slot = new Kept { What = made, Pin = pins ? GCHandle.Alloc(made, GCHandleType.Pinned) : default };
            }
            measured.Look();
            for (; bytes >= 1_000_000; bytes -= 1_000_000) measured.Megabyte();
        }
    }
}
