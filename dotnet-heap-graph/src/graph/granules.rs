//! Which parts of the address space have objects at all.

/// Unused granules between two used ones that do not end a table, however much that costs in sum.
const SMALL_GAP: u64 = 16;
/// The same as long as all tables have no more than [`FREE_ENTRIES`]. A heap of .NET reserves 256 GiB.
const LARGE_GAP: u64 = 1 << 17;
const FREE_ENTRIES: usize = 1 << 20;

/// A table of consecutive granules.
#[derive(Debug)]
struct Table {
    first: u64,
    /// For each granule its number plus 1. 0: no object is there.
    numbers: Vec<u32>,
}

/// The numbers of all granules that have objects.
#[derive(Debug, Default)]
pub(super) struct Granules {
    tables: Vec<Table>,
    values: Vec<u64>,
}

impl Granules {
    /// `values` are the granules in ascending order.
    pub(super) fn new(values: Vec<u64>) -> Self {
        let mut tables: Vec<Table> = Vec::new();
        let mut entries = 0;
        for (number, value) in values.iter().enumerate() {
            let unused = match tables.last() {
                Some(table) => value - (table.first + table.numbers.len() as u64),
                None => u64::MAX,
            };
            let is_free = unused <= LARGE_GAP && entries + unused as usize <= FREE_ENTRIES;
            match tables.last_mut() {
                Some(table) if unused <= SMALL_GAP || is_free => {
                    entries += unused as usize;
                    table.numbers.resize(table.numbers.len() + unused as usize, 0);
                    table.numbers.push(number as u32 + 1);
                }
                _ => tables.push(Table { first: *value, numbers: vec![number as u32 + 1] }),
            }
        }
        Self { tables, values }
    }

    #[inline]
    pub(super) fn number(&self, value: u64) -> Option<u32> {
        // Almost always there are one or two.
        let table = self.tables.iter().take(2).rev().find(|table| table.first <= value);
        let table = if self.tables.len() > 2 { self.table_of(value) } else { table }?;
        let index = usize::try_from(value - table.first).ok()?;
        table.numbers.get(index)?.checked_sub(1)
    }

    #[cold]
    fn table_of(&self, value: u64) -> Option<&Table> {
        let behind = self.tables.partition_point(|table| table.first <= value);
        self.tables.get(behind.checked_sub(1)?)
    }

    /// The number of the first granule that is not below this one, and whether it is this one.
    pub(super) fn search(&self, value: u64) -> (u32, bool) {
        let index = self.values.partition_point(|other| *other < value);
        (index as u32, self.values.get(index) == Some(&value))
    }

    pub(super) fn value(&self, number: u32) -> u64 {
        self.values.get(number as usize).copied().unwrap_or_default()
    }
}
