//! Who may open a named pipe.

use std::io;

use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};

use super::security::{SecurityDescriptor, own_user_sid, user_sid};

/// The users who may open a named pipe: the user of this process, and those of processes that were added. Nobody else
/// can open it, read its access list, or make another pipe of its name. Windows only.
#[derive(Debug)]
pub struct PipeAccess {
    /// A security descriptor in its text form (SDDL).
    descriptor: String,
}

impl PipeAccess {
    /// Only the user of this process.
    ///
    /// # Errors
    /// The system does not say who that is.
    pub fn own_user() -> io::Result<Self> {
        Ok(Self { descriptor: format!("D:P(A;;GA;;;{})", own_user_sid()?) })
    }

    /// Lets the user of a process read from the pipe, too.
    ///
    /// # Errors
    /// The process has ended, or this user may not ask whose it is.
    pub fn and_reader(mut self, pid: u32) -> io::Result<Self> {
        self.descriptor += &format!("(A;;GR;;;{})", user_sid(pid)?);
        Ok(self)
    }

    /// Makes an instance of a pipe, by its full name. `first`: it fails if any process has a pipe of that name. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(&self, name: &str, first: bool) -> io::Result<NamedPipeServer> {
        SecurityDescriptor::from_sddl(&self.descriptor)?.with_attributes(|attributes| {
            let mut options = ServerOptions::new();
            // SAFETY: the attributes are valid during the call, which copies them.
            unsafe {
                options.first_pipe_instance(first).create_with_security_attributes_raw(name, attributes)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pipe_of_our_user_can_be_opened_and_taken_once() {
        let name = format!(r"\\.\pipe\gcwatch-test-{}", std::process::id());
        let access = PipeAccess::own_user().unwrap().and_reader(std::process::id()).unwrap();
        assert!(access.descriptor.starts_with("D:P(A;;GA;;;S-1-"), "{}", access.descriptor);
        let _server = access.create(&name, true).unwrap();
        // Wine 8 lets a second process have the name.
        let wine = std::path::Path::new(r"C:\windows\system32\winecfg.exe").exists();
        assert!(wine || access.create(&name, true).is_err(), "somebody has this name");
        assert!(std::fs::OpenOptions::new().read(true).open(&name).is_ok());
    }
}
