// Points the kernel's record of its own environment or arguments at 64 MiB of short entries. stdout: "ready pid=N", or
// "refused errno=N" if the kernel forbids it. The end of stdin ends the process.
//
//   environ     each variable is just "="
//   cmdline     each argument is empty
using System;
using System.IO;
using System.Runtime.InteropServices;

static unsafe class Inflated
{
    const int PR_SET_MM = 35, PR_SET_MM_MAP = 14;
    const int Size = 64 << 20;

    [DllImport("libc", SetLastError = true)]
    static extern int prctl(int option, IntPtr operation, IntPtr argument, IntPtr size, IntPtr none);

    [DllImport("libc")]
    static extern IntPtr sbrk(IntPtr increment);

    // struct prctl_mm_map
    [StructLayout(LayoutKind.Sequential)]
    struct Map
    {
        public ulong StartCode, EndCode, StartData, EndData, StartBrk, Brk, StartStack;
        public ulong ArgStart, ArgEnd, EnvStart, EnvEnd, Auxv;
        public uint AuxvSize, ExeDescriptor;
    }

    static int Main(string[] args)
    {
        string entry = args[0] == "environ" ? "=\0" : "\0";
        byte* memory = (byte*)Marshal.AllocHGlobal(Size);
        for (int i = 0; i < Size; i++)
            memory[i] = (byte)entry[i % entry.Length];
        string stat = File.ReadAllText("/proc/self/stat");
        string[] fields = stat.Substring(stat.LastIndexOf(')') + 2).Split(' ');
        ulong Field(int number) => ulong.Parse(fields[number - 3]);
        var map = new Map
        {
            StartCode = Field(26), EndCode = Field(27), StartStack = Field(28),
            StartData = Field(45), EndData = Field(46), StartBrk = Field(47), Brk = (ulong)sbrk(IntPtr.Zero),
            ArgStart = Field(48), ArgEnd = Field(49), EnvStart = Field(50), EnvEnd = Field(51),
            ExeDescriptor = uint.MaxValue,
        };
        ulong start = (ulong)memory, end = start + Size;
        if (args[0] == "environ")
            (map.EnvStart, map.EnvEnd) = (start, end);
        else
            (map.ArgStart, map.ArgEnd) = (start, end);
        if (prctl(PR_SET_MM, (IntPtr)PR_SET_MM_MAP, (IntPtr)(&map), (IntPtr)sizeof(Map), IntPtr.Zero) != 0)
        {
            Console.WriteLine($"refused errno={Marshal.GetLastWin32Error()}");
            return 1;
        }
        Console.WriteLine($"ready pid={Environment.ProcessId}");
        Console.In.ReadToEnd();
        return 0;
    }
}
