//! What the control groups of a process still let it do: version 2, and the controllers of version 1.

use std::fs;
use std::path::Path;

const ROOT: &str = "/sys/fs/cgroup";

/// What is left of the limits of a process's groups, and of all groups above them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Memory that can still be taken, in bytes; `None`: no limit, or it cannot be seen.
    pub(crate) free_bytes: Option<u64>,
    /// When that memory is used up, the program is slowed down (`memory.high`) or killed with the copy
    /// (`memory.oom.group`).
    pub(crate) copy_harms_program: bool,
    /// How many processes and threads can still be started.
    pub(crate) free_pids: Option<u64>,
}

impl Groups {
    /// Reads the limits. `listed`: `/proc/PID/cgroup`.
    pub(super) fn read(listed: &str) -> Groups {
        Groups::below(Path::new(ROOT), listed)
    }

    fn below(root: &Path, listed: &str) -> Groups {
        let mut groups = Groups::default();
        for line in listed.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let path = path.trim_start_matches('/');
            // A group outside of what gcwatch sees begins with `..`.
            if Path::new(path).components().any(|part| part.as_os_str() == "..") {
                continue;
            }
            if controllers.is_empty() {
                // With both versions, the second one may be below.
                for top in [root.to_owned(), root.join("unified")] {
                    groups.add_version_2(&top, path);
                }
            }
            for controller in controllers.split(',') {
                groups.add_version_1(&root.join(controller), controller, path);
            }
        }
        groups
    }

    fn add_version_2(&mut self, top: &Path, path: &str) {
        each_above(top, path, |dir| {
            let used = number(dir, "memory.current")
                .map(|used| used.saturating_sub(of_list(dir, "memory.stat", "inactive_file").unwrap_or(0)));
            for (limit, slows) in [("memory.max", false), ("memory.high", true)] {
                if let (Some(most), Some(used)) = (number(dir, limit), used) {
                    let together = number(dir, "memory.oom.group") == Some(1);
                    self.add_memory(most.saturating_sub(used), slows || together);
                }
            }
            self.add_pids(dir);
        });
    }

    fn add_version_1(&mut self, top: &Path, controller: &str, path: &str) {
        each_above(top, path, |dir| match controller {
            "memory" => {
                let cached = of_list(dir, "memory.stat", "total_inactive_file").unwrap_or(0);
                let used = number(dir, "memory.usage_in_bytes").map(|used| used.saturating_sub(cached));
                if let (Some(most), Some(used)) = (number(dir, "memory.limit_in_bytes"), used) {
                    self.add_memory(most.saturating_sub(used), false);
                }
            }
            "pids" => self.add_pids(dir),
            _ => {}
        });
    }

    fn add_memory(&mut self, free: u64, harms: bool) {
        if self.free_bytes.is_none_or(|least| free < least) {
            self.free_bytes = Some(free);
            self.copy_harms_program = harms;
        }
    }

    fn add_pids(&mut self, dir: &Path) {
        if let (Some(most), Some(now)) = (number(dir, "pids.max"), number(dir, "pids.current")) {
            let free = most.saturating_sub(now);
            self.free_pids = Some(self.free_pids.map_or(free, |least| least.min(free)));
        }
    }
}

/// Calls `each` for a group and all groups above it.
fn each_above(top: &Path, path: &str, mut each: impl FnMut(&Path)) {
    let mut dir = top.join(path);
    while dir.starts_with(top) {
        each(&dir);
        dir.pop();
    }
}

/// The number in a file; `None`: there is no such file, or it says `max`.
fn number(dir: &Path, name: &str) -> Option<u64> {
    fs::read_to_string(dir.join(name)).ok()?.trim().parse().ok()
}

/// The number behind a word in a file.
fn of_list(dir: &Path, name: &str, word: &str) -> Option<u64> {
    let text = fs::read_to_string(dir.join(name)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            let dir = path.parent().expect("a directory");
            fs::create_dir_all(dir).and_then(|()| fs::write(&path, text)).expect("a file");
        }
    }

    #[test]
    fn the_narrowest_limit_counts() {
        let root = tempfile::tempdir().expect("a directory");
        write(
            root.path(),
            &[
                ("a/memory.max", "1000\n"),
                ("a/memory.current", "400\n"),
                ("a/memory.stat", "anon 300\ninactive_file 100\n"),
                ("a/b/memory.max", "max\n"),
                ("a/b/memory.high", "900\n"),
                ("a/b/memory.current", "350\n"),
                ("a/b/pids.max", "20\n"),
                ("a/b/pids.current", "20\n"),
                ("a/pids.max", "max\n"),
            ],
        );
        let groups = Groups::below(root.path(), "0::/a/b\n");
        let expected = Groups { free_bytes: Some(550), copy_harms_program: true, free_pids: Some(0) };
        assert_eq!(groups, expected);
        write(root.path(), &[("a/memory.max", "600\n"), ("a/memory.oom.group", "0\n")]);
        let groups = Groups::below(root.path(), "0::/a/b\n");
        assert_eq!((groups.free_bytes, groups.copy_harms_program), (Some(300), false));
        write(root.path(), &[("a/memory.oom.group", "1\n")]);
        assert!(Groups::below(root.path(), "0::/a/b\n").copy_harms_program);
        assert_eq!(Groups::below(root.path(), "0::/../a/b\n"), Groups::default());
        assert_eq!(Groups::below(root.path(), "nothing\n"), Groups::default());
    }

    #[test]
    fn version_1_has_a_directory_for_each_controller() {
        let root = tempfile::tempdir().expect("a directory");
        write(
            root.path(),
            &[
                ("memory/box/memory.limit_in_bytes", "1000\n"),
                ("memory/box/memory.usage_in_bytes", "700\n"),
                ("memory/box/memory.stat", "inactive_file 9\ntotal_inactive_file 200\n"),
                ("pids/box/pids.max", "10\n"),
                ("pids/box/pids.current", "7\n"),
            ],
        );
        let listed = "12:pids:/box\n5:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/box\n";
        let expected = Groups { free_bytes: Some(500), copy_harms_program: false, free_pids: Some(3) };
        assert_eq!(Groups::below(root.path(), listed), expected);
    }
}
