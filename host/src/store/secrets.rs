//! Hides the values of Secrets before they are stored: equal values stay equal, and nothing else can be told of them.

use super::Store;
use crate::cluster::{WatchEvent, WatchKey};
use windlass_core::keyed::Keyed;
use windlass_core::object::Object;
use windlass_core::secrets::{HIDDEN, is_secret, replace_values, shows_values};

/// What values are hidden with.
#[derive(Clone, Debug)]
pub struct ValueKey(Keyed);

impl ValueKey {
    /// Derives it from the host's key.
    pub fn derive(host_key: &[u8]) -> Self {
        Self(Keyed::derive(host_key, b"windlass secret values\0"))
    }

    /// What is shown in place of a value.
    pub fn hide(&self, value: &str) -> String {
        format!("{HIDDEN}{}", self.0.tag(value.as_bytes()))
    }
}

impl Store {
    /// Says what values of Secrets are hidden with; to be called before a watch that shows values is opened. The key does
    /// not change while a host runs.
    pub fn hide_values_with(&self, key: ValueKey) {
        self.values.get_or_init(|| key);
    }

    /// What is stored in place of a value, if the key is known.
    pub fn hidden(&self, value: &str) -> Option<String> {
        Some(self.values.get()?.hide(value))
    }

    /// The event without values. Where they cannot be hidden, the watch has failed instead: dropping them would make a
    /// Secret with a value equal to one without.
    pub(super) fn without_values(&self, key: &WatchKey, event: WatchEvent) -> WatchEvent {
        if !is_secret(&key.kind) {
            return event;
        }
        let Some(values) = self.values.get() else {
            if shows_values(&key.projection) {
                return WatchEvent::Failed("the key that hides the values of Secrets is not known yet".into());
            }
            return hidden(event, |_| HIDDEN.into());
        };
        hidden(event, |value| values.hide(value))
    }
}

fn hidden(event: WatchEvent, hide: impl Fn(&str) -> String) -> WatchEvent {
    let each = |mut object: Object| {
        replace_values(&mut object, &hide);
        object
    };
    match event {
        WatchEvent::Listed(objects) => WatchEvent::Listed(objects.into_iter().map(each).collect()),
        WatchEvent::Applied(object) => WatchEvent::Applied(each(object)),
        WatchEvent::Deleted(object) => WatchEvent::Deleted(each(object)),
        WatchEvent::Failed(words) => WatchEvent::Failed(words),
    }
}
