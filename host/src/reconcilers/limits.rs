//! Takes the limits of a Reconciler, within what the host allows at most.

use super::halt::{Gate, Halt};
use super::source::refused;
use crate::api;
use crate::guest::Limits;
use serde_json::Value;
use std::time::Duration;
use windlass_core::check::OutcomeLimits;
use windlass_core::reason::Reason;

/// Bytes of the settings of a Reconciler, as JSON.
///
/// Stops: settings that make the status, which repeats those of the module that runs and of the three before it, too large
/// for the API server, so that it could never be written again.
const MAX_SETTINGS: usize = 64 << 10;

/// Whether settings are small enough.
pub(super) fn settings(settings: &Value) -> Result<(), Halt> {
    let size = settings.to_string().len();
    if size <= MAX_SETTINGS {
        return Ok(());
    }
    let message = format!(
        "the settings hold {} KiB and may hold {}: put what is large into a ConfigMap that the module reads",
        size.div_ceil(1024),
        MAX_SETTINGS >> 10
    );
    Err(Halt::Refused(refused("Settings", message)))
}

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
                 started with `windlass run {flag} {asked}`; a module that ran goes on with the limits that it had"
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
    fn settings_are_bounded_whatever_they_hold() {
        let of = |bytes: usize| settings(&serde_json::json!({"a": "x".repeat(bytes - 8)}));
        assert_eq!(of(MAX_SETTINGS), Ok(()));
        let halt = of(MAX_SETTINGS + 1).unwrap_err();
        assert_eq!(
            halt.message(),
            "the settings hold 65 KiB and may hold 64: put what is large into a ConfigMap that the module reads"
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
