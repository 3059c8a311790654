// Code of all test applications.
using System;
using System.Linq;

static class App
{
    // The first line of stdout of every application.
    public static void Ready(string more = "") => Console.WriteLine($"ready pid={Environment.ProcessId} {more}".TrimEnd());

    // The number in an argument `name=number`.
    public static int Number(string[] args, string name, int otherwise) => args
        .Where(arg => arg.StartsWith(name + "=")).Select(arg => int.Parse(arg.Substring(name.Length + 1)))
        .DefaultIfEmpty(otherwise).Last();

    // The number of collections. Each count includes those of higher generations.
    public static string Counts() => $"gc0={GC.CollectionCount(0)} gc1={GC.CollectionCount(1)} gc2={GC.CollectionCount(2)}";

    // xorshift64: the same numbers everywhere.
    public static ulong Random(ref ulong state)
    {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
    }
}
