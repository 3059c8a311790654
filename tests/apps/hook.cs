// A startup hook: writes the process id into the file that HOOK_FILE names.
using System;
using System.IO;

static class StartupHook
{
    public static void Initialize() =>
        File.WriteAllText(Environment.GetEnvironmentVariable("HOOK_FILE"), Environment.ProcessId.ToString());

    static void Main() => App.Ready();
}
