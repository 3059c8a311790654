using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

// Writes one value. Numbers are decimal; enums and addresses are numbers. Text is quoted as in JSON, bytes are
// hexadecimal, a GUID has dashes, arrays are [a,b], structs are {name=value,...}, and nothing is `null`. A point in time
// is the number of 100-ns ticks since 1970-01-01 UTC.
static class Text
{
    internal static void Value(StringBuilder to, object value)
    {
        switch (value)
        {
            case null: to.Append("null"); break;
            case bool flag: to.Append(flag ? "true" : "false"); break;
            case char one: Quote(to, one.ToString()); break;
            case string text: Quote(to, text); break;
            case Enum number: to.Append(number.ToString("D")); break;
            case float number: to.Append(number.ToString("R", CultureInfo.InvariantCulture)); break;
            case double number: to.Append(number.ToString("R", CultureInfo.InvariantCulture)); break;
            case Guid id: to.Append(id.ToString("D")); break;
            case DateTime time: to.Append((time.ToUniversalTime() - DateTime.UnixEpoch).Ticks); break;
            case IntPtr address: to.Append((ulong)address.ToInt64()); break;
            case UIntPtr address: to.Append(address.ToUInt64()); break;
            case byte[] bytes: to.Append(Convert.ToHexString(bytes).ToLowerInvariant()); break;
            case IEnumerable<KeyValuePair<string, object>> fields: Struct(to, fields); break;
            case IEnumerable elements: Elements(to, elements); break;
            case IFormattable number: to.Append(number.ToString(null, CultureInfo.InvariantCulture)); break;
            default: Quote(to, value.ToString()); break;
        }
    }

    static void Struct(StringBuilder to, IEnumerable<KeyValuePair<string, object>> fields)
    {
        string separator = "{";
        foreach (var field in fields)
        {
            Escape(to.Append(separator), field.Key);
            Value(to.Append('='), field.Value);
            separator = ",";
        }
        to.Append(separator == "{" ? "{}" : "}");
    }

    static void Elements(StringBuilder to, IEnumerable elements)
    {
        string separator = "[";
        foreach (object element in elements)
        {
            Value(to.Append(separator), element);
            separator = ",";
        }
        to.Append(separator == "[" ? "[]" : "]");
    }

    static void Quote(StringBuilder to, string text)
    {
        Escape(to.Append('"'), text);
        to.Append('"');
    }

    // As in a JSON string.
    internal static void Escape(StringBuilder to, string text)
    {
        foreach (char c in text ?? "")
        {
            if (c == '"' || c == '\\') to.Append('\\').Append(c);
            else if (c < ' ') to.Append("\\u").Append(((int)c).ToString("x4"));
            else to.Append(c);
        }
    }
}
