//! The rights of a thread. The kernel keeps ids and capabilities per thread, so one thread can give up root's rights
//! while the others keep them. (The functions of the C library change all threads; these calls go to the kernel.)

use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Real, effective, saved and file-system id, in the order of `/proc/PID/status`.
type Ids = [u32; 4];

/// What the kernel checks when a process accesses a file, see credentials(7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rights {
    users: Ids,
    groups: Ids,
    /// Sorted.
    supplementary_groups: Vec<u32>,
    /// The effective capabilities, a bit set.
    capabilities: u64,
    /// The capabilities hold only within this namespace.
    user_namespace: Option<PathBuf>,
}

impl Rights {
    /// The rights of a process.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        Self::read(&format!("/proc/{pid}"))
    }

    /// The rights of the calling thread.
    pub(crate) fn own() -> io::Result<Self> {
        Self::read("/proc/thread-self")
    }

    fn read(directory: &str) -> io::Result<Self> {
        let status = fs::read_to_string(format!("{directory}/status"))?;
        let namespace = fs::read_link(format!("{directory}/ns/user")).ok();
        parse(&status, namespace).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{directory}/status is not complete"))
        })
    }

    /// The user id for opening and creating files.
    pub(crate) fn user(&self) -> u32 {
        self.users[3]
    }

    /// Whether they are more than an ordinary user has. A path chosen by another user could then make this process do
    /// what that other user may not do.
    pub(crate) fn are_privileged(&self) -> bool {
        self.users[1] == 0 || self.users[3] == 0 || self.capabilities != 0
    }

    /// Whether there is only one user and one group. A set-user-id program has two users, and whoever started it chose
    /// its environment.
    fn are_of_one_user(&self) -> bool {
        let same = |ids: &Ids| ids.iter().all(|id| *id == ids[0]);
        same(&self.users) && same(&self.groups)
    }

    /// Gives the calling thread these rights and no others, for the rest of its life.
    ///
    /// # Errors
    /// The kernel refuses. The rights of the thread are then unknown, so it must do nothing more.
    pub(crate) fn take(&self) -> io::Result<()> {
        let own = Self::own()?;
        if !own.are_privileged() && own.user() == self.user() {
            return Ok(());
        }
        if !self.are_of_one_user() {
            return Err(denied(
                "the process runs with the rights of more than one user (a set-user-id program?)",
            ));
        }
        let (user, group) = (self.user(), self.groups[3]);
        let other_user = (&own.users, own.user()) != (&self.users, user);
        match self.take_ids(&own) {
            Err(e) if other_user => {
                return Err(denied(&format!(
                    "gcwatch may not take the rights of user {user}, to whom the process belongs ({e}); it needs CAP_SETUID and CAP_SETGID"
                )));
            }
            // The user is the same and only groups differ: that user can get the rights of its groups anyway.
            Ok(()) | Err(_) => {}
        }
        let same_namespace = self.user_namespace.is_some() && self.user_namespace == own.user_namespace;
        let kept = if user == 0 && same_namespace { own.capabilities & self.capabilities } else { 0 };
        let kept_set = CapabilitySet::from_bits_retain(kept);
        let sets =
            CapabilitySets { effective: kept_set, permitted: kept_set, inheritable: CapabilitySet::empty() };
        rustix::thread::set_capabilities(None, sets)?;
        let now = Self::own()?;
        let taken = now.user() == user
            && now.users[1] == user
            && (!other_user
                || (now.groups[1], now.groups[3], &now.supplementary_groups)
                    == (group, group, &self.supplementary_groups))
            && now.capabilities & !kept == 0;
        if taken { Ok(()) } else { Err(denied("the kernel did not give this thread the process's rights")) }
    }

    fn take_ids(&self, own: &Self) -> io::Result<()> {
        if own.supplementary_groups != self.supplementary_groups {
            let groups: Vec<Gid> = self.supplementary_groups.iter().map(|id| Gid::from_raw(*id)).collect();
            rustix::thread::set_thread_groups(&groups)?;
        }
        // The real and the saved id stay: if they changed too, that user could send signals to this process.
        if own.groups != self.groups {
            rustix::thread::set_thread_res_gid(None, Gid::from_raw(self.groups[3]), None)?;
        }
        if own.users != self.users {
            rustix::thread::set_thread_res_uid(None, Uid::from_raw(self.user()), None)?;
        }
        Ok(())
    }
}

fn denied(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn parse(status: &str, user_namespace: Option<PathBuf>) -> Option<Rights> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let numbers = |name: &str| -> Option<Vec<u32>> {
        field(name)?.split_whitespace().map(|id| id.parse().ok()).collect()
    };
    let mut supplementary_groups = numbers("Groups:")?;
    supplementary_groups.sort_unstable();
    supplementary_groups.dedup();
    Some(Rights {
        users: numbers("Uid:")?.try_into().ok()?,
        groups: numbers("Gid:")?.try_into().ok()?,
        supplementary_groups,
        capabilities: u64::from_str_radix(field("CapEff:")?.trim(), 16).ok()?,
        user_namespace,
    })
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
mod tests {
    use super::*;

    const STATUS: &str =
        "Name:\ta\nUid:\t0\t0\t0\t0\nGid:\t7\t7\t7\t7\nGroups:\t9 4 9 \nCapEff:\t000001ffffffffff\n";

    #[test]
    fn a_status_is_read_completely_or_not_at_all() {
        let rights = parse(STATUS, None).unwrap();
        assert_eq!(
            (rights.user(), rights.groups, rights.supplementary_groups.as_slice()),
            (0, [7; 4], &[4, 9][..])
        );
        assert_eq!(rights.capabilities, 0x1ff_ffff_ffff);
        for line in ["Uid:", "Gid:", "Groups:", "CapEff:"] {
            assert_eq!(parse(&STATUS.replace(line, "Other:"), None), None, "{line}");
        }
        assert_eq!(parse(&STATUS.replace("Uid:\t0", "Uid:\t"), None), None, "three ids");
    }

    #[test]
    fn own_rights_can_be_taken() {
        let own = Rights::of(std::process::id()).unwrap();
        std::thread::spawn(move || own.take()).join().unwrap().unwrap();
    }

    /// The thread loses root's rights, and every other thread keeps its own.
    #[test]
    fn the_rights_of_another_user_are_taken_by_one_thread_only() {
        let before = Rights::own().unwrap();
        if before.users[1] != 0 || before.capabilities & 0xc0 != 0xc0 {
            eprintln!("skipped: only root can become another user");
            return;
        }
        let secret = tempfile::tempdir().unwrap();
        let file = secret.path().join("file");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let status = STATUS.replace("Uid:\t0\t0\t0\t0", "Uid:\t65534\t65534\t65534\t65534");
        let nobody = parse(&status, before.user_namespace.clone()).unwrap();
        let (taken, read) = std::thread::spawn({
            let file = file.clone();
            move || {
                nobody.take().unwrap();
                (Rights::own().unwrap(), fs::read(&file).map_err(|e| e.kind()))
            }
        })
        .join()
        .unwrap();
        assert_eq!(taken.users, [0, 65534, 0, 65534]);
        assert_eq!((taken.groups, taken.supplementary_groups.as_slice()), ([0, 7, 0, 7], &[4, 9][..]));
        assert_eq!(taken.capabilities, 0);
        assert_eq!(read, Err(io::ErrorKind::PermissionDenied));
        assert_eq!(Rights::own().unwrap(), before);
        assert!(fs::read(&file).is_ok());
    }

    #[test]
    fn a_set_user_id_programs_rights_are_not_taken() {
        if Rights::own().unwrap().users[1] != 0 {
            eprintln!("skipped: only root takes the rights of others");
            return;
        }
        let status = STATUS.replace("Uid:\t0", "Uid:\t1000");
        let mixed = parse(&status, None).unwrap();
        let error = std::thread::spawn(move || mixed.take()).join().unwrap().unwrap_err();
        assert!(error.to_string().contains("more than one user"), "{error}");
    }
}
