//! What is new and what is gone between two graphs whose objects were followed.

use dotnet_heap_graph::analysis::{Changes, HolderChange, Paths};
use dotnet_heap_graph::{Graph, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::amounts::Amounts;
use super::noise::Noise;
use super::page::Page;
use super::steps::{self, PathDocument, address};
use crate::report::style::Role;
use crate::report::units::{count, plural};

/// Whether it is known which objects of the second graph were in the first.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphIdentity")]
pub(crate) struct IdentityDocument {
    pub(crate) known: bool,
    /// How many collections the objects were followed through.
    pub(crate) collections: Option<u64>,
    /// Why it is not known.
    pub(crate) why: Option<String>,
    /// The collection from which on it is not known.
    pub(crate) gc_number: Option<u64>,
}

/// New and gone objects of a type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphTurnover")]
pub(crate) struct TurnoverRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) new: Amounts,
    pub(crate) gone: Amounts,
}

/// What is new and what is gone with a holder: an object that was there all the time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphGrownHolder")]
pub(crate) struct GrownRow {
    /// How many holders this is about; 0: only roots hold the objects.
    pub(crate) holders: u64,
    /// Type of the holder, or of these holders; empty: roots.
    pub(crate) holder: String,
    /// Address of the holder, or of that which has grown most, in the second graph; empty: roots.
    pub(crate) address: String,
    /// The type of what the holder holds at first hand.
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) new: Amounts,
    pub(crate) gone: Amounts,
    /// The change is not more than chance would make it.
    pub(crate) noise: bool,
    /// What is new and gone, by type.
    pub(crate) mostly: Vec<TurnoverRow>,
    /// The way from a root to what is new.
    pub(crate) path: Option<PathDocument>,
}

/// What is known of single objects.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphFollowed")]
pub(crate) struct FollowedDocument {
    /// Alive in the second graph, and in the first one.
    pub(crate) survived: Amounts,
    /// Alive in the second graph, and not in the first one.
    pub(crate) new: Amounts,
    /// Alive in the first graph, and not in the second one.
    pub(crate) gone: Amounts,
    pub(crate) grown_in: Vec<GrownRow>,
}

impl FollowedDocument {
    /// The first `top` holders.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn new(
        changes: &Changes,
        graph: &Graph,
        paths: &Paths<'_>,
        noise: Noise,
        top: usize,
    ) -> Result<FollowedDocument> {
        let row = |row: &HolderChange| -> Result<GrownRow> {
            let object = row.biggest.or(row.holder);
            let path = object.map(|object| paths.path(object)).transpose()?.flatten();
            let mostly = row.classes.iter().map(|(class, new, gone)| TurnoverRow {
                class: class.clone(),
                new: (*new).into(),
                gone: (*gone).into(),
            });
            Ok(GrownRow {
                holders: row.holders,
                holder: row.holder.map_or_else(String::new, |holder| steps::class_of(graph, holder)),
                address: row.holder.map_or_else(String::new, |holder| address(graph, holder)),
                class: row.class.clone(),
                new: row.new.into(),
                gone: row.gone.into(),
                noise: noise.is(row.new.into(), row.gone.into()),
                mostly: mostly.collect(),
                path: path.map(|path| steps::path(graph, &path)),
            })
        };
        Ok(FollowedDocument {
            survived: changes.survived.into(),
            new: changes.new.into(),
            gone: changes.gone.into(),
            grown_in: changes.holders.iter().take(top).map(row).collect::<Result<_>>()?,
        })
    }

    /// In lines of text.
    pub(super) fn text(&self, page: &mut Page) {
        let (survived, new, gone) =
            (page.amount(self.survived), page.amount(self.new), page.amount(self.gone));
        page.sentence(
            Role::Plain,
            0,
            &format!("{survived} were there all the time; {new} are new; {gone} are gone"),
        );
        let grown = |row: &&GrownRow| row.new.bytes > row.gone.bytes && !row.noise;
        let mut rows = self.grown_in.iter().filter(grown).peekable();
        if rows.peek().is_some() {
            page.head("new since then and still alive");
        }
        for row in rows {
            let told: Vec<_> = row.mostly.iter().filter(|row| row.new.objects > 0).take(2).collect();
            let all = told.iter().map(|row| row.new.objects).sum::<u64>() == row.new.objects;
            let told: Vec<_> =
                told.iter().map(|row| format!("{} {}", count(row.new.objects), row.class)).collect();
            let new = match all {
                true => told.join(" and "),
                false => format!("{}, mostly {}", plural(row.new.objects, "object"), told.join(" and ")),
            };
            let more = page.size(row.new.bytes.saturating_sub(row.gone.bytes));
            let gone = match row.gone.objects {
                0 => String::new(),
                gone => format!("; gone: {}, {}", plural(gone, "object"), page.size(row.gone.bytes)),
            };
            let holders = match row.holders {
                0 | 1 => String::new(),
                holders => format!(", in {} {}, one of which is here", count(holders), row.holder),
            };
            page.sentence(Role::High, 0, &format!("+{more}: {new}{holders}{gone}"));
            page.way(row.path.as_ref());
        }
    }
}
