// Prints where its objects were before and after one collection, and which of them it dropped; it knows that from
// references alone.
//
//   moves [objects=N] [sample=N] [ages=N] [drop=K] [threads=N] [pin=K] [large=N] [poh=N] [dense=K] [refill=0]
//
// objects: small ones, made for each collection by `threads` threads, with as many dead ones between them (with
// dense=K: one after each K). ages: how many such sets it holds, so that older generations have some. drop: it drops
// every K-th before the collection. pin: every K-th small one is pinned (by default none). large, poh: how many are in
// LOH and POH; with refill=0 dropped ones are not replaced, so that their room stays free.
//
// stdout: "ready pid=N"; for each line "move GEN" of stdin (a compacting collection) or "keep GEN" (one that may
// sweep), with " loh" after it if the collection also compacts the LOH, up to `sample` lines
//   pair 0xOLD 0xNEW BYTES KIND FROM TO      a live one: soh|loh|poh and GC.GetGeneration before and after
//   dead 0xOLD BYTES KIND FROM               a dropped one that is gone
// then "collected index= gcs= generation= compacted= objects= moved= stayed= died=" of all objects, not only the
// sample. gcs is the number of collections between the two looks: only if it is 1, the lines are of one collection.
// "exit" or the end of stdin ends it.
using System;
using System.Linq;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

static class Moves
{
    const int MaxLength = 256, LargeLength = 100_000;

    static int count, ages, threads, pin, dense, large, poh, refill, round;
    static byte[][] objects;
    // Handles: of pinned objects, and weak ones of dropped objects.
    static GCHandle[] pins, gone;
    // In the POH, so that the tables themselves never move.
    static ulong[] before, after;
    static int[] bytes, from;

    static void Main(string[] args)
    {
        count = App.Number(args, "objects", 20_000);
        int sample = App.Number(args, "sample", 500), drop = App.Number(args, "drop", 0);
        ages = App.Number(args, "ages", 1);
        threads = App.Number(args, "threads", 1);
        pin = App.Number(args, "pin", 0);
        dense = App.Number(args, "dense", 1);
        large = App.Number(args, "large", 0);
        poh = App.Number(args, "poh", 0);
        refill = App.Number(args, "refill", 1);
        int all = count * ages + large + poh;
        objects = new byte[all][];
        pins = new GCHandle[all];
        gone = new GCHandle[all];
        before = GC.AllocateUninitializedArray<ulong>(all, pinned: true);
        after = GC.AllocateUninitializedArray<ulong>(all, pinned: true);
        bytes = new int[all];
        from = new int[all];
        Look(before);
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit")
        {
            string[] words = line.Split(' ');
            Console.WriteLine(Collect(words[0] == "move", int.Parse(words[1]), words.Contains("loh"), drop, sample));
        }
    }

    static string Collect(bool compacting, int generation, bool loh, int drop, int sample)
    {
        Make();
        round++;
        int gcs;
        do
        {
            gcs = GC.CollectionCount(0);
            Look(before);
            for (int i = 0; i < objects.Length; i++)
            {
                from[i] = objects[i] is null ? -1 : GC.GetGeneration(objects[i]);
                bytes[i] = objects[i] is null ? 0 : Bytes(objects[i]);
            }
        } while (gcs != GC.CollectionCount(0));
        if (drop > 0) Drop(drop);
        if (loh) GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(generation, GCCollectionMode.Forced, blocking: true, compacting);
        Look(after);
        gcs = GC.CollectionCount(0) - gcs;
        var info = GC.GetGCMemoryInfo(GCKind.Any);

        var text = new StringBuilder();
        int step = Math.Max(1, objects.Length / sample), moved = 0, stayed = 0, died = 0;
        for (int i = 0; i < objects.Length; i++)
        {
            if (from[i] < 0) continue;
            if (after[i] == 0) died++;
            else if (before[i] != after[i]) moved++;
            else stayed++;
            if (i % step != 0) continue;
            string kind = i < count * ages ? "soh" : i < count * ages + large ? "loh" : "poh";
            text.Append(after[i] == 0
                ? $"dead 0x{before[i]:x} {bytes[i]} {kind} {from[i]}\n"
                : $"pair 0x{before[i]:x} 0x{after[i]:x} {bytes[i]} {kind} {from[i]} {GenerationNow(i)}\n");
        }
        text.Append($"collected index={info.Index} gcs={gcs} generation={info.Generation} compacted={info.Compacted} "
            + $"objects={moved + stayed + died} moved={moved} stayed={stayed} died={died}");
        return text.ToString();
    }

    // Makes the oldest set of small objects anew, and replaces what is missing elsewhere.
    static void Make()
    {
        for (int i = 0; i < gone.Length; i++)
        {
            if (gone[i].IsAllocated) gone[i].Free();
        }
        int lot = round % ages * count;
        for (int i = lot; i < lot + count; i++)
        {
            if (pins[i].IsAllocated) pins[i].Free();
        }
        // With several heaps, each thread has a heap of its own.
        var makers = Enumerable.Range(0, threads).Select(n => new Thread(() => Fill(lot, n))).ToArray();
        foreach (var maker in makers) maker.Start();
        foreach (var maker in makers) maker.Join();
        for (int i = count * ages; i < objects.Length; i++)
        {
            if (objects[i] != null || round > 0 && refill == 0) continue;
            objects[i] = i < count * ages + large
                ? new byte[LargeLength + i * 31 % LargeLength]
                : GC.AllocateUninitializedArray<byte>(1 + i * 17 % (4 * MaxLength), pinned: true);
        }
    }

    // Makes live and dead objects of mixed sizes in turn.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Fill(int lot, int thread)
    {
        for (int n = count * thread / threads; n < count * (thread + 1) / threads; n++)
        {
            int i = lot + n;
            if (n % dense == 0) GC.KeepAlive(new byte[1 + i * 31 % MaxLength]);
            objects[i] = new byte[1 + i * 17 % MaxLength];
            if (pin > 0 && i % pin == 0) pins[i] = GCHandle.Alloc(objects[i], GCHandleType.Pinned);
        }
    }

    // Drops other objects each time, so that those that stay grow old.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Drop(int every)
    {
        for (int i = round % every; i < objects.Length; i += every)
        {
            if (objects[i] is null) continue;
            gone[i] = GCHandle.Alloc(objects[i], GCHandleType.Weak);
            if (pins[i].IsAllocated) pins[i].Free();
            objects[i] = null;
        }
    }

    // Reads each reference as an address, 0 for objects that are gone. This pins nothing.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Look(ulong[] addresses)
    {
        for (int i = 0; i < objects.Length; i++)
        {
            object target = objects[i] ?? (gone[i].IsAllocated ? gone[i].Target : null);
            addresses[i] = Unsafe.As<object, ulong>(ref target);
        }
    }

    // -1: a collection after the look removed it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int GenerationNow(int i) => (objects[i] ?? gone[i].Target) is object target ? GC.GetGeneration(target) : -1;

    // Header, method table and length, then the elements, in multiples of 8 bytes (64-bit).
    static int Bytes(byte[] array) => (24 + array.Length + 7) / 8 * 8;
}
