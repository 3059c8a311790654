// Holds known objects in known methods, static fields and handles. stdout: "ready pid=N", then one line for each line
// of stdin:
//
//   hold             starts one thread for each way of holding, waits until all hold      "holding ways=N local=BYTES"
//   async            starts an async method that waits; a static field has its task       "waiting"
//   leak N           Demo.Leak.Grow makes N more strong handles to a Demo.Session each    "leaked total=N session=BYTES"
//   weak N           Demo.Leak.Watch makes N more weak handles to one Demo.Session        "watched total=N"
//   pin NAME         Demo.Native.Open<NAME> (First or Second) makes a pinned handle to a byte[]
//                                                                                        "pinned bytes=BYTES"
//   statics          replaces the array in Demo.Cache.s_items by a larger one  "statics items=BYTES index=BYTES"
//   hostile          makes a collectible assembly with a type whose name would control a terminal, and one
//                    with a very long name; holds an instance of each by a handle         "hostile made=2"
//   unload           drops it, and collects until it is gone                              "unloaded"
//   storm MS         makes and frees handles as fast as it can for MS milliseconds       "stormed handles=N"
//   sweep            Demo.Janitor.Sweep calls GC.Collect                        "collected index=N"
//   tidy             a lambda in Demo.Janitor.Tidy calls GC.Collect             "collected index=N"
//   release          ends all holding threads                                   "released"
//   exit             (or the end of stdin) ends the process
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Demo
{
    static class Program
    {
        static void Main()
        {
            Cache.Fill(100);
            App.Ready();
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
        }

        static string Do(string[] words)
        {
            switch (words[0])
            {
                case "hold": return Holding.Start();
                case "async": return Orders.Wait();
                case "leak": return Leak.Grow(int.Parse(words[1]));
                case "weak": return Leak.Watch(int.Parse(words[1]));
                case "pin": return words[1] == "First" ? Native.OpenFirst() : Native.OpenSecond();
                case "statics": return Cache.Fill(50_000);
                case "hostile": return Hostile.Make();
                case "unload": return Hostile.Unload();
                case "storm": return Leak.Storm(int.Parse(words[1]));
                case "sweep": Janitor.Sweep(); return Collected();
                case "tidy": Janitor.Tidy(); return Collected();
                case "release": return Holding.Release();
                default: return $"unknown command {words[0]}";
            }
        }

        static string Collected() => $"collected index={GC.GetGCMemoryInfo(GCKind.Any).Index}";

        // An object's bytes by the allocator's count.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Size<T>(Func<T> make)
        {
            make();
            long before = GC.GetAllocatedBytesForCurrentThread();
            T made = make();
            long after = GC.GetAllocatedBytesForCurrentThread();
            GC.KeepAlive(made);
            return after - before;
        }
    }

    // One type for each way of holding, so that the type shows what holds it.
    class Local { public readonly long A = 1, B = 2; }
    sealed class OuterLocal : Local { }
    sealed class MiddleLocal : Local { }
    sealed class InnerLocal : Local { }
    sealed class LambdaLocal : Local { }
    sealed class FunctionLocal : Local { }
    sealed class IteratorLocal : Local { }
    sealed class AsyncLocal : Local { }
    sealed class AsyncLambdaLocal : Local { }
    sealed class GenericLocal : Local { }
    sealed class TickLocal : Local { }
    sealed class DynamicLocal : Local { }
    sealed class ConstructorLocal : Local { }
    sealed class ArrayLocal : Local { }
    sealed class Session { public readonly long Id = 1; }
    sealed class Item { }

    static class Holding
    {
        static readonly ManualResetEvent done = new ManualResetEvent(false);
        static readonly List<Thread> threads = new List<Thread>();
        static CountdownEvent holds;

        // Every holder waits here.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Block()
        {
            holds.Signal();
            done.WaitOne();
        }

        public static string Start()
        {
            var ways = new List<ThreadStart>
            {
                Frames.Outer,
                Workers.StartLambda,
                Workers.StartFunction,
                Workers.StartIterator,
                () => Workers.Keep<string>("x"),
                () => Workers.Keep<int>(1),
                () => new Table<string>().Walk(),
                () => GC.KeepAlive(new Slow()),
                () => Native.Parse(new byte[4000]),
                DynamicCode.Run,
                () => Orders.RunAsync().Wait(),
                Orders.StartAsyncLambda,
                Workers.Arrays,
            };
            holds = new CountdownEvent(ways.Count + 1);
            foreach (var way in ways)
            {
                var thread = new Thread(way, 256 * 1024) { IsBackground = true };
                threads.Add(thread);
                thread.Start();
            }
            Clock.Start();
            holds.Wait();
            return $"holding ways={ways.Count + 1} local={Program.Size(() => new InnerLocal())}";
        }

        public static string Release()
        {
            done.Set();
            foreach (var thread in threads) thread.Join();
            threads.Clear();
            Clock.Stop();
            return "released";
        }
    }

    static class Frames
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Outer()
        {
            var local = new OuterLocal();
            Middle();
            GC.KeepAlive(local);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Middle()
        {
            var local = new MiddleLocal();
            Inner();
            GC.KeepAlive(local);
        }

        // Holds three objects.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Inner()
        {
            object a = new InnerLocal(), b = new InnerLocal(), c = new InnerLocal();
            Holding.Block();
            GC.KeepAlive(a);
            GC.KeepAlive(b);
            GC.KeepAlive(c);
        }
    }

    static class Workers
    {
        public static void StartLambda()
        {
            Action work = () =>
            {
                var local = new LambdaLocal();
                Holding.Block();
                GC.KeepAlive(local);
            };
            work();
        }

        public static void StartFunction()
        {
            Work();

            void Work()
            {
                var local = new FunctionLocal();
                Holding.Block();
                GC.KeepAlive(local);
            }
        }

        public static void StartIterator()
        {
            foreach (int number in Numbers()) GC.KeepAlive(number);
        }

        static IEnumerable<int> Numbers()
        {
            yield return 1;
            var local = new IteratorLocal();
            Holding.Block();
            GC.KeepAlive(local);
            yield return 2;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Keep<T>(T value)
        {
            var local = new GenericLocal();
            Holding.Block();
            GC.KeepAlive(local);
            GC.KeepAlive(value);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Arrays()
        {
            object square = new ArrayLocal[2, 3], jagged = new ArrayLocal[2][,];
            object map = new Dictionary<string, ArrayLocal>();
            Holding.Block();
            GC.KeepAlive(square);
            GC.KeepAlive(jagged);
            GC.KeepAlive(map);
        }
    }

    sealed class Table<TRow>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Walk()
        {
            Holding.Block();
            GC.KeepAlive(this);
        }
    }

    sealed class Slow
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public Slow()
        {
            var local = new ConstructorLocal();
            Holding.Block();
            GC.KeepAlive(local);
        }
    }

    static class Clock
    {
        static Timer timer;

        public static void Start() => timer = new Timer(Tick, null, 1, Timeout.Infinite);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Tick(object state)
        {
            var local = new TickLocal();
            Holding.Block();
            GC.KeepAlive(local);
        }

        public static void Stop() => timer.Dispose();
    }

    static class Orders
    {
        static readonly TaskCompletionSource<int> never = new TaskCompletionSource<int>();
        static Task<int> s_pending;

        public static string Wait()
        {
            s_pending = LoadAsync();
            return "waiting";
        }

        // The field refers to its state, which is in the heap.
        static async Task<int> LoadAsync() => await never.Task + 1;

        // It is running, so its frame holds the object.
        public static async Task RunAsync()
        {
            await Task.Yield();
            var local = new AsyncLocal();
            Holding.Block();
            GC.KeepAlive(local);
        }

        public static void StartAsyncLambda()
        {
            Func<Task> work = async () =>
            {
                await Task.Yield();
                var local = new AsyncLambdaLocal();
                Holding.Block();
                GC.KeepAlive(local);
            };
            work().Wait();
        }
    }

    static class DynamicCode
    {
        public static void Run()
        {
            var method = new DynamicMethod("Invented", typeof(void), Type.EmptyTypes, typeof(DynamicCode).Module, true);
            ILGenerator il = method.GetILGenerator();
            il.DeclareLocal(typeof(object));
            il.Emit(OpCodes.Newobj, typeof(DynamicLocal).GetConstructor(Type.EmptyTypes));
            il.Emit(OpCodes.Stloc_0);
            il.Emit(OpCodes.Call, typeof(Holding).GetMethod(nameof(Holding.Block)));
            il.Emit(OpCodes.Ldloc_0);
            il.Emit(OpCodes.Call, typeof(GC).GetMethod(nameof(GC.KeepAlive)));
            il.Emit(OpCodes.Ret);
            ((Action)method.CreateDelegate(typeof(Action)))();
        }
    }

    static class Leak
    {
        static readonly List<GCHandle> handles = new List<GCHandle>();
        static readonly List<GCHandle> weak = new List<GCHandle>();
        static readonly Session kept = new Session();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Grow(int count)
        {
            for (int i = 0; i < count; i++) handles.Add(GCHandle.Alloc(new Session()));
            return $"leaked total={handles.Count} session={Program.Size(() => new Session())}";
        }

        public static string Storm(int milliseconds)
        {
            long count = 0;
            var target = new byte[10];
            for (var watch = System.Diagnostics.Stopwatch.StartNew(); watch.ElapsedMilliseconds < milliseconds; count++)
                GCHandle.Alloc(target).Free();
            return $"stormed handles={count}";
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Watch(int count)
        {
            for (int i = 0; i < count; i++) weak.Add(GCHandle.Alloc(kept, GCHandleType.Weak));
            return $"watched total={weak.Count}";
        }
    }

    static unsafe class Native
    {
        static readonly List<GCHandle> handles = new List<GCHandle>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string OpenFirst()
        {
            handles.Add(GCHandle.Alloc(new byte[5000], GCHandleType.Pinned));
            return $"pinned bytes={Program.Size(() => new byte[5000])}";
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string OpenSecond()
        {
            handles.Add(GCHandle.Alloc(new byte[7000], GCHandleType.Pinned));
            return $"pinned bytes={Program.Size(() => new byte[7000])}";
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Parse(byte[] bytes)
        {
            fixed (byte* start = bytes)
            {
                Holding.Block();
                *start = 1;
            }
        }
    }

    static class Cache
    {
        static Item[] s_items;
        public static Dictionary<string, Item> Index { get; private set; }

        public static string Fill(int count)
        {
            s_items = new Item[count];
            Index = new Dictionary<string, Item>();
            return $"statics items={Program.Size(() => new Item[count])} index={Program.Size(() => new Dictionary<string, Item>())}";
        }

        public static int Count => s_items.Length;
    }

    static class Janitor
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Sweep() => GC.Collect();

        public static void Tidy()
        {
            Action collect = () => GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
            collect();
        }
    }

    static class Hostile
    {
        static readonly List<GCHandle> handles = new List<GCHandle>();
        static WeakReference gone;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Make()
        {
            var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("hostile"), AssemblyBuilderAccess.RunAndCollect);
            var module = assembly.DefineDynamicModule("hostile");
            foreach (string name in new[] { "evil\u001b[31m\n\u009b\u007f\u202e\u2066", "long" + new string('x', 800) })
            {
                Type type = module.DefineType(name, TypeAttributes.Public).CreateType();
                handles.Add(GCHandle.Alloc(Activator.CreateInstance(type)));
            }
            gone = new WeakReference(assembly);
            return $"hostile made={handles.Count}";
        }

        public static string Unload()
        {
            foreach (var handle in handles) handle.Free();
            handles.Clear();
            for (int i = 0; gone.IsAlive && i < 100; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            return gone.IsAlive ? "still there" : "unloaded";
        }
    }
}
