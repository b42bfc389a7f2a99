//! Takes lists and watch events apart, object by object, so that one that cannot be read does not hide the others.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;
use std::fmt;
use windlass_core::object::Object;

/// What is told about an object that cannot be read: nothing of it but its name is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// `namespace/name`, as far as they can be read.
    pub(super) name: String,
    /// Why it cannot be read.
    pub(super) reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.name, self.reason)
    }
}

/// `metadata` of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListMeta {
    /// The state of the cluster that the list shows.
    pub(super) resource_version: String,
    /// Where the next page begins, empty on the last.
    pub(super) r#continue: String,
}

/// One line of a watch.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Applied(Object),
    Deleted(Object),
    /// Only moves the resourceVersion.
    Bookmark(String),
    /// A `Status`, as it came.
    Error(Vec<u8>),
    /// An event about something that cannot be read, and the resourceVersion that it moves to.
    Unreadable(Unreadable, String),
}

/// Gives each item of a list to `each`, in one pass, so that an item can be cut before the next one is read.
pub(super) fn list(
    body: &[u8],
    mut each: impl FnMut(Result<Object, Unreadable>),
) -> Result<ListMeta, serde_json::Error> {
    let mut cursor = Cursor { body, at: 0 };
    let mut meta = ListMeta::default();
    cursor.expect(b'{')?;
    while !cursor.skip(b'}') {
        let key: String = cursor.value()?;
        cursor.expect(b':')?;
        match key.as_str() {
            "metadata" => meta = cursor.value()?,
            "items" if cursor.skip(b'[') => {
                while !cursor.skip(b']') {
                    each(cursor.object()?);
                    cursor.skip(b',');
                }
            }
            _ => drop(cursor.value::<IgnoredAny>()?),
        }
        cursor.skip(b',');
    }
    Ok(meta)
}

/// Reads one line of a watch.
pub(super) fn line(line: &[u8]) -> Result<Line, serde_json::Error> {
    #[derive(Deserialize)]
    struct Event<T> {
        r#type: String,
        object: T,
    }
    let Event { r#type, object } = match serde_json::from_slice::<Event<Object>>(line) {
        Ok(event) => event,
        Err(error) => {
            let skeleton = serde_json::from_slice::<Event<Skeleton>>(line)?.object;
            let version = skeleton.metadata.resource_version.clone();
            return Ok(Line::Unreadable(skeleton.unreadable(&error), version));
        }
    };
    Ok(match r#type.as_str() {
        "ADDED" | "MODIFIED" => Line::Applied(object),
        "DELETED" => Line::Deleted(object),
        "BOOKMARK" => Line::Bookmark(object.resource_version().to_owned()),
        "ERROR" => Line::Error(serde_json::to_vec(&object)?),
        other => {
            let reason = format!("event of unknown type {other}");
            let version = object.resource_version().to_owned();
            Line::Unreadable(
                Unreadable {
                    name: object.name().to_owned(),
                    reason,
                },
                version,
            )
        }
    })
}

/// The little that is read of an object that cannot be read. What is skipped may be nested without limit.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Skeleton {
    metadata: SkeletonMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SkeletonMeta {
    namespace: String,
    name: String,
    resource_version: String,
}

impl Skeleton {
    fn unreadable(self, error: &serde_json::Error) -> Unreadable {
        let SkeletonMeta { namespace, name, .. } = self.metadata;
        let name = match (name.is_empty(), namespace.is_empty()) {
            (true, _) => "an object without a readable name".into(),
            (false, true) => name,
            (false, false) => format!("{namespace}/{name}"),
        };
        Unreadable {
            name,
            reason: error.to_string(),
        }
    }
}

/// A place in a JSON text. Values are read by serde_json, which also says where they end.
struct Cursor<'a> {
    body: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Passes a punctuation mark, if it is the next thing there.
    fn skip(&mut self, mark: u8) -> bool {
        while self.body.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let is_there = self.body.get(self.at) == Some(&mark);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, mark: u8) -> Result<(), serde_json::Error> {
        match self.skip(mark) {
            true => Ok(()),
            false => Err(serde::de::Error::custom(format!(
                "no `{}` at byte {}",
                char::from(mark),
                self.at
            ))),
        }
    }

    fn value<T: DeserializeOwned>(&mut self) -> Result<T, serde_json::Error> {
        let mut values = serde_json::Deserializer::from_slice(&self.body[self.at..]).into_iter();
        let value = values
            .next()
            .unwrap_or_else(|| Err(serde::de::Error::custom("the list ends too early")))?;
        self.at += values.byte_offset();
        Ok(value)
    }

    /// One object, or that it cannot be read; fails only where the text itself is broken.
    fn object(&mut self) -> Result<Result<Object, Unreadable>, serde_json::Error> {
        let start = self.at;
        match self.value::<Object>() {
            Ok(object) => Ok(Ok(object)),
            Err(error) if error.classify() == Category::Eof => Err(error),
            Err(error) => {
                self.value::<IgnoredAny>()?;
                let skeleton = serde_json::from_slice::<Skeleton>(&self.body[start..self.at]).unwrap_or_default();
                Ok(Err(skeleton.unreadable(&error)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
