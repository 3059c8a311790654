// Dynamic methods induce collections, directly and through a method that is inlined into them.
//
// Commands, one per line:
//   itself           a dynamic method, called by Demo.Program.CallItself, calls GC.Collect       "collected index=N"
//   inlined          a dynamic method, called by Demo.Program.CallInlined, calls Demo.Program.Small, which is
//                    compiled into it and calls GC.Collect                                       "collected index=N"
//   expression       a compiled expression, called by Demo.Program.CallExpression, does the same "collected index=N"
//   plain            Demo.Program.Plain calls GC.Collect                                         "collected index=N"
//   pin              a dynamic method, called by Demo.Program.CallPin, makes a pinned handle     "pinned"
//   exit             (or the end of stdin) ends the process
//
// No method ends with a call: that would be compiled to a jump, which leaves no frame.
using System;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Demo
{
    public static class Program
    {
        static object s_pinned;

        static void Main()
        {
            App.Ready();
            while (Console.ReadLine() is string line && line != "exit") Console.WriteLine(Do(line));
        }

        static string Do(string line)
        {
            switch (line)
            {
                case "itself": CallItself(Made(typeof(GC).GetMethod("Collect", Type.EmptyTypes))); break;
                case "inlined": CallInlined(Made(typeof(Program).GetMethod("Small"))); break;
                case "expression":
                    Expression call = Expression.Call(typeof(Program).GetMethod("Small"));
                    CallExpression(Expression.Lambda<Func<int>>(Expression.Block(call, Expression.Constant(1))).Compile());
                    break;
                case "plain": Plain(); break;
                case "pin":
                    s_pinned = CallPin(Pinner());
                    return "pinned";
                default: return "what";
            }
            return $"collected index={GC.CollectionCount(0)}";
        }

        static Func<int> Made(MethodInfo called)
        {
            var method = new DynamicMethod("Made", typeof(int), null, typeof(Program).Module, true);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Call, called);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Ret);
            return (Func<int>)method.CreateDelegate(typeof(Func<int>));
        }

        static Func<object, GCHandle> Pinner()
        {
            var method = new DynamicMethod("Pinner", typeof(GCHandle), new[] { typeof(object) }, typeof(Program).Module, true);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4, (int)GCHandleType.Pinned);
            il.Emit(OpCodes.Call, typeof(GCHandle).GetMethod("Alloc", new[] { typeof(object), typeof(GCHandleType) }));
            il.Emit(OpCodes.Nop);
            il.Emit(OpCodes.Ret);
            return (Func<object, GCHandle>)method.CreateDelegate(typeof(Func<object, GCHandle>));
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Small() => GC.Collect();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Plain() { GC.Collect(); return 1; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CallItself(Func<int> made) { made(); GC.KeepAlive(made); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CallInlined(Func<int> made) { made(); GC.KeepAlive(made); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CallExpression(Func<int> made) { made(); GC.KeepAlive(made); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object CallPin(Func<object, GCHandle> made) { object handle = made(new byte[3000]); GC.KeepAlive(made); return handle; }
    }
}
