//! Lists the .NET processes of this machine, each with what its runtime says of itself.

#![expect(clippy::print_stdout, reason = "printing is what the example is for")]

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
