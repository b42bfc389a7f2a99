//! Reads from managedFields who holds a field.

use crate::cli::person::MANAGER;
use serde_json::Value;
use windlass_core::object::Object;

/// Somebody who holds a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The field manager.
    pub(super) manager: String,
    applies: bool,
}

impl Owner {
    /// Whether it is what these commands apply: the next apply takes it away if it does not name it.
    pub(super) fn is_our_apply(&self) -> bool {
        self.applies && self.is_us()
    }

    /// Whether it is one of these commands.
    pub(super) fn is_us(&self) -> bool {
        self.manager == MANAGER
    }
}

/// Who holds the field at a path of map keys.
pub(super) fn owners(object: &Object, path: &[&str]) -> Vec<Owner> {
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_array);
    let holds = |entry: &&Value| {
        let mut fields = Some(&entry["fieldsV1"]);
        for name in path {
            fields = fields.and_then(|fields| fields.get(format!("f:{name}")));
        }
        fields.is_some()
    };
    let owner = |entry: &Value| Owner {
        manager: entry["manager"].as_str().unwrap_or("somebody").into(),
        applies: entry["operation"] == "Apply",
    };
    entries.into_iter().flatten().filter(holds).map(owner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everybody_who_holds_a_field_is_named() {
        let object = Object::from_value(json!({"metadata": {"managedFields": [
            {"manager": "kubectl-create", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}, "f:b.c": {}}}},
            {"manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}}},
            {"manager": MANAGER, "operation": "Update", "fieldsV1": {"f:spec": {}}},
        ]}}))
        .unwrap();
        let names = |path: &[&str]| {
            let owners = owners(&object, path);
            let shown = |owner: &Owner| format!("{} {}", owner.manager, owner.is_our_apply());
            owners.iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(names(&["data", "a"]), ["kubectl-create false", "windlass-cli true"]);
        assert_eq!(names(&["data", "b.c"]), ["kubectl-create false"]);
        assert_eq!(names(&["spec"]), ["windlass-cli false"]);
        assert!(names(&["data", "d"]).is_empty() && names(&["spec", "a"]).is_empty());
    }
}
