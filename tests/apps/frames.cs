// Holds known numbers of objects in frames. stdout: "ready pid=N", then one line for each line of stdin:
//
//   hold KIND N     N frames, each with an object of its own     "held kind=KIND method=0x... total=N"
//       local       a recursive method with a reference in a local
//       null        the same with a null reference
//       fixed       the same with a `fixed` local
//       ref         the same with a `ref` into the object, and no other local
//       span        the same with a `Span` over it
//       native      as many threads, each inside a system call that waits
//   collect GEN [compacting]   a blocking collection
//                   "collected index=N local=0x...,0x... fixed=... ": each object's address afterwards
//   let KIND        ends those frames         "gone kind=KIND"
//   exit            (or the end of stdin) ends the process
//
// `method` is the method's MethodDesc, which profilers know as its FunctionID.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static unsafe class Frames
{
    // Tiered code would keep temporaries alive; with this option, a frame holds just what its source says.
    const MethodImplOptions Exact = MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization;

    static readonly Dictionary<string, Group> groups = new Dictionary<string, Group>();

    // The frames of one kind. A list holds the objects, too, so that the program can print their addresses; it adds no
    // root.
    sealed class Group
    {
        public readonly List<byte[]> Objects = new List<byte[]>();
        public readonly List<Thread> Threads = new List<Thread>();
        // Frames wait in a read of this pipe, which ends when the other end is closed.
        public readonly int[] Pipe = new int[2];
        public int[] Ids;
        public int Entered;
        public bool Empty;

        public Group() { fixed (int* ends = Pipe) if (pipe(ends) != 0) throw new IOException("pipe"); }

        public byte[] New()
        {
            if (Empty) return null;
            var made = new byte[64];
            lock (Objects) Objects.Add(made);
            return made;
        }
    }

    static void Main()
    {
        foreach (string kind in new[] { "local", "null", "fixed", "ref", "span", "native" })
        {
            Do("hold " + kind + " 2");
            Do("collect 2 compacting");
            Do("let " + kind);
        }
        Do("collect 0");
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line));
    }

    static string Do(string line)
    {
        string[] words = line.Split(' ');
        switch (words[0])
        {
            case "hold": return Hold(words[1], int.Parse(words[2]));
            case "let": return Let(words[1]);
            case "collect": return Collect(int.Parse(words[1]), words.Length > 2 && words[2] == "compacting");
            default: return $"unknown command {words[0]}";
        }
    }

    static string Hold(string kind, int count)
    {
        var group = new Group { Empty = kind == "null" };
        groups.Add(kind, group);
        int threads = kind == "native" ? count : 1;
        group.Ids = new int[threads];
        for (int i = 0; i < threads; i++)
        {
            int at = i;
            var thread = new Thread(() => { group.Ids[at] = gettid(); Enter(kind, group, count); }, 512 * 1024);
            group.Threads.Add(thread);
            thread.Start();
        }
        // Between counting itself and its system call a thread never sleeps.
        while (Volatile.Read(ref group.Entered) < threads || !group.Ids.All(Sleeps)) Thread.Yield();
        string name = kind == "null" ? nameof(Local) : char.ToUpper(kind[0]) + kind.Substring(1);
        var method = typeof(Frames).GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic);
        return $"held kind={kind} method=0x{(ulong)method.MethodHandle.Value:x} total={count}";
    }

    static void Enter(string kind, Group group, int depth)
    {
        switch (kind)
        {
            case "fixed": Fixed(group, depth); break;
            case "ref": Ref(group, depth); break;
            case "span": Span(group, depth); break;
            case "native": Native(group); break;
            default: Local(group, depth); break;
        }
    }

    [MethodImpl(Exact)]
    static int Local(Group group, int depth)
    {
        var mine = group.New();
        int below = depth > 1 ? Local(group, depth - 1) : Bottom(group);
        GC.KeepAlive(mine);
        return below + 1;
    }

    [MethodImpl(Exact)]
    static int Fixed(Group group, int depth)
    {
        fixed (byte* mine = group.New())
        {
            int below = depth > 1 ? Fixed(group, depth - 1) : Bottom(group);
            return below + mine[0];
        }
    }

    [MethodImpl(Exact)]
    static int Ref(Group group, int depth)
    {
        ref byte mine = ref group.New()[40];
        int below = depth > 1 ? Ref(group, depth - 1) : Bottom(group);
        return below + mine;
    }

    [MethodImpl(Exact)]
    static int Span(Group group, int depth)
    {
        var mine = new Span<byte>(group.New(), 8, 16);
        int below = depth > 1 ? Span(group, depth - 1) : Bottom(group);
        return below + mine[3];
    }

    [MethodImpl(Exact)]
    static int Native(Group group)
    {
        var mine = group.New();
        byte got;
        Interlocked.Increment(ref group.Entered);
        read(group.Pipe[0], &got, (IntPtr)1);
        GC.KeepAlive(mine);
        return 0;
    }

    [MethodImpl(Exact)]
    static int Bottom(Group group)
    {
        byte got;
        Interlocked.Increment(ref group.Entered);
        return (int)read(group.Pipe[0], &got, (IntPtr)1);
    }

    static string Let(string kind)
    {
        groups.Remove(kind, out var group);
        close(group.Pipe[1]);
        group.Threads.ForEach(thread => thread.Join());
        close(group.Pipe[0]);
        return $"gone kind={kind}";
    }

    static string Collect(int generation, bool compacting)
    {
        GC.Collect(generation, GCCollectionMode.Forced, blocking: true, compacting);
        int before = GC.CollectionCount(0);
        var places = groups.OrderBy(group => group.Key).Select(group => $" {group.Key}="
            + string.Join(",", group.Value.Objects.Select(held => $"0x{Address(held):x}")));
        string text = string.Concat(places.ToArray());
        // The addresses are those after this collection only if there was no other since.
        if (GC.CollectionCount(0) != before) return Collect(generation, compacting);
        return $"collected index={GC.GetGCMemoryInfo(GCKind.Any).Index}" + text;
    }

    static ulong Address(object target) => Unsafe.As<object, ulong>(ref target);

    static bool Sleeps(int thread)
    {
        string stat = File.ReadAllText($"/proc/self/task/{thread}/stat");
        return stat[stat.LastIndexOf(')') + 2] == 'S';
    }

    [DllImport("libc")] static extern int pipe(int* ends);
    [DllImport("libc")] static extern IntPtr read(int descriptor, byte* into, IntPtr count);
    [DllImport("libc")] static extern int close(int descriptor);
    [DllImport("libc")] static extern int gettid();
}
