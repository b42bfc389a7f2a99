//! Keeps `metadata.managedFields`: who owns which field, as the API server's structured merge does.

use super::compare::{merge, set_of, with_named_fields, without};
use super::fields::FieldSet;
use super::writer::Writer;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use windlass_core::object::Object;
use windlass_core::shape::Shape;
use windlass_core::write::WriteError;

/// How a manager came to own fields. Appliers sort first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

/// What tells entries apart. An applier has one entry for all versions, so its `api_version` is empty here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    operation: Operation,
    manager: String,
    subresource: String,
    api_version: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    api_version: String,
    time: String,
    fields: FieldSet,
}

/// All entries of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Managed(BTreeMap<Owner, Entry>);

impl Writer<'_> {
    fn owner(&self, operation: Operation) -> Owner {
        let api_version = if operation == Operation::Apply {
            ""
        } else {
            self.api_version
        };
        Owner {
            operation,
            manager: self.manager.into(),
            subresource: self.part.subresource().into(),
            api_version: api_version.into(),
        }
    }

    fn entry(&self, fields: FieldSet) -> Entry {
        Entry {
            api_version: self.api_version.into(),
            time: self.time.into(),
            fields,
        }
    }
}

impl Managed {
    /// Reads the entries of an object; none where one of them is not what the server would accept.
    pub(super) fn decode(object: &Object) -> Option<Self> {
        let mut managed = BTreeMap::new();
        for entry in object
            .at(&["metadata", "managedFields"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let operation = match text("operation").as_str() {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
                return None;
            }
            let owner = Owner {
                operation,
                manager: text("manager"),
                subresource: text("subresource"),
                api_version: if operation == Operation::Apply {
                    String::new()
                } else {
                    api_version.clone()
                },
            };
            let fields = FieldSet::from_json(entry.get("fieldsV1").unwrap_or(&Value::Null));
            managed.insert(
                owner,
                Entry {
                    api_version,
                    time: text("time"),
                    fields,
                },
            );
        }
        Some(Self(managed))
    }

    /// Whether nobody owns anything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the entries into an object, appliers first, the oldest first.
    pub(super) fn encode(&self, object: &mut Object) {
        let mut entries: Vec<(&Owner, &Entry)> = self.0.iter().collect();
        entries.sort_by_key(|(owner, entry)| {
            (
                owner.operation,
                entry.time.clone(),
                owner.manager.clone(),
                entry.api_version.clone(),
            )
        });
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|(owner, entry)| encoded(owner, entry))
            .collect();
        if entries.is_empty() {
            object.metadata_mut().remove("managedFields");
        } else {
            object
                .metadata_mut()
                .insert("managedFields".into(), Value::Array(entries));
        }
    }

    /// The same entries but for their times: what a write that changes nothing leaves as it is.
    pub(super) fn same_owners(&self, other: &Self) -> bool {
        let owners = |managed: &Self| -> Vec<(Owner, FieldSet)> {
            managed
                .0
                .iter()
                .map(|(owner, entry)| (owner.clone(), entry.fields.clone()))
                .collect()
        };
        owners(self) == owners(other)
    }

    /// Gives the writer, as an updater, what it changed, and takes that from everybody else.
    pub(super) fn update(&mut self, before: &Value, after: &Value, shape: Shape<'_>, writer: &Writer<'_>) {
        let change = writer.compare(before, after, shape);
        let owner = writer.owner(Operation::Update);
        let changed = change.added.union(&change.modified);
        self.take_from_others(&owner, &changed.union(&change.removed));
        let old = self.0.get(&owner).map(|entry| entry.fields.clone()).unwrap_or_default();
        let new = old.difference(&change.removed).union(&changed);
        if new.is_empty() {
            self.0.remove(&owner);
        } else if !changed.is_empty() || new != old {
            self.0.insert(owner, writer.entry(new));
        }
    }

    /// Applies a configuration: merges it, takes out what the writer applied before and nobody wants any more, and
    /// fails where others own what would change, unless forced.
    pub(super) fn apply(
        &mut self,
        live: &Value,
        config: &Value,
        shape: Shape<'_>,
        writer: &Writer<'_>,
        force: bool,
    ) -> Result<Value, WriteError> {
        let owner = writer.owner(Operation::Apply);
        let merged = merge(Some(live), config, shape);
        let fields = writer.owned(set_of(config, shape));
        let last = self.0.insert(owner.clone(), writer.entry(fields));
        let result = match &last {
            Some(last) => {
                let dropped = with_named_fields(&last.fields, shape).difference(&self.wanted(shape));
                without(&merged, &dropped, shape)
            }
            None => merged,
        };
        let change = writer.compare(live, &result, shape);
        let changed = change.added.union(&change.modified);
        let conflicts = self.conflicts(&owner, &changed);
        if !force && !conflicts.is_empty() {
            return Err(WriteError::Conflict(conflict_message(&conflicts)));
        }
        self.take_from_others(&owner, &changed.union(&change.removed));
        if let (Some(last), Some(entry)) = (last, self.0.get_mut(&owner))
            && last.fields == entry.fields
            && last.api_version == entry.api_version
            && changed.is_empty()
        {
            entry.time = last.time;
        }
        self.0.retain(|_, entry| !entry.fields.is_empty());
        Ok(result)
    }

    /// What anybody wants to stay.
    fn wanted(&self, shape: Shape<'_>) -> FieldSet {
        let all = self
            .0
            .values()
            .fold(FieldSet::default(), |all, entry| all.union(&entry.fields));
        with_named_fields(&all, shape)
    }

    fn conflicts(&self, owner: &Owner, changed: &FieldSet) -> Vec<(String, String)> {
        let others = self.0.iter().filter(|(other, _)| *other != owner);
        others
            .flat_map(|(other, entry)| {
                let paths = entry.fields.intersection(changed).paths();
                paths.into_iter().map(|path| (described(other, entry), path))
            })
            .collect()
    }

    fn take_from_others(&mut self, owner: &Owner, taken: &FieldSet) {
        for (_, entry) in self.0.iter_mut().filter(|(other, _)| *other != owner) {
            entry.fields = entry.fields.difference(taken);
        }
        self.0.retain(|other, entry| other == owner || !entry.fields.is_empty());
    }
}

fn encoded(owner: &Owner, entry: &Entry) -> Value {
    let mut value = json!({
        "manager": owner.manager,
        "operation": if owner.operation == Operation::Apply { "Apply" } else { "Update" },
        "apiVersion": entry.api_version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.fields.to_json(),
    });
    if !owner.subresource.is_empty() {
        value["subresource"] = owner.subresource.clone().into();
    }
    value
}

/// Names a manager as the server does in its messages.
fn described(owner: &Owner, entry: &Entry) -> String {
    let mut text = format!("{:?}", owner.manager);
    if !owner.subresource.is_empty() {
        text += &format!(" with subresource {:?}", owner.subresource);
    }
    if owner.operation == Operation::Update {
        text += &format!(" using {}", entry.api_version);
    }
    text
}

fn conflict_message(conflicts: &[(String, String)]) -> String {
    if let [(manager, path)] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {manager}: {path}");
    }
    let mut by_manager: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (manager, path) in conflicts {
        by_manager.entry(manager).or_default().push(format!("- {path}"));
    }
    let lines: Vec<String> = by_manager
        .iter()
        .map(|(manager, paths)| format!("conflicts with {manager}:\n{}", paths.join("\n")))
        .collect();
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}
