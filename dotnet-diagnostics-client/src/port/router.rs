//! Sorts the connections of a port by runtime.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::{Error, Result};
use crate::guid::Guid;
use crate::transport::{Peer, Stream};

use super::advertisement::{Advertised, OPERATION};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each critical section leaves the data consistent, so a panic elsewhere does no harm.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Items for one waiting consumer at a time, until closed.
#[derive(Debug)]
struct Mailbox<T> {
    state: Mutex<(VecDeque<T>, bool)>,
    changed: Notify,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { state: Mutex::new((VecDeque::new(), false)), changed: Notify::new() }
    }
}

impl<T> Mailbox<T> {
    fn push(&self, item: T) {
        lock(&self.state).0.push_back(item);
        self.changed.notify_one();
    }

    fn close(&self) {
        lock(&self.state).1 = true;
        // Stores a permit too, for a consumer that is about to wait.
        self.changed.notify_one();
        self.changed.notify_waiters();
    }

    /// The next item. `None` if closed and empty.
    async fn next(&self) -> Option<T> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = lock(&self.state);
                let item = state.0.pop_front();
                if item.is_some() || state.1 {
                    if !state.0.is_empty() || state.1 {
                        self.changed.notify_one();
                    }
                    return item;
                }
            }
            changed.await;
        }
    }
}

/// The open connections of a runtime: one while it waits for a command, none just after a command.
#[derive(Debug, Default)]
pub(super) struct Queue(Mailbox<Stream>);

impl Queue {
    pub(super) async fn next(&self) -> Result<Stream> {
        let closed = Error::Closed { operation: "the port's next command" };
        self.0.next().await.ok_or(closed)
    }

    /// Drops the connections whose runtime has ended, so that they do not accumulate.
    fn purge(&self) {
        lock(&self.0.state).0.retain(|stream| !stream.has_ended());
    }
}

type NewRuntime = (Guid, u64, Option<Peer>, Arc<Queue>);

#[derive(Debug, Default)]
pub(super) struct Router {
    /// Kept as long as the port: the runtime of a dropped client can connect again, but is not a new one.
    runtimes: Mutex<HashMap<Guid, Arc<Queue>>>,
    new: Mailbox<NewRuntime>,
    failure: Mutex<Option<Error>>,
}

impl Router {
    pub(super) fn deliver(&self, advertised: Advertised) {
        let Advertised { cookie, pid, stream } = advertised;
        let peer = stream.peer();
        let mut runtimes = lock(&self.runtimes);
        for (other, queue) in runtimes.iter() {
            // A client that still exists learns from the connection that its runtime has ended.
            if *other != cookie && Arc::strong_count(queue) == 1 {
                queue.purge();
            }
        }
        let queue = runtimes.entry(cookie).or_insert_with(|| {
            let queue = Arc::new(Queue::default());
            self.new.push((cookie, pid, peer, Arc::clone(&queue)));
            queue
        });
        queue.0.push(stream);
    }

    pub(super) async fn next_runtime(&self) -> Result<NewRuntime> {
        match self.new.next().await {
            Some(runtime) => Ok(runtime),
            None => Err(lock(&self.failure).take().unwrap_or(Error::Closed { operation: OPERATION })),
        }
    }

    /// Ends all waiting. No connection is accepted any more.
    pub(super) fn close(&self, failure: Option<Error>) {
        *lock(&self.failure) = failure;
        self.new.close();
        for queue in lock(&self.runtimes).values() {
            queue.0.close();
        }
    }
}
