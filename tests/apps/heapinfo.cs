// Makes objects of every kind of heap in every generation. Before and after each collection that it induces it prints
// their addresses, and then the GCMemoryInfo of that collection.
//
//   heapinfo [rounds=N] [fresh=N]
//
// stdout: "ready pid=N server= concurrent= gc=" (gc: the library of another GC, if set); for each collection that it
// induces
//   "collect what=WHAT first= last= pins="   its number is in first..=last; if they are equal, no other one ran.
//                                      WHAT is 0, 1, 2, compact (gen2), loh (gen2, large objects too), background;
//                                      pins: how many handles the program holds
//   "object KIND 0xOLD GEN 0xNEW GEN BYTES"   for each object; KIND is soh, pinned, loh, poh or frozen; GEN is by
//                                      GC.GetGeneration: 2 for objects in LOH and POH
//   "info index= ... gen0=BEFORE,AFTER,FREE_BEFORE,FREE_AFTER ..."   for each new GCMemoryInfo
// and at the end "done gc0= gc1= gc2=".
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

static class HeapInfo
{
    const int MaxObjects = 4096;
    static readonly List<(string Kind, object Target, int Bytes)> known = new List<(string, object, int)>(MaxObjects);
    static readonly List<GCHandle> pins = new List<GCHandle>();
    // Arrays in the POH, so that the tables themselves never move.
    static readonly ulong[] before = GC.AllocateUninitializedArray<ulong>(MaxObjects, pinned: true);
    static readonly ulong[] after = GC.AllocateUninitializedArray<ulong>(MaxObjects, pinned: true);
    static readonly int[] generationBefore = GC.AllocateUninitializedArray<int>(MaxObjects, pinned: true);
    static readonly int[] generationAfter = GC.AllocateUninitializedArray<int>(MaxObjects, pinned: true);
    static readonly HashSet<long> printed = new HashSet<long>();
    static ulong random = 12345;

    static void Main(string[] args)
    {
        int rounds = App.Number(args, "rounds", 2), fresh = App.Number(args, "fresh", 60);
        known.Add(("frozen", "a literal", 0));
        known.Add(("frozen", typeof(HeapInfo), 0));
        // With less than 4 MiB, the runtime makes blocking collections instead of background ones.
        Add("loh", new byte[6_000_000]);
        Look(before, generationBefore);
        var settings = GC.GetConfigurationVariables();
        string Setting(string name) => settings.TryGetValue(name, out object value) ? $"{value}" : "none";
        App.Ready($"server={GCSettings.IsServerGC} concurrent={GCSettings.LatencyMode == GCLatencyMode.Interactive} "
            + $"gc={Setting("GCName")}");
        for (int round = 0; round < rounds; round++)
        {
            foreach (string what in new[] { "0", "1", "0", "2", "background", "1", "compact", "0", "loh" })
            {
                Fill(fresh, 20);
                Console.Write(Collect(what));
            }
            // With little garbage the runtime sweeps.
            foreach (string what in new[] { "0", "1", "2" })
            {
                Fill(fresh, 0);
                Console.Write(Collect(what));
            }
        }
        Console.WriteLine($"done {App.Counts()}");
    }

    // Makes objects, each after some dead ones. With garbage, it also drops some older objects.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Fill(int fresh, int garbage)
    {
        for (int i = 0; i < fresh; i++)
        {
            for (int dead = 0; dead < garbage; dead++) GC.KeepAlive(new byte[100 + dead]);
            int length = 1 + (int)(App.Random(ref random) % 2000);
            Add(i % 20 == 7 ? "pinned" : "soh", new byte[length]);
            if (i % 20 == 7) pins.Add(GCHandle.Alloc(known[^1].Target, GCHandleType.Pinned));
        }
        for (int i = 0; i < 2; i++)
        {
            if (garbage > 0) GC.KeepAlive(new byte[90_000]);
            Add("loh", new byte[100_000 + (int)(App.Random(ref random) % 50_000)]);
            GC.KeepAlive(GC.AllocateUninitializedArray<byte>(3_000, pinned: true));
            Add("poh", GC.AllocateUninitializedArray<byte>(1_000 + (int)(App.Random(ref random) % 5_000), pinned: true));
        }
        for (int i = 0; i < 3; i++) GC.KeepAlive(new Finalizable());
        for (int i = known.Count - 1; i >= 3; i--)
        {
            // Pinned objects are dropped all together.
            if (garbage > 0 && known[i].Kind != "pinned" && App.Random(ref random) % 4 == 0) known.RemoveAt(i);
        }
        if (pins.Count > 24)
        {
            foreach (var pin in pins) pin.Free();
            pins.Clear();
            known.RemoveAll(o => o.Kind == "pinned");
        }
    }

    // Header, method table and length, then the elements, in multiples of 8 bytes (64-bit).
    static void Add(string kind, byte[] array) => known.Add((kind, array, (24 + array.Length + 7) / 8 * 8));

    static string Collect(string what)
    {
        var text = new StringBuilder(200 * known.Count);
        int first, last;
        do
        {
            first = GC.CollectionCount(0);
            Look(before, generationBefore);
        } while (first != GC.CollectionCount(0));
        Induce(what);
        // Any of them may have been made a background collection, so wait for its end.
        while (!Ended(GC.CollectionCount(0))) Thread.Sleep(1);
        do
        {
            last = GC.CollectionCount(0);
            Look(after, generationAfter);
        } while (last != GC.CollectionCount(0));
        text.Append($"collect what={what} first={first + 1} last={last} pins={pins.Count}\n");
        for (int i = 0; i < known.Count; i++)
        {
            text.Append($"object {known[i].Kind} 0x{before[i]:x} {generationBefore[i]} 0x{after[i]:x} {generationAfter[i]} {known[i].Bytes}\n");
        }
        foreach (GCKind kind in kinds) AppendInfo(text, GC.GetGCMemoryInfo(kind));
        return text.ToString();
    }

    static void Induce(string what)
    {
        switch (what)
        {
            case "compact":
                GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
                break;
            case "loh":
                GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
                GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
                break;
            case "background":
                GC.Collect(2, GCCollectionMode.Forced, blocking: false);
                break;
            default:
                GC.Collect(int.Parse(what), GCCollectionMode.Forced, blocking: true, compacting: false);
                break;
        }
    }

    static readonly GCKind[] kinds = { GCKind.Ephemeral, GCKind.FullBlocking, GCKind.Background };

    static bool Ended(long index) => kinds.Any(kind => GC.GetGCMemoryInfo(kind).Index == index);

    // Reads each reference as an address.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Look(ulong[] addresses, int[] generations)
    {
        for (int i = 0; i < known.Count; i++)
        {
            object target = known[i].Target;
            generations[i] = GC.GetGeneration(target);
            addresses[i] = Unsafe.As<object, ulong>(ref target);
        }
    }

    static void AppendInfo(StringBuilder text, GCMemoryInfo info)
    {
        if (info.Index == 0 || !printed.Add(info.Index)) return;
        text.Append($"info index={info.Index} generation={info.Generation} compacted={info.Compacted} concurrent={info.Concurrent} ");
        text.Append($"heap={info.HeapSizeBytes} fragmented={info.FragmentedBytes} committed={info.TotalCommittedBytes} ");
        text.Append($"promoted={info.PromotedBytes} pinned={info.PinnedObjectsCount} pending={info.FinalizationPendingCount} ");
        text.Append($"load={100 * info.MemoryLoadBytes / info.TotalAvailableMemoryBytes} ");
        text.Append($"pauses={string.Join(",", info.PauseDurations.ToArray().Select(pause => pause.Ticks * 100))}");
        int n = 0;
        foreach (var g in info.GenerationInfo)
        {
            text.Append($" gen{n++}={g.SizeBeforeBytes},{g.SizeAfterBytes},{g.FragmentationBeforeBytes},{g.FragmentationAfterBytes}");
        }
        text.Append("\n");
    }

    sealed class Finalizable
    {
        ~Finalizable() { }
    }
}
