// Ends in the given way after some collections.
//
//   exits return|exit|failfast|unhandled|sigterm|wait|storm [code=N] [gcs=N]
//   exits echo [code=N]
//
// stdout: "ready pid= gc0= gc1= gc2=" after the collections. sigterm then waits for SIGTERM, handles it, prints
// "handled" and returns the code; wait waits forever; storm allocates forever; failfast and unhandled crash; return and
// exit (Environment.Exit) end with the code. echo copies stdin to stdout byte for byte, prints nothing else there, and
// prints "bytes= gc0=" on stderr at the end.
using System;
using System.Runtime.InteropServices;
using System.Threading;

static class Exits
{
    static int Main(string[] args)
    {
        int code = App.Number(args, "code", 0);
        if (args[0] == "echo") return Echo(code);
        for (int gcs = App.Number(args, "gcs", 10), i = 0; i < gcs; i++) GC.Collect(i % 3);
        App.Ready(App.Counts());
        switch (args[0])
        {
            case "return": return code;
            case "exit": Environment.Exit(code); return 0;
            case "failfast": Environment.FailFast("asked to fail fast"); return 0;
            case "unhandled": throw new InvalidOperationException("asked to throw");
            case "sigterm": return HandleSigterm(code);
            case "wait": Thread.Sleep(Timeout.Infinite); return 0;
            case "storm": for (; ; ) GC.KeepAlive(new byte[200]);
            default: Console.Error.WriteLine($"unknown way to end: {args[0]}"); return 64;
        }
    }

    static int HandleSigterm(int code)
    {
        using var came = new ManualResetEventSlim();
        using var handler = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context =>
        {
            context.Cancel = true;
            came.Set();
        });
        Console.WriteLine("listening");
        came.Wait();
        Console.WriteLine("handled");
        return code;
    }

    static int Echo(int code)
    {
        using var input = Console.OpenStandardInput();
        using var output = Console.OpenStandardOutput();
        long bytes = 0;
        for (; ; )
        {
            // A fresh buffer each time, so that copying causes collections.
            var buffer = new byte[4096];
            int read = input.Read(buffer, 0, buffer.Length);
            if (read == 0) break;
            output.Write(buffer, 0, read);
            bytes += read;
        }
        output.Flush();
        Console.Error.WriteLine($"bytes={bytes} {App.Counts()}");
        return code;
    }
}
