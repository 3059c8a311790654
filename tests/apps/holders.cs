// Makes known numbers of things that hold objects. stdout: "ready pid=N", then "done WHAT" for each line of stdin:
//
//   dependent N, undepend      dependent handles; frees them
//   table N                    entries of a ConditionalWeakTable
//   refcounted N, release      callable wrappers with a reference count of 1; counts it down to 0
//   null strong|weak|pinned N  GCHandles to null
//   strong N, unset, free      GCHandles to objects; sets them to null; frees all GCHandles
//   async N                    suspended state machines in a list
//   timers N                   timers in a list
//   poh N                      arrays on the pinned object heap, in a list
//   statics                    sets 16 static fields of reference type and 8 of value types
//   worker, job NAME           starts an idle thread; makes it set its thread statics: `first` and `second`
//                              each set 8 of reference type and 4 others in a class, `generic` 2 and 2 in 4 classes
//   collect                    a blocking gen2 collection with no pending finalizers            "collected index=N"
//   exit                       (or the end of stdin) ends the process
//
// The program does everything once before "ready", so that later changes are not due to first calls.
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

static class Holders
{
    static readonly List<object> kept = new List<object>(4096);
    static readonly List<DependentHandle> dependents = new List<DependentHandle>();
    static readonly ConditionalWeakTable<object, object> table = new ConditionalWeakTable<object, object>();
    static readonly List<GCHandle> handles = new List<GCHandle>();
    static readonly List<IntPtr> callables = new List<IntPtr>();
    static readonly Wrappers wrappers = new Wrappers();
    static readonly TaskCompletionSource<int> never = new TaskCompletionSource<int>();

    static void Main()
    {
        foreach (string line in new[] {
            "dependent 1", "undepend", "table 1", "refcounted 1", "release", "null strong 1", "strong 1", "unset", "free",
            "async 1", "timers 1", "poh 1", "worker", "job warm", "collect", "collect" })
            Do(line);
        Few.Text = "";
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line));
    }

    static string Do(string line)
    {
        string[] words = line.Split(' ');
        int.TryParse(words.Last(), out int count);
        switch (words[0])
        {
            case "undepend": dependents.ForEach(one => one.Dispose()); dependents.Clear(); break;
            case "release": callables.ForEach(one => Marshal.Release(one)); callables.Clear(); break;
            case "unset": handles.ForEach(one => one.Target = null); break;
            case "free": handles.ForEach(one => one.Free()); handles.Clear(); break;
            case "statics": SetStatics(); break;
            case "worker": Worker.Start(); break;
            case "job": Worker.Run(words[1]); break;
            case "collect": return Collect();
            default: Add(words[0], words[1], count); break;
        }
        return $"done {line}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Add(string what, string kind, int count)
    {
        for (int i = 0; i < count; i++)
        {
            // A list holds it: one root, made long ago.
            var one = new object();
            switch (what)
            {
                case "dependent": kept.Add(one); dependents.Add(new DependentHandle(one, new byte[8])); break;
                case "table": kept.Add(one); table.Add(one, new byte[8]); break;
                case "refcounted": kept.Add(one); callables.Add(wrappers.GetOrCreateComInterfaceForObject(one, CreateComInterfaceFlags.None)); break;
                case "null": handles.Add(GCHandle.Alloc(null, Type(kind))); break;
                case "strong": handles.Add(GCHandle.Alloc(one)); break;
                case "async": kept.Add(Suspended(one)); break;
                case "timers": kept.Add(new Timer(_ => { }, one, TimeSpan.FromHours(1), Timeout.InfiniteTimeSpan)); break;
                case "poh": kept.Add(GC.AllocateArray<byte>(64, pinned: true)); break;
                default: throw new ArgumentException(what);
            }
        }
    }

    static GCHandleType Type(string kind) => kind switch
    {
        "strong" => GCHandleType.Normal, "weak" => GCHandleType.Weak, "pinned" => GCHandleType.Pinned,
        _ => throw new ArgumentException(kind),
    };

    static async Task<object> Suspended(object mine)
    {
        await never.Task;
        return mine;
    }

    static class Few { public static string Text; }

    static class Many
    {
        public static object a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
        public static long q, r, s, t;
        public static Guid u, v, w, x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void SetStatics()
    {
        Many.a = Many.b = Many.c = Many.d = Many.e = Many.f = Many.g = Many.h = new object();
        Many.i = Many.j = Many.k = Many.l = Many.m = Many.n = Many.o = Many.p = new object();
        Many.q = Many.r = Many.s = Many.t = 1;
        Many.u = Many.v = Many.w = Many.x = Guid.NewGuid();
    }

    // Waits in system calls, so that its frames are the same each time.
    static unsafe class Worker
    {
        static int[] go, done;
        static string job;

        public static void Start()
        {
            (go, done) = (Pipe(), Pipe());
            (int input, int output) = (go[0], done[1]);
            new Thread(() => Loop(input, output)) { IsBackground = true }.UnsafeStart();
            Wait(done[0]);
        }

        public static void Run(string what)
        {
            job = what;
            Signal(go[1]);
            Wait(done[0]);
        }

        static void Loop(int input, int output)
        {
            while (true)
            {
                Signal(output);
                Wait(input);
                One(job);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void One(string job)
        {
            if (job == "warm") Generic<byte>.Set();
            if (job == "first") First.Set();
            if (job == "second") Second.Set();
            if (job == "generic") { Generic<sbyte>.Set(); Generic<short>.Set(); Generic<ushort>.Set(); Generic<int>.Set(); }
        }

        static int[] Pipe()
        {
            var ends = new int[2];
            fixed (int* into = ends) if (pipe(into) != 0) throw new IOException("pipe");
            return ends;
        }

        static void Signal(int descriptor)
        {
            byte one = 1;
            if (write(descriptor, &one, (IntPtr)1) != (IntPtr)1) throw new IOException("write");
        }

        static void Wait(int descriptor)
        {
            byte one;
            if (read(descriptor, &one, (IntPtr)1) != (IntPtr)1) throw new IOException("read");
        }

        [DllImport("libc")] static extern int pipe(int* ends);
        [DllImport("libc")] static extern IntPtr read(int descriptor, byte* into, IntPtr count);
        [DllImport("libc")] static extern IntPtr write(int descriptor, byte* from, IntPtr count);
    }

    static class First
    {
        [ThreadStatic] public static object a, b, c, d, e, f, g, h;
        [ThreadStatic] public static long i, j;
        [ThreadStatic] public static Guid k, l;
        public static void Set() { a = b = c = d = e = f = g = h = new object(); i = j = 1; k = l = Guid.NewGuid(); }
    }

    static class Second
    {
        [ThreadStatic] public static object a, b, c, d, e, f, g, h;
        [ThreadStatic] public static long i, j;
        [ThreadStatic] public static Guid k, l;
        public static void Set() { a = b = c = d = e = f = g = h = new object(); i = j = 1; k = l = Guid.NewGuid(); }
    }

    static class Generic<T>
    {
        [ThreadStatic] public static object a, b;
        [ThreadStatic] public static long c, d;
        public static void Set() { a = b = new object(); c = d = 1; }
    }

    // Gives any object a wrapper with one interface that has only the methods of IUnknown.
    sealed unsafe class Wrappers : ComWrappers
    {
        static readonly ComInterfaceEntry* entries = Make();

        static ComInterfaceEntry* Make()
        {
            GetIUnknownImpl(out IntPtr query, out IntPtr add, out IntPtr release);
            var methods = (IntPtr*)RuntimeHelpers.AllocateTypeAssociatedMemory(typeof(Wrappers), 3 * IntPtr.Size);
            (methods[0], methods[1], methods[2]) = (query, add, release);
            var made = (ComInterfaceEntry*)RuntimeHelpers.AllocateTypeAssociatedMemory(typeof(Wrappers), sizeof(ComInterfaceEntry));
            (made->IID, made->Vtable) = (new Guid("6f4c6b52-9f4f-4d3c-b0c9-0b1f6d1c2a55"), (IntPtr)methods);
            return made;
        }

        protected override ComInterfaceEntry* ComputeVtables(object of, CreateComInterfaceFlags flags, out int count)
        {
            count = 1;
            return entries;
        }

        protected override object CreateObject(IntPtr from, CreateObjectFlags flags) => throw new NotSupportedException();
        protected override void ReleaseObjects(IEnumerable objects) => throw new NotSupportedException();
    }

    // Before each collection the finalizer thread has just finalized an object, so that its own frames are the same.
    static string Collect()
    {
        do
        {
            DropOne();
            GC.Collect();
            GC.WaitForPendingFinalizers();
            GC.Collect();
        } while (GC.GetGCMemoryInfo(GCKind.Any).FinalizationPendingCount > 0);
        return $"collected index={GC.GetGCMemoryInfo(GCKind.Any).Index}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void DropOne() => GC.KeepAlive(new Finalizable());

    sealed class Finalizable
    {
        ~Finalizable() { }
    }
}
