using System;
using System.Collections.Generic;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using Microsoft.Diagnostics.Tracing;

// What TraceEvent's class of an event, or of an element of an array in it, declares besides `PayloadNames`.
sealed class Members
{
    static readonly Dictionary<Type, Members> Known = new Dictionary<Type, Members>();
    static readonly string[] Counts = { "Count", "TypeParameterCount", "CountOfMapEntries", "FrameCount" };

    // The methods that return one element of an array, such as `Values(index)`.
    internal readonly List<(string, Func<object, int, object>)> Arrays =
        new List<(string, Func<object, int, object>)>();
    // The properties; of an event only those that return a whole array.
    internal readonly List<(string, Func<object, object>)> Fields = new List<(string, Func<object, object>)>();
    // The length of these arrays.
    internal readonly Func<object, int> Count;

    internal static Members Of(Type type)
    {
        if (!Known.TryGetValue(type, out var members)) Known[type] = members = new Members(type);
        return members;
    }

    Members(Type type)
    {
        const BindingFlags Declared = BindingFlags.Instance | BindingFlags.Public | BindingFlags.DeclaredOnly;
        var owner = Expression.Parameter(typeof(object));
        var index = Expression.Parameter(typeof(int));
        var self = Expression.Convert(owner, type);
        var properties = type.GetProperties(Declared).Where(p => p.GetIndexParameters().Length == 0)
            .OrderBy(p => p.MetadataToken).ToList();
        var count = properties.FirstOrDefault(p => Counts.Contains(p.Name));
        if (count == null)
        {
            Count = _ => 0;
        }
        else
        {
            var number = Expression.Convert(Expression.Property(self, count), typeof(int));
            Count = Expression.Lambda<Func<object, int>>(number, owner).Compile();
        }
        bool isEvent = typeof(TraceEvent).IsAssignableFrom(type);
        foreach (var property in properties.Where(p => isEvent ? IsWhole(p) : !p.Name.StartsWith("Has")))
        {
            var value = Expression.Convert(Expression.Property(self, property), typeof(object));
            Fields.Add((property.Name, Expression.Lambda<Func<object, object>>(value, owner).Compile()));
        }
        foreach (var method in type.GetMethods(Declared).Where(IsArray).OrderBy(m => m.MetadataToken))
        {
            var at = Expression.Convert(index, method.GetParameters()[0].ParameterType);
            var element = Expression.Convert(Expression.Call(self, method, at), typeof(object));
            Arrays.Add((method.Name, Expression.Lambda<Func<object, int, object>>(element, owner, index).Compile()));
        }
    }

    static bool IsWhole(PropertyInfo property) =>
        property.PropertyType.IsArray && property.Name != nameof(TraceEvent.PayloadNames);

    static bool IsArray(MethodInfo method)
    {
        var parameters = method.GetParameters();
        return !method.IsSpecialName && method.GetBaseDefinition() == method && method.ReturnType != typeof(void)
            && parameters.Length == 1
            && (parameters[0].ParameterType == typeof(int) || parameters[0].ParameterType.IsEnum);
    }
}
