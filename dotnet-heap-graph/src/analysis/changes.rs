//! What has changed between two graphs of one process, object by object.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::earlier::Earlier;
use super::kin::{Kin, kin};
use super::statics::StaticArrays;
use crate::dominators::{Amount, Dominators};
use crate::error::Result;
use crate::graph::Graph;

/// A holder has a row of its own if at least this part of all new and gone bytes is with it.
const OWN_ROW: u64 = 100;
/// How many classes are told of what is new or gone with a holder.
const MAX_CLASSES: usize = 5;

/// What is alive in the second graph and was not in the first, and the other way round. An object is alive if a root
/// keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Alive in the second graph, and in the first graph at all.
    pub survived: Amount,
    /// Alive in the second graph, and not in the first graph.
    pub new: Amount,
    /// Alive in the first graph, and not in the second.
    pub gone: Amount,
    /// Objects that cannot be the same because their class or size differs, or that are not there. If there are any, the
    /// file is wrong.
    pub contradictions: u64,
    /// Classes with new or gone objects, that which has grown most bytes first.
    pub classes: Vec<ClassChange>,
    /// What keeps new objects alive, and what kept those that are gone, that which has grown most bytes first.
    pub holders: Vec<HolderChange>,
}

/// Objects of a class that are new or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassChange {
    /// The name of the class.
    pub class: String,
    /// Alive in the first graph.
    pub before: Amount,
    /// Alive in the second graph.
    pub after: Amount,
    /// Those of them that were not in the first graph.
    pub new: Amount,
    /// Those of the first graph that are not alive any more.
    pub gone: Amount,
}

/// New and gone objects that objects which were there all the time keep alive: the nearest of these in the tree of
/// dominators is their holder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HolderChange {
    /// How many holders there are. 0: only roots hold them.
    pub holders: u64,
    /// The holder, or that which has grown most: an object of the second graph. `None`: roots.
    pub holder: Option<u32>,
    /// The class of the objects that the holder dominates immediately.
    pub class: String,
    /// The one of these that retains most in the second graph. `None`: all are gone.
    pub biggest: Option<u32>,
    /// The objects that are new.
    pub new: Amount,
    /// The objects that are gone.
    pub gone: Amount,
    /// The same by class, that with most new bytes first.
    pub classes: Vec<(String, Amount, Amount)>,
}

/// A holder and a class: new or gone objects, and all that they dominate of these.
type Key = (Option<u32>, u32);

#[derive(Debug, Default)]
struct Group {
    new: Amount,
    gone: Amount,
    biggest: Option<(u64, u32)>,
    classes: HashMap<u32, (Amount, Amount)>,
}

#[derive(Debug, Default)]
struct Groups {
    keys: HashMap<Key, u32>,
    groups: Vec<(Key, Group)>,
}

impl Groups {
    fn number(&mut self, key: Key) -> u32 {
        *self.keys.entry(key).or_insert_with(|| {
            self.groups.push((key, Group::default()));
            self.groups.len() as u32 - 1
        })
    }

    fn add(&mut self, number: u32, class: u32, new: Amount, gone: Amount) {
        let Some((_, group)) = self.groups.get_mut(number as usize) else { return };
        group.new += new;
        group.gone += gone;
        let of_class = group.classes.entry(class).or_default();
        of_class.0 += new;
        of_class.1 += gone;
    }
}

/// The names of all classes of both graphs, each once.
#[derive(Debug, Default)]
struct Labels {
    numbers: HashMap<String, u32>,
    labels: Vec<String>,
}

impl Labels {
    fn numbers<S: Into<String>>(&mut self, labels: impl Iterator<Item = S>) -> Vec<u32> {
        let number = |label: S| {
            let label = label.into();
            *self.numbers.entry(label).or_insert_with_key(|label| {
                self.labels.push(label.clone());
                self.labels.len() as u32 - 1
            })
        };
        labels.map(number).collect()
    }

    fn label(&self, number: u32) -> String {
        self.labels.get(number as usize).cloned().unwrap_or_default()
    }
}

/// Compares a graph with an earlier one of the same process. The file of the second says which objects were in the first:
/// its frames `IDENTITY`.
///
/// # Errors
/// The file cannot be read, or has changed.
pub fn changes(
    earlier: &Earlier,
    graph: &Graph,
    dominators: &Dominators,
    statics: &StaticArrays,
) -> Result<Changes> {
    let mut labels = Labels::default();
    let classes_before = labels.numbers(earlier.labels.iter().map(String::as_str));
    let classes = labels.numbers(graph.classes().iter().map(|class| class.label().into_owned()));
    let class_of = |classes: &[u32], class: u32| classes.get(class as usize).copied().unwrap_or_default();
    let Kin { now, is_old, mut contradictions } = kin(earlier, graph)?;

    let mut changes = Changes::default();
    let mut by_class: Vec<ClassChange> = vec![ClassChange::default(); labels.labels.len()];
    let mut groups = Groups::default();
    let mut group_of = vec![0_u32; graph.len() as usize];
    for (object, dominator) in dominators.dominators_in_order() {
        let amount = Amount::one(graph.size_bytes(object));
        let class = class_of(&classes, graph.class_of(object));
        let Some(sums) = by_class.get_mut(class as usize) else { continue };
        sums.after += amount;
        if is_old.contains(object) {
            changes.survived += amount;
            continue;
        }
        changes.new += amount;
        sums.new += amount;
        let above = dominator.filter(|above| !is_old.contains(*above) && !statics.contains(*above));
        let number = match above {
            Some(above) => group_of.get(above as usize).copied().unwrap_or_default(),
            None => {
                let number = groups.number((dominator, class));
                if let Some((_, group)) = groups.groups.get_mut(number as usize) {
                    let retained = dominators.retained_bytes(object);
                    group.biggest = group.biggest.max(Some((retained, object)));
                }
                number
            }
        };
        if let Some(place) = group_of.get_mut(object as usize) {
            *place = number;
        }
        groups.add(number, class, amount, Amount::default());
    }

    let is_alive = |position: u32| {
        let now = now.get(position as usize).copied().flatten();
        now.filter(|object| dominators.is_reachable(*object))
    };
    let mut group_of = vec![0_u32; earlier.objects.len()];
    for (position, object) in (0..).zip(&earlier.objects) {
        let amount = earlier.amount(position);
        let class = class_of(&classes_before, object.class);
        let Some(sums) = by_class.get_mut(class as usize) else { continue };
        sums.before += amount;
        if let Some(now) = now.get(position as usize).copied().flatten() {
            let is_same =
                class == class_of(&classes, graph.class_of(now)) && amount.bytes == graph.size_bytes(now);
            contradictions += u64::from(!is_same);
        }
        if is_alive(position).is_some() {
            continue;
        }
        changes.gone += amount;
        sums.gone += amount;
        let above = object.dominator;
        let number = match group_of.get(above as usize) {
            Some(number) if is_alive(above).is_none() => *number,
            _ => groups.number((is_alive(above), class)),
        };
        if let Some(place) = group_of.get_mut(position as usize) {
            *place = number;
        }
        groups.add(number, class, Amount::default(), amount);
    }

    changes.contradictions = contradictions;
    let named = (0..).zip(by_class).map(|(number, sums)| ClassChange { class: labels.label(number), ..sums });
    changes.classes = named.filter(|sums| (sums.new, sums.gone) != Default::default()).collect();
    changes.classes.sort_by(|a, b| {
        growth(b.new, b.gone).cmp(&growth(a.new, a.gone)).then_with(|| a.class.cmp(&b.class))
    });
    changes.holders = holders(graph, &labels, groups, changes.new.bytes.saturating_add(changes.gone.bytes));
    Ok(changes)
}

/// How much was added, in bytes.
fn growth(new: Amount, gone: Amount) -> i128 {
    i128::from(new.bytes) - i128::from(gone.bytes)
}

/// Groups that are one row.
#[derive(Debug, Default)]
struct Merged {
    count: u64,
    /// The holder that has grown most, and how much.
    holder: Option<u32>,
    grown: i128,
    group: Group,
}

impl Merged {
    fn add(&mut self, holder: Option<u32>, group: Group) {
        let grown = growth(group.new, group.gone);
        if self.count == 0 || grown > self.grown {
            (self.holder, self.grown) = (holder, grown);
        }
        self.count += 1;
        self.group.new += group.new;
        self.group.gone += group.gone;
        self.group.biggest = self.group.biggest.max(group.biggest);
        for (class, (new, gone)) in group.classes {
            let of_class = self.group.classes.entry(class).or_default();
            of_class.0 += new;
            of_class.1 += gone;
        }
    }

    /// `class`: that of the objects that the holder dominates immediately.
    fn row(self, class: u32, labels: &Labels) -> HolderChange {
        let named = |(class, (new, gone))| (labels.label(class), new, gone);
        let mut classes: Vec<(String, Amount, Amount)> = self.group.classes.into_iter().map(named).collect();
        classes.sort_by(|a, b| (b.1.bytes, b.2.bytes, &a.0).cmp(&(a.1.bytes, a.2.bytes, &b.0)));
        classes.truncate(MAX_CLASSES);
        HolderChange {
            holders: if self.holder.is_some() { self.count } else { 0 },
            holder: self.holder,
            class: labels.label(class),
            biggest: self.group.biggest.map(|(_, object)| object),
            new: self.group.new,
            gone: self.group.gone,
            classes,
        }
    }
}

/// Makes rows of groups. Those with little are added up by the class of their holder.
fn holders(graph: &Graph, labels: &Labels, groups: Groups, all_bytes: u64) -> Vec<HolderChange> {
    let mut merged: HashMap<(bool, Option<u32>, u32), Merged> = HashMap::new();
    for ((holder, class), group) in groups.groups {
        let bytes = group.new.bytes.saturating_add(group.gone.bytes);
        let is_own = bytes >= all_bytes.div_ceil(OWN_ROW);
        let key = if is_own { holder } else { holder.map(|holder| graph.class_of(holder)) };
        merged.entry((is_own, key, class)).or_default().add(holder, group);
    }
    let rows = merged.into_iter().map(|((_, _, class), row)| row.row(class, labels));
    let mut rows: Vec<HolderChange> = rows.collect();
    rows.sort_by_key(|row| (Reverse(growth(row.new, row.gone)), row.class.clone(), row.holder));
    rows
}
