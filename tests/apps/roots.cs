// Makes known numbers of roots. stdout: "ready pid=N", then one line for each line of stdin:
//
//   handles strong|pinned|weak|weaklong N   N more GCHandles to N live objects     "handles total=N"
//   where                                   "where gc0=N HANDLE:OBJECT ...": each handle's id and its object's address
//   free                                    frees them all                         "freed handles=N"
//   finalizable N                           blocks the finalizer thread in a finalizer, then makes N dead
//                                           objects with finalizers                "finalizable held=true dead=N"
//   release                                 unblocks the finalizer thread          "released finalized=N"
//   threads M                               M more threads, blocked 4 frames deep, each with an object of its
//                                           own in a local                         "threads total=M"
//   join                                    ends them                              "joined threads=M"
//   collect GEN [compacting]                a blocking collection                  "collected index= gc0= ..."
//   full                                    induces a background collection and waits for its end; the runtime may
//                                           make it a blocking one               "full kind=background|blocking index="
//   exit                                    (or the end of stdin) ends the process
//
// The program does everything once before "ready", so that later changes are not due to first calls.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static class Roots
{
    static readonly List<GCHandle> handles = new List<GCHandle>();
    static readonly List<object> kept = new List<object>();
    static readonly List<Thread> threads = new List<Thread>();
    static readonly ManualResetEventSlim joining = new ManualResetEventSlim();
    static readonly CountdownEvent blocked = new CountdownEvent(1);
    static readonly ManualResetEventSlim held = new ManualResetEventSlim();
    static readonly ManualResetEventSlim release = new ManualResetEventSlim();
    static int finalized;

    static void Main()
    {
        foreach (string line in new[] {
            "handles strong 1", "handles pinned 1", "handles weak 1", "handles weaklong 1", "collect 0", "free",
            "finalizable 1", "collect 1", "release", "threads 1", "collect 2 compacting", "join", "collect 2", "collect 2" })
            Do(line);
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line));
    }

    static string Do(string line)
    {
        string[] words = line.Split(' ');
        switch (words[0])
        {
            case "handles": return AddHandles(words[1], int.Parse(words[2]));
            case "where": return Where();
            case "free": return FreeHandles();
            case "finalizable": return AddFinalizable(int.Parse(words[1]));
            case "release": return Release();
            case "threads": return AddThreads(int.Parse(words[1]));
            case "join": return Join();
            case "collect": return Collect(int.Parse(words[1]), words.Length > 2 && words[2] == "compacting");
            case "full": return Full();
            default: return $"unknown command {words[0]}";
        }
    }

    static byte[] ballast;

    static string Full()
    {
        // With less than 4 MiB, the runtime makes blocking collections instead of background ones.
        ballast ??= new byte[8_000_000];
        (long before, _) = LastFull();
        GC.Collect(2, GCCollectionMode.Forced, blocking: false);
        while (true)
        {
            (long index, bool background) = LastFull();
            if (index > before) return $"full kind={(background ? "background" : "blocking")} index={index}";
            Thread.Sleep(1);
        }
    }

    static (long, bool) LastFull()
    {
        GCMemoryInfo background = GC.GetGCMemoryInfo(GCKind.Background), blocking = GC.GetGCMemoryInfo(GCKind.FullBlocking);
        // A background collection that ran blocking leaves only its number in its GCMemoryInfo.
        return background.Index > blocking.Index
            ? (background.Index, background.HeapSizeBytes != 0) : (blocking.Index, false);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string AddHandles(string kind, int count)
    {
        var type = kind switch
        {
            "strong" => GCHandleType.Normal,
            "pinned" => GCHandleType.Pinned,
            "weak" => GCHandleType.Weak,
            "weaklong" => GCHandleType.WeakTrackResurrection,
            _ => throw new ArgumentException(kind),
        };
        for (int i = 0; i < count; i++)
        {
            var target = new byte[32];
            // A weak handle does not hold its object, but the list does; it adds no root.
            if (kind.StartsWith("weak")) kept.Add(target);
            handles.Add(GCHandle.Alloc(target, type));
        }
        return $"handles total={handles.Count}";
    }

    // Written in small pieces: for a long line the console would take a pooled array, and the pool registers handles.
    // The lowest bit of a pinned handle's value is a mark, not part of its id.
    static string Where()
    {
        Console.Write($"where gc0={GC.CollectionCount(0)}");
        foreach (var handle in handles)
            Console.Write($" 0x{(ulong)GCHandle.ToIntPtr(handle) & ~1UL:x}:0x{Address(handle.Target):x}");
        return "";
    }

    static ulong Address(object target) => Unsafe.As<object, ulong>(ref target);

    static string FreeHandles()
    {
        int count = handles.Count;
        foreach (var handle in handles) handle.Free();
        handles.Clear();
        kept.Clear();
        return $"freed handles={count}";
    }

    static string AddFinalizable(int count)
    {
        if (!held.IsSet)
        {
            MakeGarbage<Holder>(1);
            GC.Collect();
            held.Wait();
        }
        MakeGarbage<Finalizable>(count);
        return $"finalizable held=true dead={count}";
    }

    // A frame of its own, so that no local of a caller keeps an object alive.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeGarbage<T>(int count) where T : new()
    {
        for (int i = 0; i < count; i++) GC.KeepAlive(new T());
    }

    static string Release()
    {
        release.Set();
        GC.Collect();
        GC.WaitForPendingFinalizers();
        held.Reset();
        release.Reset();
        return $"released finalized={Interlocked.Exchange(ref finalized, 0)}";
    }

    sealed class Holder
    {
        ~Holder()
        {
            held.Set();
            release.Wait();
        }
    }

    sealed class Finalizable
    {
        ~Finalizable() => Interlocked.Increment(ref finalized);
    }

    static string AddThreads(int count)
    {
        blocked.Reset(count);
        for (int i = 0; i < count; i++)
        {
            var thread = new Thread(() => Block(3), 256 * 1024);
            threads.Add(thread);
            thread.Start();
        }
        blocked.Wait();
        return $"threads total={threads.Count}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Block(int depth)
    {
        if (depth > 0) return Block(depth - 1) + 1;
        var mine = new byte[32];
        blocked.Signal();
        joining.Wait();
        GC.KeepAlive(mine);
        return 0;
    }

    static string Join()
    {
        int count = threads.Count;
        joining.Set();
        foreach (var thread in threads) thread.Join();
        threads.Clear();
        joining.Reset();
        return $"joined threads={count}";
    }

    static string Collect(int generation, bool compacting)
    {
        GC.Collect(generation, GCCollectionMode.Forced, blocking: true, compacting);
        var info = GC.GetGCMemoryInfo(GCKind.Any);
        return $"collected index={info.Index} {App.Counts()} "
            + $"generation={info.Generation} compacted={info.Compacted} concurrent={info.Concurrent} "
            + $"pause_ns={info.PauseDurations[0].Ticks * 100} heap_bytes={info.HeapSizeBytes} "
            + $"committed_bytes={info.TotalCommittedBytes} promoted_bytes={info.PromotedBytes} "
            + $"pinned_objects={info.PinnedObjectsCount} finalization_pending={info.FinalizationPendingCount}";
    }
}
