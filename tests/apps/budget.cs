// Allocates a fixed number of bytes in objects that die at once.
//
//   budget [mib=N]
//
// stdout: "ready pid=N", at the end "done gc0= gc1= gc2= allocated= peak=": the peak is that of its resident memory in bytes,
// by /proc, and 0 where there is none.
using System;
using System.IO;
using System.Linq;

static class Budget
{
    static byte[] last;

    static void Main(string[] args)
    {
        App.Ready();
        long bytes = (long)App.Number(args, "mib", 64) << 20;
        while (GC.GetAllocatedBytesForCurrentThread() < bytes) for (int i = 0; i < 100; i++) last = new byte[1000];
        string counts = App.Counts();
        Console.WriteLine($"done {counts} allocated={GC.GetTotalAllocatedBytes(true)} peak={Peak()}");
        GC.KeepAlive(last);
    }

    static long Peak()
    {
        const string Status = "/proc/self/status";
        if (!File.Exists(Status)) return 0;
        string line = File.ReadLines(Status).First(l => l.StartsWith("VmHWM:"));
        return long.Parse(line.Split(new[] { ' ', '\t' }, StringSplitOptions.RemoveEmptyEntries)[1]) * 1024;
    }
}
