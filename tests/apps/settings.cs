// Prints the settings of the GC that its runtime obeys.
//
//   settings
//
// stdout: "setting NAME=VALUE" for each of GC.GetConfigurationVariables, and "score=N": the variable SCORE, or 9 without it.
using System;

static class Settings
{
    static void Main()
    {
        foreach (var setting in GC.GetConfigurationVariables()) Console.WriteLine($"setting {setting.Key}={setting.Value}");
        Console.WriteLine($"score={Environment.GetEnvironmentVariable("SCORE") ?? "9"}");
    }
}
