// Makes objects that it knows, and says what it made. Each class of the namespace `Known` has a number of objects.
//
//   more=N           so many objects of Known.Filler in an array (0)
//
// The truth, one line each: "class NAME count=N bytes=N" (all objects of the class), "static FIELD retains=N" (bytes that
// only this field keeps alive), "dead NAME count=N", "strings TEXT count=N".
//
// Commands, one per line:
//   collect N        collects generation N                    "collected gc0=N gc1=N gc2=N"
//   allocate N       allocates N bytes of garbage             "allocated"
//   keep N           keeps an array of N bytes                "kept"
//   forbid           installs a filter of system calls that refuses to fork, but not to start threads (Linux on x86-64)
//                                                             "forbidden answer=0"
//   check            computes over all known objects          "sum=N"
//   write            writes to each Known.Filler              "written"
//   processes N      starts N child processes, one by one     "processes ended=N"
//   any              waits for any child, without blocking    "any found=N"
//   reap             waits for any child from now on, in a thread       "reaping"
//   ignore           ignores SIGCHLD: no child has to be waited for     "ignored"
//   exit             (or the end of stdin) ends the process
#pragma warning disable 0649 // fields that only hold memory
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Known
{
    class Order
    {
        public string Name;
        public byte[] Content;
        public Customer Customer;
    }

    class Customer
    {
        public Order Last;
        public object Nothing;
    }

    class Node
    {
        public Node Next;
        public long Number;
    }

    class Left
    {
        public Right Right;
    }

    class Right
    {
        public Left Left;
    }

    class Shared { public long A, B, C; }
    class HolderOne { public Shared Shared; }
    class HolderTwo { public Shared Shared; }
    class Weak { public long A; }
    class Key { public long A; }
    class Value { public long A, B; }
    class Handled { public long A; }
    class PinnedByHandle { public long A; }
    class Dead { public Dead Other; public long A; }
    class Filler { public Filler Other; public long A; }
    class Large { public Node[] Nodes; }
    struct Pair { public Node First; public int Number; public Node Second; }
    class Slow { ~Slow() { System.Threading.Thread.Sleep(1); } }

    static class Service
    {
        public static List<Order> _orders;
        public static Node _chain;
        public static Left _cycle;
        public static HolderOne _one;
        public static HolderTwo _two;
        public static Dictionary<int, Node> _map;
        public static Pair[] _pairs;
        public static Large _large;
        public static Filler[] _fillers;
        public static ConditionalWeakTable<Key, Value> _table = new ConditionalWeakTable<Key, Value>();
        public static Key[] _keys;
        public static string[] _texts;
    }

    static class Program
    {
        static readonly List<GCHandle> s_handles = new List<GCHandle>();

        static void Main(string[] args)
        {
            Build(App.Number(args, "more", 0));
            // What is old is garbage only for a collection of gen2.
            GC.Collect();
            GC.WaitForPendingFinalizers();
            GC.Collect();
            MakeDead();
            App.Ready(App.Counts());
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
        }

        static void Say<T>(int count, long bytes) => Console.WriteLine($"class {typeof(T).Name} count={count} bytes={bytes}");

        // The bytes that one allocation takes.
        static long Of(Action make)
        {
            make();
            long before = GC.GetAllocatedBytesForCurrentThread();
            make();
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }

        static object s_last;
        static readonly List<byte[]> s_kept = new List<byte[]>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Build(int more)
        {
            long order = Of(() => s_last = new Order()), customer = Of(() => s_last = new Customer());
            long content = Of(() => s_last = new byte[100]), name = Of(() => s_last = new string('n', 20));
            long node = Of(() => s_last = new Node()), shared = Of(() => s_last = new Shared());
            s_last = null;
            var orders = new List<Order>(1024);
            for (int i = 0; i < 1000; i++)
            {
                var one = new Order { Name = new string((char)('a' + i % 26), 20), Content = new byte[100] };
                one.Customer = new Customer { Last = one };
                orders.Add(one);
            }
            Service._orders = orders;
            long array = Of(() => s_last = new Order[1024]), list = Of(() => s_last = new List<Order>());
            Console.WriteLine($"static Service._orders retains={1000 * (order + customer + content + name) + array + list}");

            for (int i = 0; i < 200; i++) Service._chain = new Node { Next = Service._chain, Number = i };
            Console.WriteLine($"static Service._chain retains={200 * node}");

            Service._cycle = new Left();
            Service._cycle.Right = new Right { Left = Service._cycle };

            var both = new Shared();
            Service._one = new HolderOne { Shared = both };
            Service._two = new HolderTwo { Shared = both };
            Console.WriteLine($"static Service._one retains={Of(() => s_last = new HolderOne())}");

            Service._map = new Dictionary<int, Node>();
            for (int i = 0; i < 300; i++) Service._map[i] = new Node { Number = i };

            Service._pairs = new Pair[50];
            for (int i = 0; i < 50; i++) Service._pairs[i] = new Pair { Second = new Node { Number = i } };

            // More references than fit into one message.
            Service._large = new Large { Nodes = new Node[200_000] };
            var target = new Node();
            for (int i = 0; i < 200_000; i += 2) Service._large.Nodes[i] = target;

            Service._keys = new Key[70];
            for (int i = 0; i < 70; i++)
            {
                Service._keys[i] = new Key();
                Service._table.Add(Service._keys[i], new Value());
            }

            Service._texts = new string[40];
            for (int i = 0; i < 40; i++) Service._texts[i] = new string("a text that is there forty times".ToCharArray());
            // The literal is one more.
            Console.WriteLine("strings a_text_that_is_there_forty_times count=41");

            for (int i = 0; i < 30; i++) s_handles.Add(GCHandle.Alloc(new Handled()));
            for (int i = 0; i < 20; i++) s_handles.Add(GCHandle.Alloc(new PinnedByHandle(), GCHandleType.Pinned));
            for (int i = 0; i < 10; i++) s_handles.Add(GCHandle.Alloc(new Weak(), GCHandleType.Weak));

            Service._fillers = new Filler[more];
            for (int i = 0; i < more; i++) Service._fillers[i] = new Filler { Other = i > 0 ? Service._fillers[i / 2] : null };

            s_last = null;
            Say<Order>(1000, 1000 * order);
            Say<Customer>(1000, 1000 * customer);
            Say<Node>(551, 551 * node);
            Say<Left>(1, Of(() => s_last = new Left()));
            Say<Right>(1, Of(() => s_last = new Right()));
            Say<Shared>(1, shared);
            Say<Key>(70, 70 * Of(() => s_last = new Key()));
            Say<Value>(70, 70 * Of(() => s_last = new Value()));
            Say<Handled>(30, 30 * Of(() => s_last = new Handled()));
            Say<PinnedByHandle>(20, 20 * Of(() => s_last = new PinnedByHandle()));
            if (more > 0) Say<Filler>(more, more * Of(() => s_last = new Filler()));
            s_last = null;
        }

        static Dead s_dead;

        // Objects in gen2 that nothing holds any more.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void MakeDead()
        {
            for (int i = 0; i < 123; i++) s_dead = new Dead { Other = s_dead };
            GC.Collect();
            GC.Collect();
            int generation = GC.GetGeneration(s_dead);
            s_dead = null;
            Console.WriteLine($"dead Dead count=123 generation={generation}");
        }

        [DllImport("libc")]
        static extern int prctl(int option, long a, long b, long c, long d);

        [DllImport("libc")]
        static extern long syscall(long number, long a, long b, long c, long d, long e, long f);

        // fork, vfork, and clone without CLONE_THREAD fail with EPERM.
        static long Forbid()
        {
            ulong[] program =
            {
                0x20, // the number of the call
                0x15 | 4UL << 16 | 57UL << 32,
                0x15 | 3UL << 16 | 58UL << 32,
                0x15 | 3UL << 24 | 56UL << 32,
                0x20 | 16UL << 32, // the first argument
                0x45 | 1UL << 16 | 0x10000UL << 32,
                0x06 | 0x00050001UL << 32, // refuse
                0x06 | 0x7fff0000UL << 32, // allow
            };
            GCHandle code = GCHandle.Alloc(program, GCHandleType.Pinned);
            GCHandle header = GCHandle.Alloc(
                new long[] { program.Length, (long)code.AddrOfPinnedObject() }, GCHandleType.Pinned);
            if (prctl(38, 1, 0, 0, 0) != 0) return -1;
            long answer = syscall(317, 1, 1, (long)header.AddrOfPinnedObject(), 0, 0, 0);
            header.Free();
            code.Free();
            return answer;
        }

        static string Do(string[] words)
        {
            switch (words[0])
            {
                case "collect":
                    GC.Collect(int.Parse(words[1]));
                    return "collected " + App.Counts();
                case "allocate":
                    for (long left = long.Parse(words[1]); left > 0; left -= 100) s_last = new byte[76];
                    s_last = null;
                    return "allocated";
                case "keep":
                    s_kept.Add(new byte[long.Parse(words[1])]);
                    return "kept";
                case "forbid":
                    return $"forbidden answer={Forbid()}";
                case "check":
                    return $"sum={Sum()}";
                case "write":
                    foreach (Filler filler in Service._fillers) filler.A++;
                    return "written";
                case "processes":
                    int ended = 0;
                    for (int i = 0; i < int.Parse(words[1]); i++)
                    {
                        using Process child = Process.Start("/bin/true");
                        child.WaitForExit();
                        if (child.ExitCode == 0) ended++;
                    }
                    return $"processes ended={ended}";
                case "any":
                    return Any();
                case "reap":
                    new System.Threading.Thread(Reap) { IsBackground = true }.Start();
                    return "reaping";
                case "ignore":
                    return signal(17, (IntPtr)1) == (IntPtr)(-1) ? "not ignored" : "ignored";
                default:
                    return "what";
            }
        }

        static long Sum()
        {
            long sum = 0;
            foreach (Order order in Service._orders) sum += order.Name.Length + order.Content.Length + (order.Customer.Last == order ? 1 : 0);
            for (Node node = Service._chain; node != null; node = node.Next) sum += node.Number;
            foreach (Filler filler in Service._fillers) sum += filler.Other == null ? 1 : 2;
            return sum;
        }

        [DllImport("libc", SetLastError = true)]
        static extern int waitpid(int pid, out int status, int options);

        [DllImport("libc")]
        static extern IntPtr signal(int number, IntPtr handler);

        static void Reap()
        {
            while (true)
                if (waitpid(-1, out _, 0) <= 0) System.Threading.Thread.Sleep(1);
        }

        // Waits for children without saying which, until there is none.
        static string Any()
        {
            int found = 0;
            while (waitpid(-1, out _, 1) > 0) found++;
            return $"any found={found}";
        }
    }
}
