//! Strings with equal contents.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::reachability::Reachability;
use super::referrers::{Referrer, referrers_of_groups};
use crate::dominators::Amount;
use crate::error::{Error, Result};
use crate::format::ObjectRecord;
use crate::graph::Graph;
use crate::parallel;

/// So many strings of a group are looked at to say who refers to them.
const MAX_MEMBERS: usize = 100_000;
/// So many classes are told that refer to the strings of a group.
const MAX_HOLDERS: usize = 10;

/// What equal strings cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicateStrings {
    /// All strings that can be reached.
    pub strings: Amount,
    /// How many different contents they have.
    pub contents: u64,
    /// How many of these more than one string has.
    pub duplicated_contents: u64,
    /// What would be saved if each content were there once.
    pub wasted: Amount,
    /// The contents that waste most, most first.
    pub groups: Vec<StringGroup>,
}

/// Strings with one content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StringGroup {
    /// Length in UTF-16 units.
    pub length: u64,
    /// How many strings.
    pub strings: Amount,
    /// What would be saved if there were only one.
    pub wasted: Amount,
    /// One of them. [`Graph::texts`] has its content, if the file has it.
    pub example: u32,
    /// The classes whose objects refer to them, of up to 100,000 of them.
    pub holders: Vec<Referrer>,
}

/// Length and hash: equal for equal contents only, but for an accident of 64 bits.
type Key = [u32; 3];

fn key(record: &ObjectRecord) -> Key {
    let length = u32::try_from(record.length).unwrap_or(u32::MAX);
    [length, (record.hash >> 32) as u32, record.hash as u32]
}

/// The size of a string in bytes: its head, its content with a zero behind, to the next multiple of 8.
fn string_bytes(key: &Key) -> u64 {
    let [length, ..] = key;
    (u64::from(*length) * 2 + 22).next_multiple_of(8)
}

/// Finds strings with equal contents among those that can be reached; the `count` contents that waste most are told one by
/// one. This reads the file twice, and needs 12 bytes of memory for each string.
///
/// # Errors
/// The file cannot be read, or has changed.
pub fn duplicate_strings(
    graph: &Graph,
    reachable: &impl Reachability,
    count: usize,
) -> Result<DuplicateStrings> {
    let is_string = |object: u32, record: &ObjectRecord| {
        graph.class(record.class).is_some_and(|class| class.record.is_string())
            && reachable.is_reachable(object)
    };
    // While a list grows it is there twice. Each thread reads about as many strings as the others.
    let strings = graph.completeness().read.strings as usize / graph.limits.threads;
    let start = || Vec::with_capacity(strings + strings / 16);
    let parts = graph.for_each_record(start, |keys: &mut Vec<Key>, object, record| {
        if is_string(object, record) {
            keys.push(key(record));
        }
    })?;
    let mut result = DuplicateStrings::default();
    let mut wasteful: Vec<(u64, Key)> = Vec::new();
    let parts = parallel::map(
        graph.limits.threads,
        parts,
        || (),
        |(), mut keys| {
            keys.sort_unstable();
            Ok::<_, Error>(keys)
        },
    )?;
    for_each_key(&parts, |key, strings| {
        let bytes = string_bytes(&key);
        result.strings += Amount { objects: strings, bytes: bytes * strings };
        result.contents += 1;
        if strings > 1 {
            result.duplicated_contents += 1;
            let wasted = bytes * (strings - 1);
            result.wasted += Amount { objects: strings - 1, bytes: wasted };
            wasteful.push((wasted, key));
            if wasteful.len() >= count.saturating_mul(2).max(1000) {
                keep(&mut wasteful, count);
            }
        }
    });
    drop(parts);
    keep(&mut wasteful, count);
    let groups: HashMap<Key, u32> = wasteful.iter().zip(0..).map(|((_, key), group)| (*key, group)).collect();
    result.groups = members(graph, reachable, &wasteful, |object, record| {
        groups.get(&key(record)).copied().filter(|_| is_string(object, record))
    })?;
    Ok(result)
}

/// Calls `each` with all different keys of several sorted lists, and how often they are there. The lists are not joined,
/// because together they are large.
fn for_each_key(parts: &[Vec<Key>], mut each: impl FnMut(Key, u64)) {
    let mut rest: Vec<&[Key]> = parts.iter().map(Vec::as_slice).collect();
    while let Some(key) = rest.iter().filter_map(|keys| keys.first()).min().copied() {
        let mut count = 0;
        for keys in &mut rest {
            while let Some((_, behind)) = keys.split_first().filter(|(first, _)| **first == key) {
                *keys = behind;
                count += 1;
            }
        }
        each(key, count);
    }
}

fn keep(wasteful: &mut Vec<(u64, Key)>, count: usize) {
    wasteful.sort_unstable_by_key(|(bytes, key)| (Reverse(*bytes), *key));
    wasteful.truncate(count);
}

/// Adds up the strings of each group, and finds who refers to them.
fn members(
    graph: &Graph,
    reachable: &impl Reachability,
    wasteful: &[(u64, Key)],
    group_of: impl Fn(u32, &ObjectRecord) -> Option<u32> + Sync,
) -> Result<Vec<StringGroup>> {
    type Found = Vec<(Amount, Vec<u32>)>;
    let parts = graph.for_each_record(
        || vec![(Amount::default(), Vec::new()); wasteful.len()],
        |found: &mut Found, object, record| {
            let group = group_of(object, record);
            if let Some((amount, members)) = group.and_then(|group| found.get_mut(group as usize)) {
                *amount += Amount::one(record.size_units.saturating_mul(8));
                if members.len() < MAX_MEMBERS {
                    members.push(object);
                }
            }
        },
    )?;
    let mut groups = Vec::new();
    let mut members: Vec<(u32, u32)> = Vec::new();
    for (index, (wasted_bytes, [length, ..])) in (0..).zip(wasteful) {
        let of_group = || parts.iter().filter_map(|part| part.get(index as usize));
        let strings: Amount = of_group().map(|(amount, _)| *amount).sum();
        let some = of_group().flat_map(|(_, members)| members).copied();
        groups.push(StringGroup {
            length: u64::from(*length),
            strings,
            wasted: Amount { objects: strings.objects.saturating_sub(1), bytes: *wasted_bytes },
            example: some.clone().min().unwrap_or_default(),
            holders: Vec::new(),
        });
        members.extend(some.take(MAX_MEMBERS).map(|member| (member, index)));
    }
    drop(parts);
    members.sort_unstable();
    let mut is_member = vec![0_u64; graph.len() as usize / 64 + 1];
    for (member, _) in &members {
        is_member.get_mut(*member as usize / 64).into_iter().for_each(|bits| *bits |= 1 << (member % 64));
    }
    let holders = (0..graph.len()).filter(|object| reachable.is_reachable(*object));
    let mut found = referrers_of_groups(graph, holders, |object| {
        let bits = is_member.get(object as usize / 64)?;
        if bits & 1 << (object % 64) == 0 {
            return None;
        }
        let at = members.binary_search_by_key(&object, |(member, _)| *member).ok()?;
        members.get(at).map(|(_, group)| *group)
    });
    for (index, group) in (0..).zip(&mut groups) {
        group.holders = found.remove(&index).unwrap_or_default();
        group.holders.truncate(MAX_HOLDERS);
    }
    Ok(groups)
}
