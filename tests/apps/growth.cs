// Keeps some objects, drops others, makes new ones, and says how many of each class `Known.` there are of each.
//
// Commands, one per line:
//   collect N        collects generation N, compacting     "collected gc0=N gc1=N gc2=N"
//   change           the change, once                      "changed"
//   moved            how many kept objects are elsewhere than right before the change     "moved N"
//   exit             (or the end of stdin) ends the process
//
// The truth is said at the start, before "ready", one line each: "class NAME kept=N gone=N new=N", each object of class
// Kept and Large having a name of its own.
#pragma warning disable 0649 // fields that only hold memory
using System;
using System.Collections.Generic;
using System.Runtime;
using System.Runtime.CompilerServices;

namespace Known
{
    class Kept { public string Name; public long A; }
    class Dropped { public long A, B; }
    class Fresh { public long A, B, C; }
    class Churn { public long A; }
    class Old { public Late Late; public long A, B; }
    class Late { public long A; }
    class Large { public string Name; public Unit[] Units; }
    class Pinned { public Unit[] Units; }
    struct Unit { public long Number; }

    static class Service
    {
        public static Kept[] _kept = new Kept[3000];
        public static Dropped[] _dropped = new Dropped[3000];
        public static List<Fresh> _log = new List<Fresh>();
        public static Churn[] _ring = new Churn[2000];
        public static Old[] _olds = new Old[500];
        public static List<Large> _large = new List<Large>();
        public static Pinned _pinned;
    }

    static class Program
    {
        static ulong[] s_addresses;

        static void Main(string[] args)
        {
            Build();
            Console.WriteLine("class Kept kept=3000 gone=0 new=0");
            Console.WriteLine("class Dropped kept=0 gone=3000 new=0");
            Console.WriteLine("class Fresh kept=0 gone=0 new=4000");
            Console.WriteLine("class Churn kept=0 gone=2000 new=2000");
            Console.WriteLine("class Old kept=500 gone=0 new=0");
            Console.WriteLine("class Late kept=0 gone=0 new=500");
            Console.WriteLine("class Large kept=5 gone=5 new=3");
            Console.WriteLine("class Unit[] kept=6 gone=5 new=3");
            Console.WriteLine("class Pinned kept=1 gone=0 new=0");
            App.Ready();
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line.Split(' ')));
        }

        static string Do(string[] words)
        {
            switch (words[0])
            {
                case "collect":
                    GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
                    GC.Collect(int.Parse(words[1]), GCCollectionMode.Forced, blocking: true, compacting: true);
                    return "collected " + App.Counts();
                case "change":
                    Change();
                    return "changed";
                case "moved":
                    return $"moved {Moved()}";
                default:
                    return "what";
            }
        }

        // What is dropped lies between what is kept.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Build()
        {
            for (int i = 0; i < 3000; i++)
            {
                Service._dropped[i] = new Dropped();
                Service._kept[i] = new Kept { Name = $"kept {i}" };
            }
            for (int i = 0; i < 2000; i++) Service._ring[i] = new Churn();
            for (int i = 0; i < 500; i++) Service._olds[i] = new Old();
            for (int i = 0; i < 10; i++) Service._large.Add(MakeLarge($"large {i}"));
            Service._pinned = new Pinned { Units = GC.AllocateArray<Unit>(1000, pinned: true) };
        }

        static Large MakeLarge(string name) => new Large { Name = name, Units = new Unit[20_000] };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Change()
        {
            s_addresses = new ulong[3000];
            for (int i = 0; i < 3000; i++) s_addresses[i] = Address(Service._kept[i]);
            Array.Clear(Service._dropped);
            for (int i = 0; i < 4000; i++) Service._log.Add(new Fresh());
            for (int i = 0; i < 2000; i++) Service._ring[i] = new Churn();
            foreach (Old old in Service._olds) old.Late = new Late();
            for (int i = 0; i < 5; i++) Service._large.RemoveAt(i);
            for (int i = 0; i < 3; i++) Service._large.Add(MakeLarge($"new {i}"));
        }

        static int Moved()
        {
            int moved = 0;
            for (int i = 0; i < 3000; i++) if (s_addresses[i] != Address(Service._kept[i])) moved++;
            return moved;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static ulong Address(object target) => Unsafe.As<object, ulong>(ref target);
    }
}
