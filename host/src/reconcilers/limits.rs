//! Takes the limits of a Reconciler, within what the host allows at most.

use super::halt::{Gate, Halt};
use crate::api;
use crate::guest::Limits;
use std::time::Duration;
use windlass_core::check::OutcomeLimits;
use windlass_core::reason::Reason;

/// What the guest may use, and what it may answer. A limit above the host's maximum is a halt that names both, so that
/// nobody takes a smaller one for what they asked for.
pub(super) fn within(asked: &api::Limits, maxima: &api::Limits) -> Result<(Limits, OutcomeLimits), Halt> {
    for (field, asked, most, flag) in [
        (
            "memoryMebibytes",
            asked.memory_mebibytes,
            maxima.memory_mebibytes,
            "--max-memory-mebibytes",
        ),
        (
            "timeMilliseconds",
            asked.time_milliseconds,
            maxima.time_milliseconds,
            "--max-time-milliseconds",
        ),
        (
            "outputKibibytes",
            asked.output_kibibytes,
            maxima.output_kibibytes,
            "--max-output-kibibytes",
        ),
        ("children", asked.children, maxima.children, "--max-children"),
    ] {
        if asked > most {
            let message = format!(
                "spec.limits.{field}: {asked} is more than this host allows, which is {most}: lower it, or have the host \
                 started with `windlass run {flag} {asked}`"
            );
            return Err(Halt::watched(Gate::Loaded, Reason::Invalid, message));
        }
    }
    let usable = Limits {
        memory: (asked.memory_mebibytes as usize) << 20,
        time: Duration::from_millis(asked.time_milliseconds.into()),
        output: (asked.output_kibibytes as usize) << 10,
        ..Limits::default()
    };
    let answerable = OutcomeLimits {
        children: asked.children as usize,
        ..OutcomeLimits::default()
    };
    Ok((usable, answerable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_api_are_those_of_a_guest() {
        let asked = api::Limits::default();
        assert_eq!(
            within(&asked, &asked),
            Ok((Limits::default(), OutcomeLimits::default()))
        );
    }

    #[test]
    fn what_is_above_a_maximum_is_named_with_both() {
        let maxima = api::Limits::default();
        let more = [
            (
                api::Limits {
                    memory_mebibytes: 65,
                    ..maxima
                },
                "memoryMebibytes: 65",
                "is 64:",
            ),
            (
                api::Limits {
                    time_milliseconds: 1001,
                    ..maxima
                },
                "timeMilliseconds: 1001",
                "is 1000:",
            ),
            (
                api::Limits {
                    output_kibibytes: 4097,
                    ..maxima
                },
                "outputKibibytes: 4097",
                "is 4096:",
            ),
            (
                api::Limits {
                    children: 257,
                    ..maxima
                },
                "children: 257",
                "is 256:",
            ),
        ];
        for (asked, field, most) in more {
            let halt = within(&asked, &maxima).unwrap_err();
            assert!(
                halt.message().contains(field) && halt.message().contains(most),
                "{}",
                halt.message()
            );
        }
    }
}
