//! Work on many items with several threads.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `work` with each item, from up to `threads` threads, and returns the results in the order of the items. Each
/// thread has a state of its own from `start`. After an error no new item is begun.
pub(crate) fn map<T: Send, R: Send, E: Send, S>(
    threads: NonZero<usize>,
    items: Vec<T>,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = threads.get().min(items.len());
    if threads <= 1 {
        let mut state = start();
        return items.into_iter().map(|item| work(&mut state, item)).collect();
    }
    let queue = Mutex::new(Some(items.into_iter().enumerate()));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(Iterator::next);
    let run = || {
        let mut state = start();
        let mut results = Vec::new();
        while let Some((index, item)) = next() {
            match work(&mut state, item) {
                Ok(result) => results.push((index, result)),
                Err(error) => {
                    queue.lock().unwrap_or_else(PoisonError::into_inner).take();
                    return Err(error);
                }
            }
        }
        Ok(results)
    };
    let mut results = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut results = run();
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            results = results.and_then(|mut all| {
                all.append(&mut other?);
                Ok(all)
            });
        }
        results
    })?;
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Calls both, at the same time if there may be several threads.
pub(crate) fn both<A: Send, B>(
    threads: NonZero<usize>,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
) -> (A, B) {
    if threads.get() == 1 {
        return (one(), other());
    }
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_done() {
        for threads in 1..3 {
            assert_eq!(both(NonZero::new(threads).unwrap(), || 1, || "a"), (1, "a"));
        }
    }

    #[test]
    fn results_are_in_order_and_errors_stop() {
        for threads in 1..4 {
            let threads = NonZero::new(threads).unwrap();
            let squares = map(threads, (0..99).collect(), || (), |(), n: u32| Ok::<_, ()>(n * n));
            assert_eq!(squares.unwrap(), (0..99).map(|n| n * n).collect::<Vec<_>>());
            let failed =
                map(threads, (0..99).collect(), || (), |(), n: u32| if n == 50 { Err(n) } else { Ok(n) });
            assert_eq!(failed, Err(50));
            assert_eq!(map(threads, Vec::<u32>::new(), || (), |(), n| Ok::<_, ()>(n)), Ok(vec![]));
        }
    }
}
