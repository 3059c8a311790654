// Installs a filter of system calls, as a sandbox does, and goes on collecting. Linux on x86-64.
// stdout: "ready pid=N", then one line for each line of stdin:
//
//   filter kill|refuse   for all threads: calls that no runtime needs now end the process, or fail with EPERM
//                                                       "filtered answer=0"
//   collect              Demo.Sandbox.Sweep calls GC.Collect, then Demo.Sandbox.Hold makes a pinned handle to a byte[]
//                                                       "collected index=N"
//   forbidden            makes a filtered call, to show that the filter works            "answer=-1 error=1"
//   exit                 (or the end of stdin) ends the process
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Demo
{
    static class Sandbox
    {
        // process_vm_readv, process_vm_writev, ptrace, mincore, msync, memfd_create, userfaultfd, pidfd_open, pidfd_getfd,
        // openat2, io_uring_setup, kcmp, perf_event_open, bpf, close_range.
        static readonly uint[] Forbidden = { 310, 311, 101, 27, 26, 319, 323, 434, 438, 437, 425, 312, 298, 321, 436 };

        static readonly List<GCHandle> s_held = new List<GCHandle>();

        [DllImport("libc", SetLastError = true)]
        static extern int prctl(int option, long a, long b, long c, long d);

        [DllImport("libc", SetLastError = true)]
        static extern long syscall(long number, long a, long b, long c, long d, long e, long f);

        static void Main()
        {
            App.Ready();
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
        }

        static string Do(string[] words)
        {
            switch (words[0])
            {
                case "filter": return $"filtered answer={Filter(words[1] == "kill")}";
                case "collect":
                    Sweep();
                    Hold();
                    return $"collected index={GC.GetGCMemoryInfo(GCKind.Any).Index}";
                case "forbidden":
                    long answer = syscall(310, Environment.ProcessId, 0, 0, 0, 0, 0);
                    return $"answer={answer} error={Marshal.GetLastWin32Error()}";
                default: return $"unknown command {words[0]}";
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Sweep() => GC.Collect();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Hold() => s_held.Add(GCHandle.Alloc(new byte[1000], GCHandleType.Pinned));

        static long Filter(bool kill)
        {
            const ushort Load = 0x20, JumpIfEqual = 0x15, Return = 0x06;
            const uint Allow = 0x7fff0000, KillProcess = 0x80000000, RefuseBy = 0x00050000, NotPermitted = 1;
            var program = new List<ulong>();
            void Add(ushort code, byte ifTrue, byte ifFalse, uint value) =>
                program.Add(code | (ulong)ifTrue << 16 | (ulong)ifFalse << 24 | (ulong)value << 32);
            Add(Load, 0, 0, 0);
            for (int n = 0; n < Forbidden.Length; n++)
                Add(JumpIfEqual, (byte)(Forbidden.Length - n), 0, Forbidden[n]);
            Add(Return, 0, 0, Allow);
            Add(Return, 0, 0, kill ? KillProcess : RefuseBy | NotPermitted);

            const int SetNoNewPrivileges = 38, Seccomp = 317, SetModeFilter = 1, AllThreads = 1;
            GCHandle code = GCHandle.Alloc(program.ToArray(), GCHandleType.Pinned);
            GCHandle header = GCHandle.Alloc(
                new long[] { program.Count, (long)code.AddrOfPinnedObject() }, GCHandleType.Pinned);
            if (prctl(SetNoNewPrivileges, 1, 0, 0, 0) != 0) return -1;
            long answer = syscall(Seccomp, SetModeFilter, AllThreads, (long)header.AddrOfPinnedObject(), 0, 0, 0);
            header.Free();
            code.Free();
            return answer;
        }
    }
}
