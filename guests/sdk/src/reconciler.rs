//! Defines what a guest is: the trait its author implements.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::manifest::Manifest;
use crate::outcome::Outcome;
use crate::stop::Stop;

/// A guest: a pure function from what is there to what should be there. Export one with
/// [`export!`](crate::export).
pub trait Reconciler {
    /// The shape of the objects it decides about. An object that does not fit is reported as invalid,
    /// naming the field, and the guest is not called; let fields that may be missing be `Option`s.
    type Primary: DeserializeOwned;

    /// The shape of `spec.settings` of the `Reconciler`; [`NoSettings`] if there are none to give.
    /// `#[serde(deny_unknown_fields)]` catches spelling mistakes.
    type Settings: DeserializeOwned + Default;

    /// Says what the guest is about. The host asks once, before it opens a watch.
    ///
    /// # Errors
    /// A sentence for the operator when the settings are wrong.
    fn describe(settings: &Self::Settings) -> Result<Manifest, String>;

    /// Decides what there should be for `primary`.
    ///
    /// # Errors
    /// A [`Stop`]: to ask, to wait, or because the primary is wrong.
    fn reconcile(context: &Context<Self::Settings>, primary: &Self::Primary) -> Result<Outcome, Stop>;

    /// Called in place of [`reconcile`](Reconciler::reconcile) while the primary is being deleted, if the
    /// manifest says `finalizes`. Without an implementation there is nothing to do.
    ///
    /// # Errors
    /// As [`reconcile`](Reconciler::reconcile).
    fn finalize(context: &Context<Self::Settings>, primary: &Self::Primary) -> Result<Finalized, Stop> {
        let _ = (context, primary);
        Ok(Finalized::Done)
    }
}

/// How far a deletion is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finalized {
    /// Not finished: carry this out, and call again when something changes.
    Proceed(Outcome),
    /// Nothing left to do: the children are deleted and the primary may go.
    Done,
}

/// For a guest without settings: refuses any that are given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}
