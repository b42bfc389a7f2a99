//! Finds the primaries that a change in the cluster concerns, by look-up and not by search.

use crate::kind::KindRef;
use crate::object::Object;
use serde::{Deserialize, Serialize};

/// One object of a watched kind came, changed or went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The kind as it is watched.
    pub of: KindRef,
    /// As the store had it, none if it is new.
    pub old: Option<Object>,
    /// As it is now, none if it is gone.
    pub new: Option<Object>,
}
