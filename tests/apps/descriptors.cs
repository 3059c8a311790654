// Closes descriptors of others and reuses the numbers, as a program with a double close does. Linux.
// stdout: "ready pid=N", then one line for each line of stdin:
//
//   take socket|pipe   closes the profiler's connection, and opens something of its own under the same number, with data
//                      to be read                                                    "taken number=N"
//   sweep              does so with every connected socket that is not the runtime's "swept sockets=N"
//   check              reads what was written to all of them: how many have it, how many are open
//                                                                                    "checked all=N intact=N open=N"
//   collect            collects                                                      "collected index=N"
//   exit               (or the end of stdin) ends the process
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;

static class Descriptors
{
    const int MaxDescriptors = 4096, Length = 48;

    [DllImport("libc")] static extern int close(int fd);
    [DllImport("libc")] static extern int dup2(int from, int to);
    [DllImport("libc")] static extern int pipe(int[] ends);
    [DllImport("libc")] static extern int socketpair(int domain, int kind, int protocol, int[] ends);
    [DllImport("libc")] static extern int getpeername(int fd, byte[] name, ref int length);
    [DllImport("libc")] static extern int getsockname(int fd, byte[] name, ref int length);
    [DllImport("libc")] static extern int fcntl(int fd, int command, int value);
    [DllImport("libc")] static extern long read(int fd, byte[] buffer, long length);
    [DllImport("libc")] static extern long write(int fd, byte[] buffer, long length);

    // The reused numbers, and the data to be read from each.
    static readonly Dictionary<int, byte[]> s_taken = new Dictionary<int, byte[]>();
    static ulong s_random = 88172645463325252;

    static void Main()
    {
        App.Ready();
        while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
    }

    static string Do(string[] words)
    {
        switch (words[0])
        {
            case "take":
                int number = Enumerable.Range(3, MaxDescriptors).First(fd => Peer(fd)?.EndsWith("/lease") == true);
                Take(number, words[1] == "socket");
                return $"taken number={number}";
            case "sweep":
                int[] all = Enumerable.Range(3, MaxDescriptors).Where(fd => Peer(fd) != null && !IsRuntimes(fd)).ToArray();
                foreach (int fd in all) Take(fd, socket: true);
                return $"swept sockets={all.Length}";
            case "check": return Check();
            case "collect":
                GC.Collect();
                return $"collected index={GC.GetGCMemoryInfo(GCKind.Any).Index}";
            default: return $"unknown command {words[0]}";
        }
    }

    delegate int Ask(int fd, byte[] name, ref int length);

    static string Name(Ask ask, int fd)
    {
        var name = new byte[110];
        int length = name.Length;
        if (ask(fd, name, ref length) != 0) return null;
        return Encoding.UTF8.GetString(name, 0, Math.Min(length, name.Length)).Substring(2).TrimEnd('\0');
    }

    static string Peer(int fd) => Name(getpeername, fd);

    static bool IsRuntimes(int fd) => Name(getsockname, fd).Contains("dotnet-diagnostic");

    static void Take(int number, bool socket)
    {
        close(number);
        var ends = new int[2];
        if ((socket ? socketpair(1, 1, 0, ends) : pipe(ends)) != 0) throw new Exception("no new descriptors");
        if (ends[0] != number)
        {
            dup2(ends[0], number);
            close(ends[0]);
        }
        var data = new byte[Length];
        for (int n = 0; n < Length; n++) data[n] = (byte)App.Random(ref s_random);
        write(ends[1], data, Length);
        s_taken.Add(number, data);
    }

    static string Check()
    {
        const int SetFlags = 4, GetFlags = 3, NonBlocking = 2048;
        int intact = 0, open = 0;
        foreach ((int number, byte[] data) in s_taken)
        {
            if (fcntl(number, GetFlags, 0) < 0) continue;
            open++;
            fcntl(number, SetFlags, NonBlocking);
            var found = new byte[2 * Length];
            if (read(number, found, found.Length) == Length && found.Take(Length).SequenceEqual(data)) intact++;
        }
        return $"checked all={s_taken.Count} intact={intact} open={open}";
    }
}
