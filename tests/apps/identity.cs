// Holds some objects by handles while others come and go, and prints all addresses after each collection.
//
// stdout: "ready pid=N"; for each line "collect GEN" of stdin (compacting), for every object with a handle
//   object NAME 0xADDRESS 0xHANDLE BORN      BORN: the number of collections before it got this handle
// then "collected index= gcs= generation=". Names: strong, pinned, large, frozen or literal (always held; .NET 8 and
// later have a frozen heap for the literal), fickle (always alive, but its handle comes and goes), guestN (made for
// this collection; held for one to three). gcs is how many collections the command made. "exit" or the end of
// stdin ends it.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

static class Identity
{
    sealed class Held
    {
        public string Name;
        public GCHandle Handle;
        public int Born, Until;
    }

    static readonly List<Held> held = new List<Held>();
    static byte[] fickle;
    static int round;

    static void Main()
    {
        Keep("strong", 40, GCHandleType.Normal, int.MaxValue);
        Keep("pinned", 40, GCHandleType.Pinned, int.MaxValue);
        Keep("large", 100_000, GCHandleType.Normal, int.MaxValue);
        KeepLiteral();
        fickle = new byte[48];
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit")
            Console.WriteLine(Collect(int.Parse(line.Split(' ')[1])));
    }

    static string Collect(int generation)
    {
        round++;
        LetGo();
        Keep($"guest{round}", 32, GCHandleType.Normal, round + round % 3);
        if (round % 4 != 0) KeepFickle();
        int gcs = GC.CollectionCount(0);
        GC.Collect(generation, GCCollectionMode.Forced, blocking: true, compacting: true);
        var text = new StringBuilder();
        foreach (var one in held)
            text.Append($"object {one.Name} 0x{Address(one):x} 0x{(ulong)GCHandle.ToIntPtr(one.Handle) & ~7ul:x} {one.Born}\n");
        var info = GC.GetGCMemoryInfo(GCKind.Any);
        return text.Append($"collected index={info.Index} gcs={GC.CollectionCount(0) - gcs} generation={info.Generation}").ToString();
    }

    // The freed handle may be reused for the next object: a handle is no identity.
    static void LetGo()
    {
        foreach (var one in held.FindAll(one => one.Until < round)) one.Handle.Free();
        held.RemoveAll(one => one.Until < round);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Keep(string name, int length, GCHandleType type, int until)
    {
        // Dead objects before it, so that it has room to move.
        for (int i = 0; i < 50; i++) GC.KeepAlive(new byte[100]);
        held.Add(new Held { Name = name, Handle = GCHandle.Alloc(new byte[length], type), Born = GC.CollectionCount(0), Until = until });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void KeepLiteral()
    {
        const string Literal = "neither moved nor collected";
        string name = GC.GetGeneration(Literal) > GC.MaxGeneration ? "frozen" : "literal";
        held.Add(new Held { Name = name, Handle = GCHandle.Alloc(Literal), Born = GC.CollectionCount(0), Until = int.MaxValue });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void KeepFickle()
    {
        if (held.Exists(one => one.Name == "fickle")) return;
        // The object is alive before it has a handle, and after.
        held.Add(new Held { Name = "fickle", Handle = GCHandle.Alloc(fickle), Born = GC.CollectionCount(0), Until = round + 3 - round % 4 });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static ulong Address(Held one)
    {
        object target = one.Handle.Target;
        return Unsafe.As<object, ulong>(ref target);
    }
}
