// Prints every event of a nettrace recording as Microsoft's TraceEvent decodes it, in TraceEvent's order.
//
//   events DIRECTORY RECORDING
//
// DIRECTORY holds the assembly of TraceEvent. Each line is one event; its columns are separated by tabs:
//
//   provider, event id, version, TraceEvent's name of the event, OS thread id, time, name=value, name=value, ...
//
// The time is the number of 100-ns ticks since 1970-01-01 UTC. `Text.cs` says how values are written. A field that
// TraceEvent fails to read is `!` with the exception's type. `raw=` has all bytes of the payload: if TraceEvent names
// none of the fields, and for event 39 of the runtime, of which TraceEvent shows only what the data in it means.
//
// Where a version of an event lacks a field, TraceEvent gives 0, an empty text or `null`.
//
// The last line of stderr has the totals. The exit code is 1 if TraceEvent fails to read the recording.
using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Text;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.EventPipe;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

static class Events
{
    static int Main(string[] args)
    {
        AssemblyLoadContext.Default.Resolving += (context, name) =>
        {
            string path = Path.GetFullPath(Path.Combine(args[0], name.Name + ".dll"));
            return File.Exists(path) ? context.LoadFromAssemblyPath(path) : null;
        };
        return Dump(args[1]);
    }

    // Not in Main, which must start before the assembly of TraceEvent can be found.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Dump(string recording)
    {
        using var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16);
        long count = 0;
        try
        {
            using var source = new EventPipeEventSource(recording);
            var clock = new Clock(source);
            // A parser decodes the events that somebody subscribes to.
            source.Clr.All += Ignore;
            new ClrRundownTraceEventParser(source).All += Ignore;
            new ClrPrivateTraceEventParser(source).All += Ignore;
            new SampleProfilerTraceEventParser(source).All += Ignore;
            source.Dynamic.All += Ignore;
            var line = new StringBuilder();
            source.AllEvents += e =>
            {
                Line.Write(line.Clear(), e, clock);
                output.Write(line.Append('\n'));
                count++;
            };
            source.Process();
            Console.Error.WriteLine($"events={count} lost={source.EventsLost}");
            return 0;
        }
        catch (Exception e)
        {
            Console.Error.WriteLine($"after {count} events: {e.GetType().Name}: {e.Message}");
            return 1;
        }
    }

    static void Ignore(TraceEvent e) { }
}

// Converts the time stamps of the recording. TraceEvent's own conversion goes through floating point.
sealed class Clock
{
    readonly long frequency, startStamp, startTicks;

    internal Clock(EventPipeEventSource source)
    {
        frequency = (long)Field(source, "_QPCFreq");
        startStamp = (long)Field(source, "_syncTimeQPC");
        startTicks = ((DateTime)Field(source, "_syncTimeUTC") - DateTime.UnixEpoch).Ticks;
    }

    internal long Ticks(TraceEvent e)
    {
#pragma warning disable 618 // TraceEvent discourages raw time stamps.
        long passed = e.TimeStampQPC - startStamp;
#pragma warning restore 618
        // In two steps, because the product of all of it does not fit.
        return startTicks + passed / frequency * 10_000_000 + passed % frequency * 10_000_000 / frequency;
    }

    static object Field(EventPipeEventSource source, string name) =>
        typeof(TraceEventSource).GetField(name, BindingFlags.Instance | BindingFlags.NonPublic).GetValue(source);
}

static class Line
{
    internal static void Write(StringBuilder to, TraceEvent e, Clock clock)
    {
        // TraceEvent gives the runtime's event 39 other ids, by the name of the data in it.
        bool varies = e.GetType().Name == "GCDynamicTraceEventImpl";
        Text.Escape(to, e.ProviderName);
        to.Append('\t').Append(varies ? 39 : (int)(ushort)e.ID).Append('\t').Append(e.Version).Append('\t');
        Text.Escape(to, e.EventName);
        to.Append('\t').Append(e.ThreadID).Append('\t').Append(clock.Ticks(e));
        string[] names = e.PayloadNames ?? Array.Empty<string>();
        for (int i = 0; i < names.Length; i++)
        {
            int index = i;
            Text.Escape(to.Append('\t'), names[i]);
            Value(to.Append('='), () => e.PayloadValue(index));
        }
        var members = Members.Of(e.GetType());
        foreach (var (name, get) in members.Fields.Where(field => !names.Contains(field.Item1)))
        {
            Value(to.Append('\t').Append(name).Append('='), () => get(e));
        }
        foreach (var (name, get) in members.Arrays)
        {
            Elements(to.Append('\t').Append(name).Append('='), e, e.EventDataLength, get);
        }
        if ((names.Length == 0 || varies) && e.EventDataLength > 0)
        {
            Text.Value(to.Append("\traw="), e.EventData());
        }
    }

    static void Value(StringBuilder to, Func<object> get)
    {
        object value;
        try
        {
            value = get();
        }
        catch (Exception failed)
        {
            to.Append('!').Append(failed.GetType().Name);
            return;
        }
        Text.Value(to, value);
    }

    // The elements of an array behind a method. `most` is a limit for a wrong count.
    static void Elements(StringBuilder to, object owner, int most, Func<object, int, object> get)
    {
        int start = to.Length;
        try
        {
            int count = Members.Of(owner.GetType()).Count(owner);
            if (count > most) throw new InvalidDataException();
            to.Append('[');
            for (int i = 0; i < count; i++) Element(i == 0 ? to : to.Append(','), get(owner, i), most);
            to.Append(']');
        }
        catch (Exception failed)
        {
            to.Length = start;
            to.Append('!').Append(failed.GetType().Name);
        }
    }

    static void Element(StringBuilder to, object element, int most)
    {
        if (element is IConvertible)
        {
            Text.Value(to, element);
            return;
        }
        var members = Members.Of(element.GetType());
        string separator = "{";
        foreach (var (name, get) in members.Fields)
        {
            Text.Value(to.Append(separator).Append(name).Append('='), get(element));
            separator = ",";
        }
        foreach (var (name, get) in members.Arrays)
        {
            Elements(to.Append(separator).Append(name).Append('='), element, most, get);
        }
        to.Append('}');
    }
}
