// A known amount of allocation work: survivors, large objects, pinned handles. The checksum depends only on the
// arguments, not on when collections happen or whether gcwatch is attached.
//
//   churn [batch|interactive] [work=N] [gcs=N] [seed=N] [live=N] [threads=N] [exit=N]
//
// With gcs=N it continues after its work until there were N collections; then the checksum depends on when they happen.
//
// stdout: "ready pid=N"; in the interactive mode it then waits for the line "go" and works until the line
// "stop" (or the end of stdin); at the end "done work= checksum= gc0= gc1= gc2= pause_ns=".
using System;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;

static class Churn
{
    static volatile bool stop;
    static int gcs;

    static int Main(string[] args)
    {
        bool interactive = args.Contains("interactive");
        long work = App.Number(args, "work", 200_000);
        gcs = App.Number(args, "gcs", 0);
        ulong seed = (ulong)App.Number(args, "seed", 1);
        int live = App.Number(args, "live", 20_000);
        var workers = new Worker[App.Number(args, "threads", 1)];
        for (int i = 0; i < workers.Length; i++) workers[i] = new Worker(seed + (ulong)i, live);

        App.Ready();
        if (interactive)
        {
            while (Console.ReadLine() is string line && line != "go") { }
            work = 1L << 62;
        }
        var threads = workers.Select(worker => new Thread(() => worker.Run(work))).ToArray();
        foreach (var thread in threads) thread.Start();
        if (interactive)
        {
            while (Console.ReadLine() is string line && line != "stop") { }
            stop = true;
        }
        foreach (var thread in threads) thread.Join();

        ulong checksum = workers.Aggregate(0ul, (sum, worker) => sum ^ worker.Checksum);
        long pauseNs = GC.GetTotalPauseDuration().Ticks * 100;
        Console.WriteLine($"done work={workers.Sum(w => w.Done)} checksum={checksum:x16} {App.Counts()} pause_ns={pauseNs}");
        return App.Number(args, "exit", 0);
    }

    sealed class Worker
    {
        readonly byte[][] live;
        readonly byte[][] large = new byte[8][];
        readonly GCHandle[] pinned = new GCHandle[16];
        ulong state;

        public ulong Checksum { get; private set; }
        public long Done { get; private set; }

        public Worker(ulong seed, int live)
        {
            this.live = new byte[live][];
            state = seed * 0x9E3779B97F4A7C15 | 1;
        }

        public void Run(long work)
        {
            for (; (Done < work || GC.CollectionCount(0) < gcs) && !stop; Done++)
            {
                ulong random = App.Random(ref state);
                Replace(live, random, 16 + (int)((random >> 32) % 240));
                if (Done % 512 == 0) Replace(large, random, 90_000 + (int)((random >> 40) % 100_000));
                if (Done % 97 == 0) Pin(ref pinned[random % (ulong)pinned.Length], random);
            }
            foreach (var handle in pinned) if (handle.IsAllocated) handle.Free();
        }

        // Reads the replaced array, so that the checksum covers survivors.
        void Replace(byte[][] slots, ulong random, int length)
        {
            ref byte[] slot = ref slots[random % (ulong)slots.Length];
            if (slot != null) Mix(slot);
            slot = new byte[length];
            slot[0] = (byte)random;
            slot[length - 1] = (byte)(random >> 8);
        }

        void Pin(ref GCHandle handle, ulong random)
        {
            if (handle.IsAllocated)
            {
                Mix((byte[])handle.Target);
                handle.Free();
            }
            var array = new byte[64];
            array[0] = (byte)random;
            handle = GCHandle.Alloc(array, GCHandleType.Pinned);
        }

        void Mix(byte[] array) =>
            Checksum = Checksum * 0x100000001B3 ^ (uint)array.Length ^ ((ulong)array[0] << 32) ^ ((ulong)array[^1] << 48);
    }
}
