// Says where its objects were before and after one collection, from their references alone.
//
//   moves [objects=N] [sample=N]
//
// stdout: "ready pid=N"; for each line "move GEN" of stdin (a compacting collection) or "keep GEN" (one that
// may sweep) up to `sample` lines "pair 0xOLD 0xNEW BYTES", then
// "collected index= gcs= generation= compacted= objects= moved= stayed=", of all objects, not only the sample.
// gcs is the number of collections between the two looks: the pairs are those of one collection where it is 1.
// Objects are fresh for every line, with as many dead ones between them. "exit" or the end of stdin ends it.
using System;
using System.Runtime.CompilerServices;
using System.Text;

static class Moves
{
    const int MaxLength = 256;

    static void Main(string[] args)
    {
        int count = App.Number(args, "objects", 20_000), sample = App.Number(args, "sample", 500);
        var objects = new byte[count][];
        // Pinned-heap arrays: the tables themselves never move.
        var before = GC.AllocateUninitializedArray<ulong>(count, pinned: true);
        var after = GC.AllocateUninitializedArray<ulong>(count, pinned: true);
        Look(objects, before);
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit")
        {
            string[] words = line.Split(' ');
            Console.WriteLine(Collect(objects, before, after, words[0] == "move", int.Parse(words[1]), sample));
        }
    }

    static string Collect(byte[][] objects, ulong[] before, ulong[] after, bool compacting, int generation, int sample)
    {
        Fill(objects);
        int gcs;
        do
        {
            gcs = GC.CollectionCount(0);
            Look(objects, before);
        } while (gcs != GC.CollectionCount(0));
        GC.Collect(generation, GCCollectionMode.Forced, blocking: true, compacting);
        Look(objects, after);
        gcs = GC.CollectionCount(0) - gcs;
        var info = GC.GetGCMemoryInfo(GCKind.Any);

        var text = new StringBuilder();
        int step = Math.Max(1, objects.Length / sample), moved = 0;
        for (int i = 0; i < objects.Length; i++)
        {
            if (before[i] != after[i]) moved++;
            if (i % step == 0) text.Append($"pair 0x{before[i]:x} 0x{after[i]:x} {Bytes(objects[i])}\n");
        }
        text.Append($"collected index={info.Index} gcs={gcs} generation={info.Generation} compacted={info.Compacted} "
            + $"objects={objects.Length} moved={moved} stayed={objects.Length - moved}");
        return text.ToString();
    }

    // Live and dead objects of mixed sizes by turns.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Fill(byte[][] objects)
    {
        for (int i = 0; i < objects.Length; i++)
        {
            GC.KeepAlive(new byte[1 + i * 31 % MaxLength]);
            objects[i] = new byte[1 + i * 17 % MaxLength];
        }
    }

    // Reads each reference as the address that it is. Nothing is pinned.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Look(byte[][] objects, ulong[] addresses)
    {
        for (int i = 0; i < objects.Length; i++) addresses[i] = Unsafe.As<byte[], ulong>(ref objects[i]);
    }

    // Header, method table and length, then the elements, in multiples of 8 bytes (64-bit).
    static int Bytes(byte[] array) => (24 + array.Length + 7) / 8 * 8;
}
