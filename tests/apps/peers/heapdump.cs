// Reads and writes .gcdump files with Microsoft's own classes, which dotnet-trace contains.
//
//   heapdump DIRECTORY write RECORDING FILE     makes FILE, a .gcdump, of the heap snapshot in a nettrace recording
//   heapdump DIRECTORY read FILE                prints what is in a .gcdump
//
// DIRECTORY holds the assemblies of dotnet-trace. `read` prints lines of columns that are separated by tabs:
//
//   file, is 64 bit, total size, root node, name of the process, its id, tool that wrote the file
//   segment, start, end, end of generation 0, 1, 2, 3, 4
//   node, index, address, size, module, type, child, child, ...
//
// Nodes that the file refers to but does not define are `undefined` instead of `node`. Addresses are hexadecimal.
using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Text;
using Graphs;
using Microsoft.Diagnostics.Tracing;

static class HeapDump
{
    static int Main(string[] args)
    {
        AssemblyLoadContext.Default.Resolving += (context, name) =>
        {
            string path = Path.GetFullPath(Path.Combine(args[0], name.Name + ".dll"));
            return File.Exists(path) ? context.LoadFromAssemblyPath(path) : null;
        };
        try
        {
            if (args[1] == "write") Write(args[2], args[3]);
            else Read(args[2]);
            return 0;
        }
        catch (Exception e)
        {
            Console.Error.WriteLine(e.Message);
            return 1;
        }
    }

    // Not in Main, which must start before the assemblies can be found.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Write(string recording, string file)
    {
        using var source = new EventPipeEventSource(recording);
        MemoryGraph graph = new DotNetHeapDumpGraphReader(Console.Error).Read(source);
        GCHeapDump.WriteMemoryGraph(graph, file, "heapdump");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Read(string file)
    {
        using var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16);
        var dump = new GCHeapDump(file);
        MemoryGraph graph = dump.MemoryGraph;
        output.WriteLine($"file\t{graph.Is64Bit}\t{graph.TotalSize}\t{(int)graph.RootIndex}\t{dump.ProcessName}\t{dump.ProcessID}\t{dump.CreationTool}");
        if (dump.DotNetHeapInfo?.Segments != null)
        {
            foreach (GCHeapDumpSegment s in dump.DotNetHeapInfo.Segments)
                output.WriteLine($"segment\t{s.Start:x}\t{s.End:x}\t{s.Gen0End:x}\t{s.Gen1End:x}\t{s.Gen2End:x}\t{s.Gen3End:x}\t{s.Gen4End:x}");
        }
        Node node = graph.AllocNodeStorage();
        NodeType type = graph.AllocTypeNodeStorage();
        for (NodeIndex index = 0; index < graph.NodeIndexLimit; index++)
        {
            graph.GetNode(index, node);
            graph.GetType(node.TypeIndex, type);
            output.Write(graph.IsDefined(index) ? "node" : "undefined");
            output.Write($"\t{(int)index}\t{graph.GetAddress(index):x}\t{node.Size}\t{type.ModuleName}\t{type.Name}");
            for (NodeIndex child = node.GetFirstChildIndex(); child != NodeIndex.Invalid; child = node.GetNextChildIndex())
                output.Write($"\t{(int)child}");
            output.Write('\n');
        }
    }
}
