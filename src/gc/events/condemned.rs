//! Why a heap wanted the generation that was collected.

use crate::gc::generation::Generation;

/// The names of the bits of CondemnReasons1, bit 0 first (gcrecord.h).
const CONDEMN_CONDITIONS: [&str; 31] = [
    "induced_fullgc",
    "expand_fullgc",
    "high_mem",
    "very_high_mem",
    "low_ephemeral",
    "low_card",
    "eph_high_frag",
    "max_high_frag",
    "max_high_frag_e",
    "max_high_frag_m",
    "max_high_frag_vm",
    "max_gen1",
    "before_oom",
    "gen2_too_small",
    "induced_noforce",
    "before_bgc",
    "almost_max_alloc",
    "avoid_unproductive",
    "pm_induced_fullgc",
    "pm_alloc_loh",
    "gen1_in_pm",
    "limit_before_oom",
    "limit_loh_frag",
    "limit_loh_reclaim",
    "servo_initial",
    "servo_ngc",
    "servo_bgc",
    "servo_postpone",
    "stress_mix",
    "stress",
    "aggressive",
];

/// The condemned reasons of one heap for a collection of `generation`: what asked for that
/// generation (budget, time), then every condition that was met.
pub(crate) fn condemned_reasons(reasons: [u32; 2], generation: Generation) -> Vec<&'static str> {
    let level = |shift: u32| (reasons[0] >> shift) & 3;
    let mut names = Vec::new();
    for (shift, name) in [(4, "alloc_budget"), (6, "time_tuning")] {
        if generation > Generation::GEN0 && level(shift) == u32::from(generation.0) {
            names.push(name);
        }
    }
    let conditions = (0..).zip(CONDEMN_CONDITIONS).filter(|(bit, _)| reasons[1] & (1 << bit) != 0);
    names.extend(conditions.map(|(_, name)| name));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_by_bit() {
        assert_eq!(
            condemned_reasons([0b01_0000, 1 << 6], Generation::GEN1),
            ["alloc_budget", "eph_high_frag"]
        );
        assert!(condemned_reasons([0, 0], Generation::GEN0).is_empty());
    }
}
