//! Lists what hostile guests do, and the reason and the words that it must end with.

use serde_json::{Value, json};

/// A Reconciler whose guest misbehaves in decisions. It has the namespace of its name.
pub(super) struct Guest {
    pub(super) name: &'static str,
    pub(super) module: Module,
    /// Of its spec, besides what every Reconciler has.
    pub(super) spec: fn() -> Value,
    pub(super) behaviours: &'static [Behaviour],
}

/// Which bytes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Module {
    /// `guests/hostile`.
    Rust,
    /// The same for wasm32-wasip2, with WASI's imports.
    Wasi,
    /// `guests/hostile/handmade.wat`.
    Handmade,
    /// The same, with a start function that never ends.
    Endless,
}

/// What a guest does for the primary of this name, the reason that the primary's `Reconciled` must give in the end, and
/// words of its message; or, where it is `Reconciled`, of what its child says.
pub(super) type Behaviour = (&'static str, &'static str, &'static str);

const REJECTED: &str = "GuestOutputRejected";
const NO_MEMORY: &str = "GuestOutOfMemory";

/// Guests that fail in decisions.
pub(super) const GUESTS: [Guest; 4] = [
    Guest {
        name: "hostile",
        module: Module::Rust,
        spec: || json!({}),
        behaviours: &[
            // Time, stack and memory.
            ("spin", "GuestTimedOut", "1000 ms"),
            ("recurse", "GuestTrapped", "stack"),
            ("memory", NO_MEMORY, "64 MiB"),
            ("memory-spin", NO_MEMORY, "64 MiB"),
            ("memory-ignored", "Reconciled", "goes on"),
            ("trap", "GuestTrapped", "traps on purpose"),
            ("sometimes", "Reconciled", "good"),
            ("tenth", "Reconciled", "good"),
            // Much of everything.
            ("big-output", REJECTED, "4096 KiB"),
            ("many-values", REJECTED, "250000 values"),
            ("many-children", REJECTED, "1000 children; at most 256"),
            ("many-events", REJECTED, "1000 Events; at most 8"),
            ("log-flood", "Reconciled", "flooded"),
            ("ask-forever", REJECTED, "more than 4 rounds"),
            ("ask-much", REJECTED, "1000 queries; at most 64"),
            ("ask-long", REJECTED, "at most 262144"),
            ("ask-most", REJECTED, "limit 4294967295"),
            ("ask-zero", REJECTED, "limit 0"),
            ("requeue-most", "Reconciled", ""),
            ("requeue-zero", "Reconciled", ""),
            // Texts that are no objects.
            ("invalid-json", REJECTED, "cannot be read as JSON"),
            ("invalid-later", REJECTED, "cannot be read as JSON"),
            ("not-an-object", REJECTED, "has to be a JSON map"),
            ("deep-child", REJECTED, "recursion limit"),
            ("deep-status", REJECTED, "recursion limit"),
            ("no-kind", REJECTED, "an object without a kind"),
            // Children and questions that are not its own to want.
            ("forbidden-child", REJECTED, "does not declare as a child kind"),
            ("role", REJECTED, "does not declare as a child kind"),
            ("foreign-namespace", REJECTED, "in that namespace only"),
            ("own-module", REJECTED, "windlass-system"),
            ("ask-undeclared", REJECTED, "does not declare under reads"),
            ("ask-elsewhere", REJECTED, "outside the primary's namespace"),
            ("bad-name", REJECTED, "Not_A_Name"),
            ("long-name", REJECTED, "aaaa…"),
            ("no-name", REJECTED, "no metadata.name"),
            ("twice", REJECTED, "is the same object as"),
            ("empty-exactly", REJECTED, "none-wanted"),
            // What is the host's.
            ("host-label", REJECTED, "'windlass.dev/primary-uid'"),
            ("drop-in-label", REJECTED, "'windlass.dev/module'"),
            ("host-annotation", REJECTED, "'windlass.dev/applied'"),
            ("host-finalizer", REJECTED, "has the finalizer"),
            ("own-owner", REJECTED, "metadata.ownerReferences"),
            ("reconciled", REJECTED, "Reconciled is the host's own"),
            // No fault, and said as the guest says it.
            ("invalid", "Invalid", "wrong on purpose"),
            ("waiting", "Waiting", "waits for something on purpose"),
        ],
    },
    Guest {
        name: "much",
        module: Module::Rust,
        spec: || json!({"settings": {"describe": "much"}}),
        behaviours: &[
            ("cluster-role", REJECTED, "is cluster-scoped"),
            ("crd", REJECTED, "is cluster-scoped"),
            ("reconciler", REJECTED, "group windlass.dev"),
        ],
    },
    Guest {
        name: "handmade",
        module: Module::Handmade,
        spec: || json!({"limits": {"memoryMebibytes": 128}}),
        behaviours: &[
            ("good", "Reconciled", ""),
            ("recurse", "Reconciled", ""),
            ("tables", NO_MEMORY, "table entries"),
            ("aliased", REJECTED, "4096 KiB"),
            ("children", REJECTED, "4096 KiB"),
            ("queries", REJECTED, "4096 KiB"),
        ],
    },
    Guest {
        name: "wasi",
        module: Module::Wasi,
        spec: || json!({}),
        behaviours: &[
            ("clocks", "Reconciled", "moved [false, false]"),
            ("environment", "Reconciled", "0 arguments, 0 variables"),
            (
                "files",
                "Reconciled",
                "read [false, false, false], wrote false, listed [false, false]",
            ),
            ("input", "Reconciled", "0 bytes"),
            ("sockets", "Reconciled", "connected false, bound false, found false"),
            ("sleep", "Reconciled", "slept"),
            ("spin", "GuestTimedOut", "1000 ms"),
            ("memory", NO_MEMORY, "64 MiB"),
        ],
    },
];

/// A module that never gets to a decision: its settings, the reason of its refusal, and words of the message.
pub(super) type Refused = (&'static str, Module, fn() -> Value, &'static str, &'static str);

/// Guests that fail when they are asked about themselves.
pub(super) const REFUSED: [Refused; 5] = [
    (
        "describe-trap",
        Module::Rust,
        || json!({"describe": "trap"}),
        "Trapped",
        "traps on purpose",
    ),
    (
        "describe-memory",
        Module::Rust,
        || json!({"describe": "memory"}),
        "OutOfMemory",
        "64 MiB",
    ),
    (
        "describe-spin",
        Module::Rust,
        || json!({"describe": "spin"}),
        "StartBudgetExceeded",
        "10000 ms",
    ),
    (
        "describe-error",
        Module::Rust,
        || json!({"describe": "error"}),
        "SettingsRefused",
        "refused on purpose",
    ),
    (
        "start-spin",
        Module::Endless,
        || json!({}),
        "StartBudgetExceeded",
        "10000 ms",
    ),
];

/// The primary of a behaviour.
pub(super) fn primary(guest: &Guest, behaviour: &str) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": guest.name, "name": behaviour}, "spec": {"behaviour": behaviour},
    })
}
