//! What has changed between two graphs of a program.

use std::collections::HashMap;
use std::path::Path;

use dotnet_heap_graph::analysis::{self, Changes, ClassDifference, GraphDifference, HolderDifference};
use dotnet_heap_graph::{Dominators, Graph, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::amounts::Amounts;
use super::document::missing;
use super::followed::{FollowedDocument, IdentityDocument};
use super::noise::Noise;
use super::page::Page;
use super::steps::name;
use super::text::process;
use crate::escape::escape_untrusted;
use crate::report::style::{Role, Terminal};
use crate::report::table::Column;
use crate::report::units::{Units, plural};

/// A type in two graphs: its objects that can be reached.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypeChange {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) before: Amounts,
    pub(crate) after: Amounts,
    pub(crate) retained_before: Amounts,
    pub(crate) retained_after: Amounts,
    /// Those of `after` that were not in the first graph; `null`: not known.
    pub(crate) new: Option<Amounts>,
    /// Those of `before` that are not alive in the second graph; `null`: not known.
    pub(crate) gone: Option<Amounts>,
    /// The change is not more than chance would make it.
    pub(crate) noise: bool,
}

/// Objects of a type that objects of another type keep alive on their own, in two graphs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HolderChange {
    #[serde(rename = "type")]
    pub(crate) class: String,
    /// The type that holds them; empty: only roots do.
    pub(crate) holder: String,
    pub(crate) before: Amounts,
    pub(crate) after: Amounts,
    /// The change is small.
    pub(crate) noise: bool,
}

/// Types whose change is noise, together.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphNoise")]
pub(crate) struct NoiseDocument {
    pub(crate) types: u64,
    /// How many objects more or fewer are alive.
    pub(crate) objects: i64,
    pub(crate) bytes: i64,
}

/// One of the two graphs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphSide")]
pub(crate) struct Side {
    /// Its file; absent: it was just taken.
    pub(crate) file: Option<String>,
    /// What was taken of which process, as the file says.
    pub(crate) taken: Option<Value>,
    /// Whether nothing is missing in it.
    pub(crate) whole: bool,
    pub(crate) all: Amounts,
    pub(crate) reachable: Amounts,
}

/// How much more there is in the second graph; negative: less.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphGrowth")]
pub(crate) struct Growth {
    pub(crate) objects: i64,
    pub(crate) bytes: i64,
}

/// The report on two graphs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphDifference")]
pub(crate) struct DifferenceDocument {
    pub(crate) kind: &'static str,
    pub(crate) schema_version: u32,
    pub(crate) before: Side,
    pub(crate) after: Side,
    /// Of what can be reached.
    pub(crate) growth: Growth,
    pub(crate) identity: IdentityDocument,
    /// What is known only if the objects were followed.
    pub(crate) followed: Option<FollowedDocument>,
    pub(crate) noise: NoiseDocument,
    /// Types by how much the bytes of their objects have grown, then those that have shrunk.
    pub(crate) types: Vec<TypeChange>,
    pub(crate) types_in_all: u64,
    pub(crate) holders: Vec<HolderChange>,
}

impl Side {
    /// What a graph is. `file`: where it is; `None`: it was just taken.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn new(graph: &Graph, dominators: &Dominators, file: Option<&Path>) -> Result<Side> {
        let taken = graph.reader().info::<Value>()?;
        let missing = missing(graph, taken.as_ref());
        let totals = analysis::totals(graph, dominators);
        Ok(Side {
            file: file.map(|file| file.display().to_string()),
            whole: missing.nothing,
            taken,
            all: totals.all.into(),
            reachable: totals.reachable.into(),
        })
    }

    fn text(&self, page: &mut Page, which: &str) {
        let file = self.file.as_ref().map_or_else(String::new, |file| format!(": {file}"));
        page.sentence(Role::Strong, 0, &format!("{which}{file}"));
        process(page, 2, self.taken.as_ref());
        page.sentence(Role::Plain, 2, &format!("{} are kept alive", page.amount(self.reachable)));
        if !self.whole {
            page.sentence(
                Role::Alarm,
                2,
                "warning: this graph is not whole, so the difference is not, either",
            );
        }
    }
}

fn growth(before: u64, after: u64) -> i64 {
    i64::try_from(i128::from(after) - i128::from(before)).unwrap_or(if after > before {
        i64::MAX
    } else {
        i64::MIN
    })
}

impl DifferenceDocument {
    /// The first `top` changes of each kind. `changes`: those of single objects, if these were followed.
    pub(crate) fn new(
        found: &GraphDifference,
        sides: [Side; 2],
        changes: Option<&Changes>,
        identity: IdentityDocument,
        followed: Option<FollowedDocument>,
        noise: Noise,
        top: usize,
    ) -> DifferenceDocument {
        let by_class: HashMap<&str, _> = changes
            .iter()
            .flat_map(|changes| &changes.classes)
            .map(|row| (row.class.as_str(), row))
            .collect();
        let class = |row: &ClassDifference| {
            let (before, after) = (row.before.reachable.into(), row.after.reachable.into());
            let followed = by_class.get(row.class.as_str());
            let turnover = changes.map(|_| match followed {
                Some(row) => (Amounts::from(row.new), Amounts::from(row.gone)),
                None => Default::default(),
            });
            TypeChange {
                class: name(&row.class),
                before,
                after,
                retained_before: row.before.retained.into(),
                retained_after: row.after.retained.into(),
                new: turnover.map(|(new, _)| new),
                gone: turnover.map(|(_, gone)| gone),
                noise: match turnover {
                    Some((new, gone)) => noise.is(new, gone),
                    None => noise.is_small(before, after),
                },
            }
        };
        let holder = |row: &HolderDifference| HolderChange {
            class: name(&row.class),
            holder: name(&row.holder),
            before: row.before.into(),
            after: row.after.into(),
            noise: noise.is_small(row.before.into(), row.after.into()),
        };
        // Where only what they retain has changed, another row says why.
        let changed = found.classes.iter().filter(|row| {
            row.before.reachable != row.after.reachable || by_class.contains_key(row.class.as_str())
        });
        let mut types: Vec<TypeChange> = changed.map(class).collect();
        let types_in_all = types.len() as u64;
        let mut together = NoiseDocument::default();
        for row in types.iter().filter(|row| row.noise) {
            together.types += 1;
            let more = |before: u64, after: u64| after.cast_signed().saturating_sub(before.cast_signed());
            together.objects = together.objects.saturating_add(more(row.before.objects, row.after.objects));
            together.bytes = together.bytes.saturating_add(more(row.before.bytes, row.after.bytes));
        }
        types.truncate(top);
        let [before, after] = sides;
        DifferenceDocument {
            kind: "gcwatch-graph-difference",
            schema_version: 1,
            growth: Growth {
                objects: growth(before.reachable.objects, after.reachable.objects),
                bytes: growth(before.reachable.bytes, after.reachable.bytes),
            },
            before,
            after,
            identity,
            followed,
            noise: together,
            types,
            types_in_all,
            holders: found.holders.iter().take(top).map(holder).collect(),
        }
    }

    /// In lines of text.
    pub(crate) fn text(&self, terminal: &Terminal, units: Units) -> String {
        let mut page = Page::new(terminal, units);
        self.before.text(&mut page, "before");
        self.after.text(&mut page, "after");
        let (before, after) = (self.before.reachable, self.after.reachable);
        let (sign, objects) = signed(before.objects, after.objects);
        let (bytes_sign, bytes) = signed(before.bytes, after.bytes);
        let text = format!("{sign}{}, {bytes_sign}{}", plural(objects, "object"), page.size(bytes));
        page.sentence(Role::Strong, 0, &format!("change: {text}"));
        self.identity(&mut page);
        page.blank();
        if let Some(followed) = &self.followed {
            followed.text(&mut page);
        }
        if self.types.is_empty() {
            page.sentence(Role::Plain, 0, "no type has more or fewer objects that are kept alive");
            return page.finish();
        }
        let rows: Vec<_> = self
            .types
            .iter()
            .filter(|row| !row.noise)
            .map(|row| change(&page, row.before, row.after, escape_untrusted(&row.class)))
            .collect();
        let columns = [
            Column::right("bytes", 2),
            Column::right("objects", 2),
            Column::right("now", 2),
            Column::left("type", 2),
        ];
        page.head("what has grown most, of what is kept alive");
        if !rows.is_empty() {
            page.rows(&columns, &rows);
        }
        self.noise(&mut page);
        let rows: Vec<_> = self
            .holders
            .iter()
            .filter(|row| !row.noise)
            .map(|row| {
                let holder = if row.holder.is_empty() { "roots" } else { &row.holder };
                let text = format!("{} by {holder}", row.class);
                change(&page, row.before, row.after, escape_untrusted(&text))
            })
            .collect();
        // Where single objects were followed, it is known better who holds them.
        if !rows.is_empty() && self.followed.is_none() {
            page.head("and who holds it");
            page.rows(&columns, &rows);
        }
        page.finish()
    }

    /// How it is known which objects are the same.
    fn identity(&self, page: &mut Page) {
        let text = match (&self.identity.why, self.identity.collections) {
            (Some(why), _) => {
                let from = self.identity.gc_number.map_or_else(String::new, |gc| format!("gc#{gc}: "));
                format!("by type and holder: which objects are the same is not known ({from}{why})")
            }
            (None, Some(collections)) => {
                format!("each object was followed through {}", plural(collections, "collection"))
            }
            (None, None) => return,
        };
        page.sentence(Role::Dim, 0, &text);
    }

    /// What is not worth a line each.
    fn noise(&self, page: &mut Page) {
        if self.noise.types == 0 {
            return;
        }
        let sign = if self.noise.bytes < 0 { "-" } else { "+" };
        let bytes = page.size(self.noise.bytes.unsigned_abs());
        let more = if self.types.iter().any(|row| !row.noise) { "more type" } else { "type" };
        let types = plural(self.noise.types, more);
        let text = format!("{types} changed by no more than noise, {sign}{bytes} in all");
        page.sentence(Role::Dim, 0, &text);
    }
}

fn change(page: &Page, before: Amounts, after: Amounts, text: String) -> Vec<(String, Role)> {
    let (sign, bytes) = signed(before.bytes, after.bytes);
    let (objects_sign, objects) = signed(before.objects, after.objects);
    vec![
        (format!("{sign}{}", page.size(bytes)), Role::Strong),
        (format!("{objects_sign}{}", crate::report::units::count(objects)), Role::Plain),
        (page.size(after.bytes), Role::Dim),
        (text, Role::Plain),
    ]
}

fn signed(before: u64, after: u64) -> (&'static str, u64) {
    let sign = match after.cmp(&before) {
        std::cmp::Ordering::Less => "-",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => "+",
    };
    (sign, after.abs_diff(before))
}
