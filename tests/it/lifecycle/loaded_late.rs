//! A runtime that was stopped meanwhile may load the profiler after gcwatch has given up. To show that, the test itself
//! asks the runtime to load it, with a lease that does not exist.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::{Client, Guid, Level, Provider, SessionConfig, discovery};
use netcore_profiler::config::Config;
use netcore_profiler::{LIBRARY, LIBRARY_FILE_NAME, wire};
use tokio::io::AsyncReadExt;
use xtask::Clr;

use crate::it::lifecycle::attach::Churn;
use crate::it::lifecycle::detach::gone;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{Footprint, attach_json};

const WORK: &str = "live=10000 seed=11";

pub(crate) fn register(suite: &mut Suite) {
    suite.each("loaded_late::it_leaves_where_nobody_listens", &[Need::Proc], |clr| {
        on_a_program(clr, |pid, directory| async move {
            load(pid, &directory).await?;
            Ok(())
        })
    });
    suite.each("loaded_late::it_stays_while_a_session_listens", &[Need::Proc], |clr| {
        on_a_program(clr, |pid, directory| async move {
            let client = Client::new(discovery::find(pid)?);
            let provider =
                Provider::new(wire::PROVIDER_NAME, Level::Informational).keywords(wire::KEYWORD_TOTALS);
            let config = SessionConfig::new([provider]).circular_buffer_mb(16);
            let mut session = client.collect_tracing(&config).await?;
            load(pid, &directory).await?;
            // The lease thread runs every 0.2 s, and checks for listeners once.
            tokio::time::sleep(Duration::from_secs(2)).await;
            ensure!(Footprint::of(pid)?.has_our_threads(), "it left although a session listens");
            let (id, mut rest) = (session.id(), Vec::new());
            let (read, stopped) = tokio::join!(session.read_to_end(&mut rest), client.stop_tracing(id));
            read?;
            stopped?;
            Ok(())
        })
    });
}

/// The program completes its work, and in the end nothing of the profiler remains in it.
fn on_a_program<F>(clr: &Clr, work: impl FnOnce(u32, std::path::PathBuf) -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    // The runtime starts threads of its own at the first session.
    attach_json(clr, churn.pid(), "--gcs 5 --level basic")?;
    let before = Footprint::of(churn.pid())?.with_a_thread();
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work(churn.pid(), directory.path().to_owned()))?;
    gone(churn.pid(), &before)?;
    churn.stop(clr, WORK)
}

async fn load(pid: u32, directory: &Path) -> Result<()> {
    let library = directory.join(LIBRARY_FILE_NAME);
    std::fs::write(&library, LIBRARY)?;
    let lease = directory.join("nobody");
    let lease = lease.to_str().context("not UTF-8")?;
    let config = Config {
        arming: wire::Arming::LATE,
        blocks: false,
        names: true,
        unset: None,
        window: None,
        lease: Some(lease),
    };
    let client = Client::new(discovery::find(pid)?);
    let library = library.to_str().context("not UTF-8")?;
    let clsid = Guid::from_bytes(wire::CLSID);
    client.attach_profiler(Duration::from_secs(10), clsid, library, config.to_text().as_bytes()).await?;
    // The library stays mapped even if the profiler has already left.
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    ensure!(maps.contains(library), "{library} was not loaded");
    Ok(())
}
