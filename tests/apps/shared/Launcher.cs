// Runs the assembly that the first argument names. It takes the place of the program in a single-file application.
using System;
using System.Reflection;
using System.Runtime.Loader;

static class Launcher
{
    static int Main(string[] args)
    {
        var app = AssemblyLoadContext.Default.LoadFromAssemblyPath(args[0]);
        var rest = new string[args.Length - 1];
        Array.Copy(args, 1, rest, 0, rest.Length);
        foreach (Type type in app.GetTypes())
        {
            MethodInfo main = type.GetMethod("Main", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic);
            if (main == null) continue;
            object result = main.Invoke(null, main.GetParameters().Length == 0 ? null : new object[] { rest });
            return result is int code ? code : 0;
        }
        throw new ArgumentException("no Main in " + args[0]);
    }
}
