//! The interface that the CLR offers: the methods of `ICorProfilerInfo` that the agent calls, by slot.

mod identities;
mod interface;

pub use identities::{
    ArrayClass, ClassInfo, Enumeration, FieldOffset, FunctionInfo, HeapRange, Methods, ModuleInfo, Modules,
    ReferenceCallback, Seed, is_definition,
};
pub use interface::{
    EventData, EventDefinition, GenerationRange, HIGH_BASIC_GC, HIGH_EVENT_PIPE, IID_INFO12, IID_INFO14,
    Info, MONITOR_GC, MONITOR_MODULE_LOADS, ParamDesc, ProviderCallback, ProviderConfig, STACK_SNAPSHOT,
};
