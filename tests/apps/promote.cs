// Makes known bytes reachable in one way only. stdout: "ready pid=N", then one line for each line of stdin:
//
//   handle N BYTES      N arrays of BYTES, each held by a handle        "made bytes=N": their sizes, headers and all
//   stack N BYTES       N frames of a thread of its own, an array in each
//   finalizer N BYTES   blocks the finalizer thread; N dead objects with finalizers hold an array each
//   older N BYTES       N arrays in the fields of an object of the oldest generation
//   dependent N BYTES   N arrays that dependent handles hold, whose key lives
//   late N BYTES        the same, but the keys are dead and have finalizers
//   odd N CHARS         N strings, each held by a handle: the heap rounds their sizes up to 8 bytes
//   let                 drops all of it                             "gone"
//   collect GEN [compacting]   a blocking collection             "collected index=N ... promoted_bytes=N"
//   exit                (or the end of stdin) ends the process
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static class Promote
{
    // Tiered code would keep temporaries alive.
    const MethodImplOptions Exact = MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization;
    // The size of an array without its elements: header, type and length.
    const int Overhead = 24;
    const int MaxOlder = 4096;

    static readonly List<GCHandle> handles = new List<GCHandle>();
    static readonly List<DependentHandle> dependents = new List<DependentHandle>();
    static readonly object key = new object();
    static readonly object[] older = new object[MaxOlder];
    static readonly ManualResetEventSlim held = new ManualResetEventSlim();
    static readonly ManualResetEventSlim release = new ManualResetEventSlim();
    static ManualResetEventSlim frames;
    static Thread thread;

    static void Main()
    {
        GC.Collect(); GC.Collect();
        foreach (string line in new[] { "handle 1 64", "stack 1 64", "finalizer 1 64", "older 1 64", "dependent 1 64", "late 1 64", "odd 1 3", "collect 0", "collect 1", "let", "collect 2 compacting", "collect 2" })
            Do(line);
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line));
    }

    static string Do(string line)
    {
        string[] words = line.Split(' ');
        if (words[0] == "let") return Let();
        int number = int.Parse(words[1]);
        if (words[0] == "collect") return Collect(number, words.Length > 2);
        int bytes = int.Parse(words[2]);
        Make(words[0], number, bytes);
        return $"made bytes={(long)number * bytes}";
    }

    [MethodImpl(Exact)]
    static void Make(string what, int count, int bytes)
    {
        int length = bytes - Overhead;
        switch (what)
        {
            case "handle":
                for (int i = 0; i < count; i++) handles.Add(GCHandle.Alloc(new byte[length]));
                break;
            case "odd":
                for (int i = 0; i < count; i++) handles.Add(GCHandle.Alloc(new string('x', bytes)));
                break;
            case "stack":
                var there = new ManualResetEventSlim();
                var end = frames = new ManualResetEventSlim();
                thread = new Thread(() => Frame(count, length, there, end), 4 * 1024 * 1024);
                thread.Start();
                there.Wait();
                break;
            case "finalizer":
                if (!held.IsSet)
                {
                    Drop<Holder>();
                    GC.Collect();
                    held.Wait();
                }
                for (int i = 0; i < count; i++) Drop(length);
                break;
            case "older":
                for (int i = 0; i < count; i++) older[i] = new byte[length];
                break;
            case "late":
                for (int i = 0; i < count; i++) DropKey(length);
                break;
            case "dependent":
                for (int i = 0; i < count; i++) dependents.Add(new DependentHandle(key, new byte[length]));
                break;
        }
    }

    [MethodImpl(Exact)] static void Drop<T>() where T : new() => GC.KeepAlive(new T());
    [MethodImpl(Exact)] static void Drop(int length) => GC.KeepAlive(new Finalizable { Mine = new byte[length] });

    [MethodImpl(Exact)] static void DropKey(int length) => dependents.Add(new DependentHandle(new Finalizable(), new byte[length]));

    [MethodImpl(Exact)]
    static int Frame(int depth, int length, ManualResetEventSlim there, ManualResetEventSlim end)
    {
        var mine = new byte[length];
        int below = 0;
        if (depth > 1) below = Frame(depth - 1, length, there, end);
        else { there.Set(); end.Wait(); }
        GC.KeepAlive(mine);
        return below + 1;
    }

    sealed class Holder
    {
        ~Holder() { held.Set(); release.Wait(); }
    }

    sealed class Finalizable
    {
        public byte[] Mine;
        ~Finalizable() => Mine = null;
    }

    static string Let()
    {
        foreach (var handle in handles) handle.Free();
        handles.Clear();
        foreach (var dependent in dependents) dependent.Dispose();
        dependents.Clear();
        Array.Clear(older, 0, MaxOlder);
        if (thread != null) { frames.Set(); thread.Join(); thread = null; }
        release.Set();
        GC.Collect();
        GC.WaitForPendingFinalizers();
        held.Reset();
        release.Reset();
        return "gone";
    }

    static string Collect(int generation, bool compacting)
    {
        GC.Collect(generation, GCCollectionMode.Forced, blocking: true, compacting);
        var info = GC.GetGCMemoryInfo(GCKind.Any);
        return $"collected index={info.Index} promoted_bytes={info.PromotedBytes} {App.Counts()}";
    }
}
