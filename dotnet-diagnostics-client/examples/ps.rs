//! Lists the .NET processes of this machine with the information from their runtimes.

#![expect(clippy::print_stdout, reason = "the example prints")]

use dotnet_diagnostics_client::{Client, discovery};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let listing = discovery::list();
    for found in listing.found {
        match Client::new(found.endpoint.clone()).process_info().await {
            Ok(info) => println!("{}\t{info:#?}", found.pid),
            Err(error) => println!("{}\t{}: {error}", found.pid, found.endpoint),
        }
    }
    for directory in listing.searched {
        println!("searched {directory}");
    }
    for rejected in listing.rejected {
        println!("not {rejected}");
    }
}
