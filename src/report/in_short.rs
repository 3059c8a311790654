//! Findings in words: each with what is wrong, and what to change.

use super::model::{End, Facts};
use super::units::{Units, bytes, count, duration, percent, plural};
use crate::escape::escape_untrusted;
use crate::finding::{Finding, IDS, Part, Sentence};
use crate::gc::facts::Lost;
use crate::gc::generation::Generation;

/// Findings that a report for people shows.
const MAX_SHOWN: usize = 5;

/// A finding in words.
pub(super) struct Shown {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) remedy: String,
}

/// The first findings, in words.
pub(super) fn shown(findings: &[Finding], units: Units, unicode: bool) -> Vec<Shown> {
    all(&findings[..findings.len().min(MAX_SHOWN)], units, unicode)
}

/// All findings, in words.
pub(super) fn all(findings: &[Finding], units: Units, unicode: bool) -> Vec<Shown> {
    let words = |finding: &Finding| Shown {
        id: finding.id,
        title: capital(&sentence(&finding.title, units, unicode)),
        remedy: capital(&sentence(&finding.remedy, units, unicode)),
    };
    findings.iter().map(words).collect()
}

/// What to say instead of findings; `None`: there was nothing to judge.
pub(super) fn nothing(facts: &Facts, end: &End<'_>) -> Option<String> {
    /// Of fewer, growth and fragmentation cannot be judged.
    const MIN_FULL_GCS: u64 = 3;
    /// Healthy programs that allocate all the time were stopped for up to 43 % of it.
    const MUCH_PERCENT: f64 = 60.0;
    let sum = end.summary;
    if sum.gcs == 0 {
        return None;
    }
    let none = format!("gcwatch found none of the {} faults that it knows", IDS.len());
    let [_, _, lost, half_armed] = sum.incomplete;
    let is_incomplete = *end.lost != Lost::default() || lost + half_armed > 0;
    if is_incomplete {
        return Some(format!("{none}, but the data are incomplete"));
    }
    let of_gen2 = sum.groups.iter().filter(|((generation, _), _)| *generation == Generation::GEN2);
    let full: u64 = of_gen2.map(|(_, group)| group.count).sum();
    let paused = sum.pause_percent(facts.watch.duration_ns).filter(|paused| *paused >= MUCH_PERCENT);
    Some(if let Some(paused) = paused {
        format!(
            "{none}; but collections stopped the program for {} of the time: gcwatch try compares settings of the GC",
            percent(paused)
        )
    } else if full < MIN_FULL_GCS {
        format!("{none}; growth cannot be judged by {}", plural(full, "gen2 collection"))
    } else {
        none
    })
}

/// A sentence, with a unit behind each figure.
pub(super) fn sentence(sentence: &Sentence, units: Units, unicode: bool) -> String {
    sentence
        .0
        .iter()
        .map(|part| match part {
            Part::Text(text) => escape_untrusted(text),
            Part::Bytes(n) => bytes(*n, units),
            Part::BytesPerSecond(rate) => format!("{}/s", bytes(rate.max(0.0) as u64, units)),
            Part::Count(n) => count(*n),
            Part::Ns(ns) => duration(*ns, unicode),
            Part::Share(share) => percent(share * 100.0),
            Part::PerSecond(rate) if *rate < 9.95 => format!("{rate:.1}/s"),
            Part::PerSecond(rate) => format!("{rate:.0}/s"),
        })
        .collect()
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
