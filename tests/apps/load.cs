// A load with one knob for each thing that makes a collection dear, for `cargo xtask bench`. The program times its
// own standstill, so that no tool is needed to measure what a tool does to it.
//
//   load [result=FILE] [allocate_mb=N] [threads=N] [old=N] [depth=N] [handles=N] [live_mb=N] [size_min=N] [size_max=N]
//        [survive_every=N] [loh_permille=N] [poh_permille=N] [pin_every=N] [finalize_every=N] [step_mb=N]
//
//   old             objects that live for ever and refer to each other (24 bytes of fields each)
//   depth           frames below the allocating loop, each with two references
//   handles         strong handles
//   live_mb         what the threads keep, replaced one by one (by every survive_every-th allocation)
//   *_permille      allocations on the large object heap (100 KB) or the pinned object heap
//   pin_every       every so-manieth survivor is pinned until it is replaced
//   finalize_every  every so-manieth allocation has a finalizer
//   step_mb         one thread allocates so much again and again until stdin has a line or ends, instead of allocate_mb
//                   once; FILE gets "step END_NS STALL_NS STALLS" for each, END_NS by the monotonic clock
//
// Without size_max every allocation is a node of 40 bytes, and each 16th is hung into an old one.
// stdout: "ready pid=N"; at the end, there and in FILE: "done gcs= gen1= gen2= wall_ns= stall_ns= stalls= median_ns=
// longest_ns= allocated_bytes= runtime_pause_ns= cpu_ns=". stall_ns is the time between two allocations in which a
// collection began, of the mean thread: what the runtime needs beyond its own count (runtime_pause_ns), such as a
// profiler's walks, is in it. median_ns is the middle one of the first thread's: a moment in which the machine did
// something else is not in it.
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

    struct Stalls
    {
        public long Ns, Count, Longest;
        public List<long> Each;
    }

    const int LargeBytes = 100_000;
    static int depth, sizeMin, sizeMax, surviveEvery, lohPermille, pohPermille, pinEvery, finalizeEvery;
    static long bytesPerThread, liveBytesPerThread;
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
        bytesPerThread = App.Number(args, "allocate_mb", 1000) * 1_000_000L / threads;
        liveBytesPerThread = App.Number(args, "live_mb", 0) * 1_000_000L / threads;
        int stepMb = App.Number(args, "step_mb", 0);
        string result = args.Where(arg => arg.StartsWith("result=")).Select(arg => arg.Substring(7)).LastOrDefault();

        if (stepMb != 0)
        {
            bytesPerThread = stepMb * 1_000_000L;
            new Thread(() => { Console.ReadLine(); stop = true; }) { IsBackground = true }.Start();
        }
        var steps = new StringBuilder();
        MakeOld(App.Number(args, "old", 1000));
        var handles = new GCHandle[App.Number(args, "handles", 0)];
        for (int i = 0; i < handles.Length; i++) handles[i] = GCHandle.Alloc(new object());
        var totals = new Stalls[threads];
        using var begin = new Barrier(threads + 1);
        using var end = new Barrier(threads + 1);
        for (int t = 0; t < threads; t++)
        {
            int index = t;
            new Thread(() =>
            {
                ulong seed = 88172645463325252 + (ulong)index;
                var kept = Fill(ref seed);
                begin.SignalAndWait();
                do
                {
                    totals[index] = Descend(depth, seed, kept);
                    seed += 1234567;
                    if (stepMb != 0)
                        steps.Append($"step {Ns(Stopwatch.GetTimestamp())} {Ns(totals[index].Ns)} {totals[index].Count}\n");
                } while (stepMb != 0 && !stop);
                end.SignalAndWait();
            }, 256 << 20) { IsBackground = true }.Start();
        }
        App.Ready();
        GC.Collect();
        GC.Collect();
        int[] counts = { GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2) };
        var pauseBefore = GC.GetTotalPauseDuration();
        long allocatedBefore = GC.GetTotalAllocatedBytes();
        var cpuBefore = Process.GetCurrentProcess().TotalProcessorTime;
        begin.SignalAndWait();
        long start = Stopwatch.GetTimestamp();
        end.SignalAndWait();
        long wall = Stopwatch.GetTimestamp() - start;
        var cpu = Process.GetCurrentProcess().TotalProcessorTime - cpuBefore;
        long pauseNs = (GC.GetTotalPauseDuration() - pauseBefore).Ticks * 100;
        string line = $"done gcs={GC.CollectionCount(0) - counts[0]} gen1={GC.CollectionCount(1) - counts[1]} "
            + $"gen2={GC.CollectionCount(2) - counts[2]} wall_ns={Ns(wall)} stall_ns={Ns(totals.Sum(s => s.Ns)) / threads} "
            + $"stalls={totals.Sum(s => s.Count) / threads} median_ns={Ns(Middle(totals[0].Each))} longest_ns={Ns(totals.Max(s => s.Longest))} "
            + $"allocated_bytes={GC.GetTotalAllocatedBytes() - allocatedBefore} runtime_pause_ns={pauseNs} cpu_ns={cpu.Ticks * 100}";
        foreach (var handle in handles) handle.Free();
        GC.KeepAlive(old);
        if (result != null) File.WriteAllText(result, steps + line);
        Console.WriteLine(line);
        return 0;
    }

    static long Ns(long ticks) => (long)(ticks * (1e9 / Stopwatch.Frequency));

    static long Middle(List<long> values)
    {
        if (values.Count == 0) return 0;
        values.Sort();
        return values[values.Count / 2];
    }

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

    // Two references of each frame are alive across the call.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static Stalls Descend(int frames, ulong seed, Kept[] kept)
    {
        if (frames <= 0) return sizeMax == 0 ? AllocateNodes(seed) : AllocateMixed(seed, kept);
        object one = old, other = kept;
        var stalls = Descend(frames - 1, seed, kept);
        GC.KeepAlive(one);
        GC.KeepAlive(other);
        return stalls;
    }

    // Called every few allocations: about 30 ns.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static void Look(ref Stalls stalls, ref long before, ref int seen)
    {
        long now = Stopwatch.GetTimestamp();
        int count = GC.CollectionCount(0);
        if (count != seen)
        {
            long gap = now - before;
            stalls.Ns += gap;
            stalls.Count++;
            if (gap > stalls.Longest) stalls.Longest = gap;
            stalls.Each.Add(gap);
            seen = count;
        }
        before = now;
    }

    static Stalls AllocateNodes(ulong state)
    {
        var stalls = new Stalls { Each = new List<long>(1000) };
        int seen = GC.CollectionCount(0);
        long before = Stopwatch.GetTimestamp();
        // 40 bytes a node.
        for (long i = 0; i < bytesPerThread / 40; i++)
        {
            var node = new Node { Value = i };
            if (i % 16 != 0) continue;
            old[App.Random(ref state) % (ulong)old.Length].Young = node;
            Look(ref stalls, ref before, ref seen);
        }
        return stalls;
    }

    static Stalls AllocateMixed(ulong state, Kept[] kept)
    {
        var stalls = new Stalls { Each = new List<long>(1000) };
        int seen = GC.CollectionCount(0), survivors = 0;
        long before = Stopwatch.GetTimestamp();
        long bytes = 0;
        for (long i = 1; bytes < bytesPerThread; i++)
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
            Look(ref stalls, ref before, ref seen);
        }
        return stalls;
    }
}
