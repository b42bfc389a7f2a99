//! Remembers of one Reconciler what its steps came to, so that a step whose inputs are the same is not repeated.

use crate::api::Refused;
use crate::guest::{Limits, Module};
use serde_json::{Map, Value};
use std::sync::Arc;
use windlass_core::manifest::Manifest;
use windlass_core::rights::Access;
use windlass_core::write::Identity;

/// What settling remembers of one Reconciler between its runs, so that a step whose inputs are the same is not repeated.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) fetched: Option<Fetched>,
    pub(crate) module: Option<Arc<Module>>,
    pub(crate) described: Option<Described>,
    pub(crate) granted: Option<(Identity, Vec<Access>)>,
    /// What was refused, with the settings and limits it was refused with: equal ones are refused again without a try.
    pub(crate) refused: Option<(String, Value, Limits, Refused)>,
}

/// What a module said about itself under certain settings.
pub(crate) struct Described {
    pub(crate) digest: String,
    pub(crate) settings: Value,
    pub(crate) manifest: Manifest,
}

/// What was fetched last, without its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fetched {
    /// Uid and resourceVersion of the source, the key that was asked for, and the settings of the spec.
    pub(crate) from: (String, String, Option<String>, Option<Map<String, Value>>),
    /// sha256 of the bytes.
    pub(crate) digest: String,
    /// What the module is told: the spec's settings, or those beside the module.
    pub(crate) settings: Value,
}
