//! Looks through everything that the cluster serves for finalizers and children of ours.

use crate::cli::finalizers::{Held, holders};
use crate::cli::person::Person;
use crate::cli::progress::Progress;
use serde::Serialize;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass_core::kind::KindInfo;
use windlass_core::names::LABEL_RECONCILER;
use windlass_core::object::Object;

/// What was found.
#[derive(Default)]
pub(super) struct Search {
    /// Objects with finalizers of ours, by kind.
    pub(super) held: Vec<Held>,
    /// How many children there are of which kinds.
    pub(super) children: Vec<(KindInfo, usize)>,
    /// What could not be looked through.
    pub(super) not_searched: Vec<NotSearched>,
}

/// A kind that could not be listed.
#[derive(Debug, Serialize)]
pub(super) struct NotSearched {
    kind: String,
    why: String,
}

impl fmt::Display for NotSearched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.why)
    }
}

/// Looks through every kind that can be listed, page by page, at metadata alone.
///
/// # Errors
/// If the cluster does not say what it serves.
pub(super) async fn search(person: &Person, progress: &mut Progress) -> anyhow::Result<Search> {
    let resources = person.resources().await?;
    let mut search = Search::default();
    progress.show(&format!("looking through all {} kinds for finalizers", resources.len()));
    for (number, resource) in resources.iter().enumerate() {
        let kind = &resource.kind;
        progress.count(format!(
            "looking through {} ({} of {})",
            kind.plural,
            number + 1,
            resources.len()
        ));
        let children = AtomicUsize::new(0);
        let wanted = |object: &Object| {
            if object.label(LABEL_RECONCILER).is_some() {
                children.fetch_add(1, Ordering::Relaxed);
            }
            holders(object).next().is_some()
        };
        match person.search(kind, None, &wanted).await {
            Ok(objects) if objects.is_empty() => {}
            Ok(objects) => search.held.push(Held {
                kind: kind.clone(),
                objects,
            }),
            // It may be gone since the cluster said what it serves, as the Reconcilers are.
            Err(_) if matches!(person.serves(kind).await, Ok(false)) => {}
            Err(error) => search.not_searched.push(NotSearched {
                kind: kind.to_string(),
                why: format!("{error:#}"),
            }),
        }
        let children = children.into_inner();
        if children > 0 {
            search.children.push((kind.clone(), children));
        }
    }
    Ok(search)
}
