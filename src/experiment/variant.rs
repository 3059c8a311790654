//! The variants of an experiment: one command under several settings, or several commands.

use std::ffi::OsString;

use super::setting::Variables;

/// The gen0 budget that is tried, 64 MiB, as the variable gives it.
const GEN0_HEXADECIMAL: &str = "4000000";
/// Collections that a small budget must have caused before its size says anything.
const MIN_BUDGET_GCS: u64 = 3;

/// What is compared with the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    /// A few words, for a table.
    pub(crate) name: String,
    pub(crate) variables: Variables,
    pub(crate) command: Vec<OsString>,
}

/// What a run has shown of its runtime. `None`: it has not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The runtime's major version.
    pub(crate) version: Option<u32>,
    pub(crate) server: Option<bool>,
    pub(crate) concurrent: Option<bool>,
    pub(crate) heaps: Option<u32>,
    /// Collections because the gen0 budget was used up.
    pub(crate) budget_gcs: u64,
    /// The most that was allocated between two collections, bytes.
    pub(crate) most_allocated_bytes: Option<u64>,
}

/// The name of a variant, and its variables.
pub(crate) type NamedVariables = (String, Variables);
/// The name of a variant that is not tried, and why.
pub(crate) type LeftOut = (String, String);

/// The settings that are tried if none are given, for a program that was seen to run like this. The second list names what
/// is left out, and why.
pub(crate) fn default_variants(seen: Seen, processors: usize) -> (Vec<NamedVariables>, Vec<LeftOut>) {
    let mut variants = Vec::new();
    let mut left_out: Vec<LeftOut> = Vec::new();
    let mut add = |name: &str, settings: &[(&str, &str)]| {
        variants.push((name.to_owned(), Variables::of(settings)));
    };
    let is_server = seen.server == Some(true);
    if is_server {
        add("workstation", &[("gcServer", "0")]);
    } else if processors > 1 {
        add("server", &[("gcServer", "1")]);
    } else {
        left_out.push(("server".to_owned(), "with one processor there is no server GC".to_owned()));
    }
    match seen.concurrent {
        Some(false) => add("concurrent", &[("gcConcurrent", "1")]),
        _ => add("non-concurrent", &[("gcConcurrent", "0")]),
    }
    if seen.version.is_none_or(|version| version >= 6) {
        add("conserve memory", &[("GCConserveMemory", "5")]);
    } else {
        left_out.push(("conserve memory".to_owned(), "it came with .NET 6".to_owned()));
    }
    add("gen0size 64 MiB", &[("GCgen0size", GEN0_HEXADECIMAL)]);
    if processors > 1 {
        match seen.version {
            Some(..8) => left_out.push(("DATAS".to_owned(), "it came with .NET 8".to_owned())),
            // Server GC adapts by default since .NET 9.
            Some(8) => add("server, DATAS", &[("gcServer", "1"), ("GCDynamicAdaptationMode", "1")]),
            _ => add("server, no DATAS", &[("gcServer", "1"), ("GCDynamicAdaptationMode", "0")]),
        }
        let heaps = processors / 2;
        let name = format!("server, {heaps} heap{}", if heaps == 1 { "" } else { "s" });
        add(&name, &[("gcServer", "1"), ("GCHeapCount", &format!("{heaps:x}"))]);
    }
    (variants, left_out)
}

/// Why a variant is none: its run shows that the runtime did not take a setting over.
pub(crate) fn not_taken_over(variables: &Variables, seen: Seen) -> Option<String> {
    let wanted = |name| variables.number(name);
    let kind = |server: bool| if server { "server" } else { "workstation" };
    if let (Some(server), Some(is)) = (wanted("gcServer").map(|n| n != 0), seen.server)
        && server != is
    {
        return Some(format!("the runtime did not take over gcServer: it ran {} GC", kind(is)));
    }
    if let (Some(heaps), Some(is), Some(true)) =
        (wanted("GCHeapCount").filter(|n| *n > 0), seen.heaps, seen.server)
        && heaps != u64::from(is)
    {
        return Some(format!("the runtime did not take over GCHeapCount: it had {is} heaps, not {heaps}"));
    }
    // The runtime may halve a budget that is large for the machine.
    if let (Some(budget), Some(most)) = (wanted("GCgen0size"), seen.most_allocated_bytes)
        && seen.budget_gcs >= MIN_BUDGET_GCS
        && most < budget / 4
    {
        return Some(format!(
            "the runtime did not take over GCgen0size: it collected after {most} bytes at most, not {budget}"
        ));
    }
    None
}

/// The order of a round: each begins with another variant, so that none always runs first.
pub(crate) fn rotation(round: usize, variants: usize) -> impl Iterator<Item = usize> {
    (0..variants).map(move |n| (n + round) % variants.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(seen: Seen, processors: usize) -> (Vec<String>, Vec<String>) {
        let (variants, left_out) = default_variants(seen, processors);
        (variants.into_iter().map(|v| v.0).collect(), left_out.into_iter().map(|v| v.0).collect())
    }

    #[test]
    fn defaults_are_what_this_runtime_has_and_does_not_do_already() {
        let workstation =
            Seen { server: Some(false), concurrent: Some(true), version: Some(10), ..Seen::default() };
        let all = [
            "server",
            "non-concurrent",
            "conserve memory",
            "gen0size 64 MiB",
            "server, no DATAS",
            "server, 2 heaps",
        ];
        assert_eq!(names(workstation, 4), (all.map(String::from).to_vec(), vec![]));
        let old = names(Seen { version: Some(5), ..workstation }, 2);
        assert_eq!(old.1, ["conserve memory", "DATAS"]);
        let server =
            names(Seen { server: Some(true), concurrent: Some(false), version: Some(8), ..workstation }, 2);
        assert_eq!(server.0[..2], ["workstation", "concurrent"]);
        assert_eq!(server.0[4..], ["server, DATAS", "server, 1 heap"]);
        let (one, left_out) = names(workstation, 1);
        assert!(one.iter().all(|name| !name.contains("server")) && left_out == ["server"]);
        for (_, variables) in default_variants(workstation, 4).0 {
            assert_eq!(variables.line().replace(' ', ",").parse(), Ok(variables));
        }
        assert_eq!(u64::from_str_radix(GEN0_HEXADECIMAL, 16), Ok(64 << 20));
    }

    #[test]
    fn settings_that_were_not_taken_over() {
        let why = |variables: &str, seen| not_taken_over(&variables.parse().unwrap(), seen);
        let seen = Seen { server: Some(false), heaps: Some(1), ..Seen::default() };
        assert!(why("DOTNET_gcServer=1", seen).unwrap().contains("it ran workstation GC"));
        assert_eq!(why("DOTNET_gcServer=0,DOTNET_GCHeapCount=3", seen), None);
        assert_eq!(why("DOTNET_gcServer=1", Seen::default()), None, "it is not known");
        let server = Seen { server: Some(true), heaps: Some(2), ..Seen::default() };
        assert!(
            why("DOTNET_gcServer=1,DOTNET_GCHeapCount=10", server).unwrap().contains("had 2 heaps, not 16")
        );
        let small = Seen { budget_gcs: 3, most_allocated_bytes: Some(1 << 20), ..Seen::default() };
        assert!(why("DOTNET_GCgen0size=4000000", small).unwrap().contains("after 1048576 bytes"));
        assert_eq!(why("DOTNET_GCgen0size=4000000", Seen { budget_gcs: 2, ..small }), None);
        assert_eq!(why("DOTNET_GCgen0size=200000", small), None);
    }

    #[test]
    fn each_variant_is_first_in_its_turn() {
        let orders: Vec<Vec<usize>> = (0..3).map(|round| rotation(round, 3).collect()).collect();
        assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
        assert_eq!(rotation(5, 0).count(), 0);
    }
}
