// Holds one array of more than 4 GiB, never written to, and collects.
//
//   huge [elements=N]
//
// stdout: "ready pid=N", then one line for each line of stdin: "collect" makes a blocking gen2 collection that sweeps,
// "collected index= before=0xADDRESS after=0xADDRESS bytes= gc0= ..." of the array. "exit" or the
// end of stdin ends it.
using System;
using System.Runtime.CompilerServices;

static class Huge
{
    static void Main(string[] args)
    {
        // Uninitialized, so that nothing has written to its pages.
        var array = GC.AllocateUninitializedArray<long>(App.Number(args, "elements", 600_000_000));
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit")
        {
            ulong before = Unsafe.As<long[], ulong>(ref array);
            GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: false);
            ulong after = Unsafe.As<long[], ulong>(ref array);
            // Method table and length, the elements, and the header before the next object.
            long bytes = 24 + 8L * array.Length;
            Console.WriteLine($"collected index={GC.GetGCMemoryInfo(GCKind.Any).Index} before=0x{before:x} after=0x{after:x} "
                + $"bytes={bytes} {App.Counts()}");
        }
        GC.KeepAlive(array);
    }
}
