// Does what makes the runtime write events: collections, exceptions, locks, threads, handles, dynamic methods, unloading;
// and writes events of its own with every type of field.
//
//   kinds [MILLISECONDS TO WAIT AT THE END]
using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Threading;
using System.Threading.Tasks;

enum Colour : byte { Red = 1, Blue = 200 }
[EventData] class Point { public int X { get; set; } public string Name { get; set; } public double[] Values { get; set; } }
[EventData] class Line { public Point From { get; set; } public Point To { get; set; } public int Width { get; set; } }

[EventSource(Name = "Kinds-Manifest")]
class Manifest : EventSource
{
    public static readonly Manifest Log = new Manifest();
    [Event(1, Version = 3)] public void Numbers(bool a, byte b, sbyte c, short d, ushort e, int f, uint g, long h, ulong i, float j, double k, char l) => WriteEvent(1, a, b, c, d, e, f, g, h, i, j, k, l);
    [Event(2)] public void Texts(string a, string b, int c) => WriteEvent(2, a, b, c);
    [Event(3)] public void Others(Guid a, DateTime b, IntPtr c, Colour d) => WriteEvent(3, a, b, c, d);
    [Event(4)] public void Bytes(byte[] a, int after) => WriteEvent(4, a, after);
    [Event(5)] public void Nothing() => WriteEvent(5);
    [Event(6, Opcode = EventOpcode.Start, Task = (EventTask)17)] public void WorkStart(int id) => WriteEvent(6, id);
    [Event(7, Opcode = EventOpcode.Stop, Task = (EventTask)17)] public void WorkStop(int id) => WriteEvent(7, id);
    [Event(8, Level = EventLevel.Verbose)] public void Text(string a) => WriteEvent(8, a);
}

[EventSource(Name = "Kinds-SelfDescribing")]
class Described : EventSource
{
    public static readonly Described Log = new Described();
    Described() : base(EventSourceSettings.EtwSelfDescribingEventFormat) { }
    [Event(1)] public void Arrays(int[] numbers, string[] texts, IEnumerable<long> more) => WriteEvent(1, numbers, texts, more);
    [Event(5)] public void Ints(int[] numbers, int after) => WriteEvent(5, numbers, after);
    [Event(2)] public void Nested(Line line, int after) => WriteEvent(2, line, after);
    [Event(3)] public void Pairs(IDictionary<string, string> pairs) => WriteEvent(3, pairs);
    [Event(4)] public void Many(IEnumerable<Point> points) => WriteEvent(4, points);
}

class Finalized { ~Finalized() { Kinds.Count++; } }
class Filtering : Exception { public Filtering(string m) : base(m) { } }

static class Kinds
{
    public static int Count;
    [DllImport("libc")] static extern int getpid();
    [DllImport("libc", CharSet = CharSet.Ansi, SetLastError = true)] static extern IntPtr getenv(string name);
    [ThreadStatic] static object perThread;
    static readonly List<object> alive = new List<object>();
    static readonly ConditionalWeakTable<object, object> table = new ConditionalWeakTable<object, object>();

    static void Main(string[] args)
    {
        for (int i = 0; i < 3; i++) Events(i);
        Exceptions();
        Contention();
        Threads();
        Pools();
        Gcs();
        Handles();
        Dynamic();
        Loader(typeof(Kinds).Assembly.Location);
        for (int i = 0; i < 3000; i++) { alive.Add(new KeyValuePair<string, Point>("k" + i, new Point())); if (i < 5) table.Add(alive[i], new object()); }
        Thread.Sleep(args.Length > 0 ? int.Parse(args[0]) : 0);
        Console.WriteLine($"done {getpid()} {getenv("HOME") != IntPtr.Zero} {Loop(3_000_000)}");
    }

    static void Events(int i)
    {
        Manifest.Log.Numbers(true, 255, -128, short.MinValue, ushort.MaxValue, int.MinValue + i, uint.MaxValue, long.MinValue, ulong.MaxValue, 1.1f, Math.PI * 1e-300, 'ß');
        Manifest.Log.Numbers(false, 0, 0, 0, 0, 0, 0, 0, 0, float.NaN, double.PositiveInfinity, '\t');
        Manifest.Log.Texts("tab\tquote\"back\\slash\nnew", "ünï 😀 \u2028", i);
        Manifest.Log.Texts("", null, -1);
        Manifest.Log.Texts("lone \ud800 end", "x", 1);
        Manifest.Log.Others(new Guid("01234567-89ab-cdef-0123-456789ABCDEF"), new DateTime(2024, 2, 29, 12, 34, 56, 789, DateTimeKind.Utc), new IntPtr(-1), Colour.Blue);
        Manifest.Log.Bytes(new byte[] { 0, 1, 254, 255 }, 7);
        Manifest.Log.Bytes(Array.Empty<byte>(), 8);
        Manifest.Log.Nothing();
        Manifest.Log.WorkStart(i);
        Manifest.Log.WorkStop(i);
        Manifest.Log.Text("only");
        Try(() => Described.Log.Arrays(new[] { 1, -2, 3 }, new[] { "a", "", "c\t" }, new long[] { long.MaxValue }));
        Try(() => Described.Log.Ints(new[] { 1, -2, 3 }, 4));
        Try(() => Described.Log.Ints(new int[0], 5));
        Try(() => Described.Log.Write("Lists", new { Numbers = new long[] { long.MaxValue, -1 }, Bytes = new byte[] { 1, 255 }, Floats = new[] { 0.1f, float.NegativeInfinity }, Ids = new[] { Guid.Empty, new Guid("01234567-89ab-cdef-0123-456789ABCDEF") }, Flags = new[] { true, false }, Small = new sbyte[] { -1 }, Chars = new[] { 'a', 'ß' }, Addresses = new[] { new IntPtr(-1), new IntPtr(1) }, After = (ushort)65535 }));
        Try(() => Described.Log.Write("Bytes", new { Bytes = new byte[] { 1, 255 }, After = 1 }));
        Try(() => Described.Log.Write("Scalars", new { When = new DateTime(2000, 1, 1, 0, 0, 0, DateTimeKind.Utc), Id = Guid.Empty, Text = "x", Letter = 'x', Flag = true, Address = new IntPtr(-1), Colour = Colour.Blue, Small = (sbyte)-1, Single = 0.1f }));
        Try(() => Described.Log.Write("Span", new { Span = TimeSpan.FromSeconds(1), After = 1 }));
        Try(() => Described.Log.Write("Money", new { Money = 1.25m, After = 1 }));
        Try(() => Described.Log.Write("Maybe", new { Nullable = (int?)5, Not = (int?)null, After = 1 }));
        Try(() => Described.Log.Write("Inner", new { Before = 1, In = new { A = 1, B = "b" }, After = 2 }));
        var from = new Point { X = 1, Name = "from", Values = new[] { 1.5, -0.0 } };
        var to = new Point { X = 2, Name = "to", Values = new double[0] };
        Try(() => Described.Log.Nested(new Line { From = from, To = to, Width = 9 }, 10));
        Try(() => Described.Log.Pairs(new Dictionary<string, string> { ["one"] = "eins", ["two"] = "zwei" }));
        Try(() => Described.Log.Many(new[] { from, to }));
        Try(() => Described.Log.Write("Anonymous", new { Count = i, When = new DateTime(2000, 1, 1, 0, 0, 0, DateTimeKind.Utc), Id = Guid.Empty, Text = "x", Span = TimeSpan.FromSeconds(1), Money = 1.25m, Nullable = (int?)5, Letter = 'x', Flag = true }));
        Try(() => Described.Log.Write("Empty"));
        Try(() => Described.Log.Write("Begin", new EventSourceOptions { Opcode = EventOpcode.Start, Level = EventLevel.Warning }, new { A = 1 }));
    }

    static void Try(Action act) { try { act(); } catch (Exception e) { Console.WriteLine(e.ToString()); } }

    static void Exceptions()
    {
        for (int i = 0; i < 3; i++)
        {
            try { try { Throw("first"); } finally { Count++; } } catch (Filtering e) when (e.Message == "first") { Count++; }
            try { try { Throw("inner"); } catch (Filtering e) { throw new InvalidOperationException("outer", e); } } catch (InvalidOperationException) { }
            try { object o = null; o.GetHashCode(); } catch (NullReferenceException) { }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)] static void Throw(string text) => throw new Filtering(text);

    static void Contention()
    {
        object gate = new object();
        var threads = Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            for (int i = 0; i < 4; i++) lock (gate) { perThread = gate; Thread.Sleep(2); }
        })).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
    }

    static void Threads()
    {
        var named = new Thread(() => { Thread.Sleep(1); }) { Name = "named", IsBackground = true };
        named.Start();
        named.Join();
        using var set = new ManualResetEvent(false);
        ThreadPool.QueueUserWorkItem(_ => { Thread.Sleep(3); set.Set(); });
        set.WaitOne();
        var all = Enumerable.Range(0, 20).Select(i => Task.Run(async () => { Thread.Sleep(5); await Task.Delay(1); return i; })).ToArray();
        Task.WaitAll(all);
    }

    static void Pools()
    {
        using var timer = new Timer(_ => Count++, null, 1, 1);
        Parallel.For(0, 8, i => { Thread.Sleep(1); });
        using var pipe = new System.IO.Pipes.AnonymousPipeServerStream();
        using var client = new System.IO.Pipes.AnonymousPipeClientStream(pipe.GetClientHandleAsString());
        var read = client.ReadAsync(new byte[3], 0, 3);
        pipe.Write(new byte[3], 0, 3);
        read.Wait();
    }

    static void Gcs()
    {
        var kept = new List<object>();
        for (int i = 0; i < 20_000; i++)
        {
            var x = new byte[1000];
            if (i % 50 == 0) { kept.Add(x); new Finalized(); }
            if (i % 1000 == 0) { var key = new object(); table.Add(key, x); kept.Add(key); kept.Add(new string[10]); }
        }
        for (int i = 0; i < 10; i++) { var large = new byte[200_000]; if (i % 2 == 0) kept.Add(large); }
        kept.Add(GC.AllocateArray<byte>(1000, true));
        GC.AddMemoryPressure(1 << 20);
        GC.Collect(0); GC.Collect(1); GC.Collect(2);
        GC.RemoveMemoryPressure(1 << 20);
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(2, GCCollectionMode.Forced, true, true);
        GC.Collect(2, GCCollectionMode.Forced, false, false);
        GC.WaitForPendingFinalizers();
        if (GC.TryStartNoGCRegion(1 << 20)) GC.EndNoGCRegion();
        GC.Collect(2, GCCollectionMode.Aggressive, true, true);
        GC.KeepAlive(kept);
    }

    static void Handles()
    {
        var x = new byte[10];
        foreach (GCHandleType type in Enum.GetValues(typeof(GCHandleType)))
        {
            var handle = GCHandle.Alloc(x, type);
            if (type == GCHandleType.Pinned) GC.Collect(0);
            handle.Free();
        }
        var dependent = new DependentHandle(x, new object());
        dependent.Dispose();
        GC.KeepAlive(x);
    }

    static void Dynamic()
    {
        for (int i = 0; i < 3; i++)
        {
            var method = new DynamicMethod("made" + i, typeof(int), new[] { typeof(int) });
            var il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0); il.Emit(OpCodes.Ldc_I4, i); il.Emit(OpCodes.Add); il.Emit(OpCodes.Ret);
            ((Func<int, int>)method.CreateDelegate(typeof(Func<int, int>)))(i);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Loader(string path)
    {
        var context = new AssemblyLoadContext("second", true);
        context.LoadFromAssemblyPath(path).GetType("Point").GetProperty("X");
        try { Assembly.Load("There.Is.None"); } catch (FileNotFoundException) { }
        context.Unload();
        GC.Collect(); GC.WaitForPendingFinalizers(); GC.Collect();
    }

    static long Loop(int n) { long sum = 0; for (int i = 0; i < n; i++) sum += Twice(i); return sum; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Twice(int i) => i * 2;
}
