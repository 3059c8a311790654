//! What a file says beside the graph.

/// Of which process a `.gcdump` file is, and how it was made. dotnet-gcdump tells only the tool.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// The name of the process.
    pub process_name: Option<String>,
    /// The id of the process.
    pub process_id: Option<u32>,
    /// The name of the machine.
    pub machine_name: Option<String>,
    /// When the graph was taken, in the machine's local time: units of 100 ns since 0001-01-01.
    pub collected_ticks: Option<i64>,
    /// The program that wrote the file.
    pub tool: Option<String>,
    /// If only some objects of the heap are in the file: how many times more there were. PerfView does so with large heaps.
    pub sampled: Option<f32>,
}
