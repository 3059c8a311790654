// What the test applications use and the class library of the emulated runtime lacks, because it was trimmed for another
// application. Compiled into each application for that runtime; the compiler prefers these types.
using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

// In no namespace, so that it goes before System.GC, and its frames are called as those are.
static class GC
{
    static readonly Type real = typeof(object).Assembly.GetType("System.GC");
    static readonly Action<int, int, bool> collect = Real<Action<int, int, bool>>("_Collect");
    static readonly Action wait = Real<Action>("WaitForPendingFinalizers");
    static readonly Func<int, int> count = Real<Func<int, int>>("CollectionCount");
    static readonly Func<TimeSpan> paused = Real<Func<TimeSpan>>("GetTotalPauseDuration");
    static readonly Func<bool, long> allocated = Real<Func<bool, long>>("GetTotalAllocatedBytes");

    // By a delegate, because a call by reflection would leave frames of its own.
    static T Real<T>(string name) where T : Delegate => (T)Method(name, Parameters(typeof(T))).CreateDelegate(typeof(T));

    static Type[] Parameters(Type of)
    {
        ParameterInfo[] all = of.GetMethod("Invoke").GetParameters();
        var types = new Type[all.Length];
        for (int i = 0; i < all.Length; i++) types[i] = all[i].ParameterType;
        return types;
    }

    public static MethodInfo Method(string name, params Type[] parameters) =>
        real.GetMethod(name, BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic, null, parameters, null);

    // The runtime's own flags: 1 not blocking, 2 blocking, 4 only if it is worth it, 8 compacting.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Collect() => collect(-1, 2, false);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Collect(int generation, GCCollectionMode mode, bool blocking, bool compacting = false) =>
        collect(generation, (mode == GCCollectionMode.Optimized ? 4 : 0) | (compacting ? 8 : 0) | (blocking ? 2 : 1), false);

    public static void WaitForPendingFinalizers() => wait();
    public static int CollectionCount(int generation) => count(generation);
    public static TimeSpan GetTotalPauseDuration() => paused();

    // Of all threads.
    public static long GetAllocatedBytesForCurrentThread() => allocated(true);
    public static GCMemoryInfo GetGCMemoryInfo(GCKind kind) => new GCMemoryInfo(kind);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void KeepAlive(object o) { }
}

namespace System
{
    enum GCCollectionMode { Default, Forced, Optimized, Aggressive }

    // By the fields that the runtime fills in.
    readonly struct GCMemoryInfo
    {
        readonly object data;

        public GCMemoryInfo(GCKind kind)
        {
            object real = global::GC.Method("GetGCMemoryInfo", typeof(GCKind)).Invoke(null, new object[] { kind });
            data = Field(real, "_data");
        }

        static object Field(object of, string name) =>
            of.GetType().GetField(name, BindingFlags.Instance | BindingFlags.NonPublic).GetValue(of);

        public long Index => (long)Field(data, "_index");
        public int Generation => (int)Field(data, "_generation");
        public bool Compacted => (byte)Field(data, "_compacted") != 0;
        public bool Concurrent => (byte)Field(data, "_concurrent") != 0;
        public long HeapSizeBytes => (long)Field(data, "_heapSizeBytes");
        public long TotalCommittedBytes => (long)Field(data, "_totalCommittedBytes");
        public long PromotedBytes => (long)Field(data, "_promotedBytes");
        public long PinnedObjectsCount => (long)Field(data, "_pinnedObjectsCount");
        public long FinalizationPendingCount => (long)Field(data, "_finalizationPendingCount");
        public TimeSpan[] PauseDurations =>
            new[] { (TimeSpan)Field(data, "_pauseDuration0"), (TimeSpan)Field(data, "_pauseDuration1") };
    }
}

namespace System.Threading
{
    static class Timeout
    {
        public const int Infinite = -1;
    }

    sealed class CountdownEvent
    {
        readonly ManualResetEventSlim done = new ManualResetEventSlim();
        int left;

        public CountdownEvent(int count) => Reset(count);

        public void Reset(int count)
        {
            left = count;
            done.Reset();
        }

        public void Signal()
        {
            if (Interlocked.Decrement(ref left) == 0) done.Set();
        }

        public void Wait() => done.Wait();
    }
}

// What the compiler makes async methods of.
namespace System.Runtime.CompilerServices
{
    interface IAsyncStateMachine
    {
        void MoveNext();
        void SetStateMachine(IAsyncStateMachine machine);
    }

    struct AsyncTaskMethodBuilder<T>
    {
        TaskCompletionSource<T> source;

        public static AsyncTaskMethodBuilder<T> Create() =>
            new AsyncTaskMethodBuilder<T> { source = new TaskCompletionSource<T>() };

        public Task<T> Task => source.Task;
        public void SetResult(T result) => source.SetResult(result);
        public void SetException(Exception exception) => source.SetException(exception);
        public void SetStateMachine(IAsyncStateMachine machine) { }
        public void Start<M>(ref M machine) where M : IAsyncStateMachine => machine.MoveNext();

        public void AwaitOnCompleted<A, M>(ref A awaiter, ref M machine)
            where A : INotifyCompletion where M : IAsyncStateMachine => awaiter.OnCompleted(((IAsyncStateMachine)machine).MoveNext);

        public void AwaitUnsafeOnCompleted<A, M>(ref A awaiter, ref M machine)
            where A : ICriticalNotifyCompletion where M : IAsyncStateMachine =>
            awaiter.UnsafeOnCompleted(((IAsyncStateMachine)machine).MoveNext);
    }

    struct AsyncTaskMethodBuilder
    {
        AsyncTaskMethodBuilder<bool> inner;

        public static AsyncTaskMethodBuilder Create() =>
            new AsyncTaskMethodBuilder { inner = AsyncTaskMethodBuilder<bool>.Create() };

        public Task Task => inner.Task;
        public void SetResult() => inner.SetResult(true);
        public void SetException(Exception exception) => inner.SetException(exception);
        public void SetStateMachine(IAsyncStateMachine machine) { }
        public void Start<M>(ref M machine) where M : IAsyncStateMachine => machine.MoveNext();

        public void AwaitOnCompleted<A, M>(ref A awaiter, ref M machine)
            where A : INotifyCompletion where M : IAsyncStateMachine => inner.AwaitOnCompleted(ref awaiter, ref machine);

        public void AwaitUnsafeOnCompleted<A, M>(ref A awaiter, ref M machine)
            where A : ICriticalNotifyCompletion where M : IAsyncStateMachine => inner.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
    }
}
