// The program of `cargo xtask gate-study`: a small service that answers requests from a store, as it was, and after one of
// five changes that teams make by accident. The work depends on the arguments only.
//
//   gate unchanged|midlife|old|more|collect|large [requests=N] [threads=N] [items=N] [seed=N]
//
//   midlife  one reply in eight is kept until 100 others were kept, instead of 8: it dies in gen1 or gen2
//   old      the store holds twice as many items
//   more     each request allocates a fifth more
//   collect  GC.Collect after each 5,000th request of one thread
//   large    the buffer that one request in 96 takes grows from 80,000 bytes to 88,000: a large object
//
// stdout: "ready pid=N", at the end "done requests= checksum= gc0= gc1= gc2= allocated= pause_ns= heap_bytes= total_memory=
// committed= working_set= wall_ns=": what the runtime tells any program of itself.
using System;
using System.Diagnostics;
using System.Linq;
using System.Threading;

static class Gate
{
    sealed class Item
    {
        public string Name;
        public byte[] Content;
    }

    sealed class Line
    {
        public Line Next;
        public Item Item;
        public long Price;
    }

    sealed class Reply
    {
        public string Text;
        public byte[] Body;
        public Line Lines;
    }

    static int Main(string[] args)
    {
        string change = args[0];
        if (!new[] { "unchanged", "midlife", "old", "more", "collect", "large" }.Contains(change)) throw new ArgumentException(change);
        int threads = App.Number(args, "threads", 2);
        int requests = App.Number(args, "requests", 60_000) / threads;
        int seed = App.Number(args, "seed", 1);
        var store = new Item[App.Number(args, "items", 20_000) * (change == "old" ? 2 : 1)];
        ulong state = (ulong)seed * 0x9E3779B97F4A7C15 | 1;
        for (int i = 0; i < store.Length; i++) store[i] = NewItem(i, ref state);
        App.Ready();

        var clock = Stopwatch.StartNew();
        var workers = Enumerable.Range(0, threads).Select(n => new Worker(n, threads, store, change, seed)).ToArray();
        var all = workers.Select(worker => new Thread(() => worker.Run(requests))).ToArray();
        foreach (var thread in all) thread.Start();
        foreach (var thread in all) thread.Join();
        clock.Stop();

        var info = GC.GetGCMemoryInfo(GCKind.Any);
        ulong checksum = workers.Aggregate(0ul, (sum, worker) => sum ^ worker.Checksum);
        Console.WriteLine($"done requests={requests * threads} checksum={checksum:x16} {App.Counts()} "
            + $"allocated={GC.GetTotalAllocatedBytes(true)} pause_ns={GC.GetTotalPauseDuration().Ticks * 100} "
            + $"heap_bytes={info.HeapSizeBytes} total_memory={GC.GetTotalMemory(false)} committed={info.TotalCommittedBytes} "
            + $"working_set={Environment.WorkingSet} wall_ns={clock.Elapsed.Ticks * 100}");
        GC.KeepAlive(store);
        return 0;
    }

    static Item NewItem(int number, ref ulong state) => new Item
    {
        Name = "item " + number,
        Content = new byte[100 + (int)(App.Random(ref state) % 200)],
    };

    sealed class Worker
    {
        readonly int number, threads;
        readonly Item[] store;
        readonly string change;
        readonly Reply[] recent;
        ulong state;
        int kept;

        public ulong Checksum { get; private set; }

        public Worker(int number, int threads, Item[] store, string change, int seed)
        {
            (this.number, this.threads, this.store, this.change) = (number, threads, store, change);
            recent = new Reply[change == "midlife" ? 100 : 8];
            state = (ulong)(seed + number + 1) * 0xBF58476D1CE4E5B9 | 1;
        }

        public void Run(int requests)
        {
            for (int i = 1; i <= requests; i++)
            {
                var reply = Answer(i);
                if (i % 8 == 0) recent[kept++ % recent.Length] = reply;
                // A thread writes to items of its own, so that the others do not change its work.
                if (i % 64 == 0)
                {
                    ulong own = App.Random(ref state) % (ulong)(store.Length / threads) * (ulong)threads + (ulong)number;
                    store[own] = NewItem((int)own, ref state);
                }
                if (change == "collect" && number == 0 && i % 5_000 == 0) GC.Collect();
            }
        }

        Reply Answer(int request)
        {
            var reply = new Reply { Body = new byte[1_000 + (int)(App.Random(ref state) % 4_000)] };
            long sum = 0;
            for (int i = 0; i < 8; i++)
            {
                ulong place = App.Random(ref state) % (ulong)(store.Length / threads) * (ulong)threads + (ulong)number;
                var item = store[place];
                sum += item.Content.Length;
                reply.Lines = new Line { Next = reply.Lines, Item = item, Price = item.Content.Length };
            }
            reply.Text = string.Join(", ", "request", request.ToString(), sum.ToString(), reply.Lines.Item.Name);
            for (int i = 0; i < reply.Body.Length; i += 16) reply.Body[i] = (byte)(sum + i);
            if (request % 96 == 0) Use(new byte[change == "large" ? 88_000 : 80_000]);
            if (change == "more") Use(new byte[900]);
            Checksum = Checksum * 0x100000001B3 ^ (ulong)sum ^ (ulong)reply.Text.Length ^ reply.Body[reply.Body.Length / 32 * 16];
            return reply;
        }

        static void Use(byte[] buffer) => buffer[buffer.Length / 2] = 1;
    }
}
