//! Reads `fieldsV1`: a tree of `f:name`, `k:{keys}`, `v:value` and `i:index`, where `.` is the item itself.
//!
//! A node without children is a leaf: a scalar, or a map or list that is one value to the server (atomic). It may also be a
//! map or list of which we own nothing but its existence, which only entries of a POST do ([`Node::settles`]).

use crate::object::Object;
use crate::shape::Shape;
use serde_json::{Map, Value};

/// A place in the field tree of one entry.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    fields: &'a Map<String, Value>,
    /// Whether the entry is an applier's.
    applied: bool,
}

impl<'a> Node<'a> {
    /// The root of one managedFields entry.
    pub(super) fn of(entry: &'a Map<String, Value>) -> Option<Self> {
        let applied = entry.get("operation").and_then(Value::as_str) == Some("Apply");
        Some(Self {
            fields: entry.get("fieldsV1")?.as_object()?,
            applied,
        })
    }

    fn child(self, name: &str) -> Option<Self> {
        Some(Self {
            fields: self.fields.get(name)?.as_object()?,
            applied: self.applied,
        })
    }

    /// Whether this node alone shows that the whole value is ours.
    ///
    /// In an applier's entry a leaf always does. An entry of a POST owns each map and list besides what is in it, so there
    /// a leaf also remains of a map or list that others have taken from us piece by piece. Where it is not known how the
    /// kind is merged, it counts as lost: that costs one apply, after which the entry is an applier's.
    fn settles(self, shape: Shape<'_>, value: &Value) -> bool {
        self.fields.is_empty() && (self.applied || shape.is_one_value(value))
    }
}

/// The path of the first leaf of the intent that is below none of the nodes.
pub(super) fn first_lost(intent: &Object, nodes: &[Node<'_>]) -> Option<String> {
    let kind = intent.kind();
    lost_in_map(&intent.0, nodes, Shape::of_kind(&kind))
}

/// The rest of the path, from the value on. Made only where something is lost, which is rare.
fn lost(value: &Value, nodes: &[Node<'_>], shape: Shape<'_>) -> Option<String> {
    if nodes.iter().any(|node| node.settles(shape, value)) {
        return None;
    }
    match value {
        Value::Object(map) if !map.is_empty() => lost_in_map(map, nodes, shape),
        Value::Array(list) => lost_in_list(list, nodes, shape),
        _ => nodes.is_empty().then(String::new),
    }
}

fn lost_in_map(map: &Map<String, Value>, nodes: &[Node<'_>], shape: Shape<'_>) -> Option<String> {
    map.iter()
        .filter(|(key, _)| !shape.is_identity(key))
        .find_map(|(key, value)| {
            let below: Vec<Node<'_>> = nodes
                .iter()
                .filter_map(|node| node.child(&format!("f:{key}")))
                .collect();
            lost(value, &below, shape.field(key)).map(|rest| format!(".{key}{rest}"))
        })
}

fn lost_in_list(list: &[Value], nodes: &[Node<'_>], shape: Shape<'_>) -> Option<String> {
    let items: Vec<Items<'_>> = nodes.iter().map(|node| Items::of(node.fields)).collect();
    list.iter().enumerate().find_map(|(index, element)| {
        let below: Vec<Node<'_>> = std::iter::zip(nodes, &items)
            .filter_map(|(node, items)| {
                Some(Node {
                    fields: items.find(list, index)?.fields,
                    ..*node
                })
            })
            .collect();
        // Of an element that is no single value its key fields stay ours, whatever others take: this one is a leaf.
        if below.iter().any(|node| node.fields.is_empty()) {
            return None;
        }
        lost(element, &below, shape.item()).map(|rest| format!("[{index}]{rest}"))
    })
}

/// The paths of the leaves of the intent that the node covers. An element's key fields are left out.
pub(super) fn covered(intent: &Object, node: Node<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let kind = intent.kind();
    let place = Place {
        shape: Shape::of_kind(&kind),
        shown: String::new(),
    };
    cover_map(&intent.0, node, &place, &mut found);
    found
}

/// Where in an intent something is.
struct Place<'a> {
    shape: Shape<'a>,
    shown: String,
}

impl<'a> Place<'a> {
    fn field(&self, key: &'a str) -> Self {
        Self {
            shape: self.shape.field(key),
            shown: format!("{}.{key}", self.shown),
        }
    }
}

fn cover(value: &Value, node: Node<'_>, place: &Place<'_>, found: &mut Vec<String>) {
    match value {
        value if node.settles(place.shape, value) => found.push(place.shown.clone()),
        Value::Object(map) => cover_map(map, node, place, found),
        Value::Array(list) => cover_list(list, node, place, found),
        _ => found.push(place.shown.clone()),
    }
}

fn cover_map(map: &Map<String, Value>, node: Node<'_>, place: &Place<'_>, found: &mut Vec<String>) {
    for (key, value) in map.iter().filter(|(key, _)| !place.shape.is_identity(key)) {
        if let Some(node) = node.child(&format!("f:{key}")) {
            cover(value, node, &place.field(key), found);
        }
    }
}

fn cover_list(list: &[Value], node: Node<'_>, place: &Place<'_>, found: &mut Vec<String>) {
    let items = Items::of(node.fields);
    for (index, element) in list.iter().enumerate() {
        let Some(item) = items.find(list, index) else {
            continue;
        };
        let here = Place {
            shape: place.shape.item(),
            shown: format!("{}[{index}]", place.shown),
        };
        let below = Node {
            fields: item.fields,
            ..node
        };
        match (&item.key, element) {
            (ItemKey::Fields(keys), Value::Object(map)) if !item.fields.is_empty() => {
                for (key, value) in map.iter().filter(|(key, _)| !keys.contains_key(*key)) {
                    if let Some(below) = below.child(&format!("f:{key}")) {
                        cover(value, below, &here.field(key), found);
                    }
                }
            }
            _ => found.push(here.shown),
        }
    }
}

/// Whether the fields are exactly those of the wanted object, and the live one has their values.
pub(super) fn agrees(wanted: &Object, live: &Object, fields: &Map<String, Value>) -> bool {
    let mut wanted = wanted.clone();
    wanted.0.remove("apiVersion");
    wanted.0.remove("kind");
    let metadata = wanted.metadata_mut();
    for identity in ["name", "namespace", "uid"] {
        metadata.remove(identity);
    }
    map_agrees(&wanted.0, Some(&live.0), Some(fields))
}

fn value_agrees(wanted: &Value, live: Option<&Value>, fields: Option<&Map<String, Value>>) -> bool {
    match (wanted, fields) {
        (Value::Object(map), fields) if fields.is_none_or(|fields| !fields.is_empty()) => {
            map_agrees(map, live.and_then(Value::as_object), fields)
        }
        (Value::Object(map), _) if map.is_empty() => live.is_none_or(Value::is_object),
        (Value::Array(list), None) if list.is_empty() => live.and_then(Value::as_array).is_none_or(Vec::is_empty),
        (Value::Array(list), Some(fields)) if !fields.is_empty() => {
            list_agrees(list, live.and_then(Value::as_array), fields)
        }
        (wanted, fields) => fields.is_some() && live == Some(wanted),
    }
}

fn map_agrees(
    wanted: &Map<String, Value>,
    live: Option<&Map<String, Value>>,
    fields: Option<&Map<String, Value>>,
) -> bool {
    let child = |key: &str| fields?.get(&format!("f:{key}"))?.as_object();
    wanted
        .iter()
        .all(|(key, value)| value_agrees(value, live.and_then(|live| live.get(key)), child(key)))
        && fields
            .into_iter()
            .flat_map(Map::keys)
            .all(|key| key == "." || key.strip_prefix("f:").is_some_and(|name| wanted.contains_key(name)))
}

fn list_agrees(wanted: &[Value], live: Option<&Vec<Value>>, fields: &Map<String, Value>) -> bool {
    let items = Items::of(fields);
    items.0.len() == wanted.len()
        && wanted.iter().enumerate().all(|(index, element)| {
            let Some(item) = items.find(wanted, index) else {
                return false;
            };
            let mut live = live.into_iter().flatten().enumerate();
            let twin = live.find(|(at, live)| item.key.names(*at, live)).map(|(_, live)| live);
            value_agrees(element, twin, Some(item.fields))
        })
}

/// The elements of a list that an entry owns.
struct Items<'a>(Vec<Item<'a>>);

struct Item<'a> {
    key: ItemKey,
    fields: &'a Map<String, Value>,
}

/// How an entry names an element of a list.
enum ItemKey {
    Fields(Map<String, Value>),
    Value(Value),
    Index(usize),
}

impl ItemKey {
    fn parse(key: &str) -> Option<Self> {
        let (kind, rest) = key.split_once(':')?;
        match kind {
            "k" => serde_json::from_str(rest).ok().map(Self::Fields),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    /// Whether this is the key of the element, all of whose key fields are there.
    fn names(&self, index: usize, element: &Value) -> bool {
        match self {
            Self::Fields(keys) => keys.iter().all(|(name, value)| element.get(name) == Some(value)),
            Self::Value(value) => value == element,
            Self::Index(at) => *at == index,
        }
    }

    /// Whether this may be the key of an element in which the server fills in a missing key field, such as `protocol`.
    fn may_name(&self, element: &Value) -> bool {
        let Self::Fields(keys) = self else { return false };
        keys.iter()
            .all(|(name, value)| element.get(name).is_none_or(|given| given == value))
            && keys.keys().any(|name| element.get(name).is_some())
    }
}

impl<'a> Items<'a> {
    fn of(fields: &'a Map<String, Value>) -> Self {
        let items = fields.iter().filter_map(|(key, fields)| {
            Some(Item {
                key: ItemKey::parse(key)?,
                fields: fields.as_object()?,
            })
        });
        Self(items.collect())
    }

    /// The item of one element of the list. A defaulted key must not be taken for that of an element that spells it out.
    fn find(&self, list: &[Value], index: usize) -> Option<&Item<'a>> {
        let element = &list[index];
        self.0.iter().find(|item| item.key.names(index, element)).or_else(|| {
            let spelt_out = |item: &Item<'_>| list.iter().any(|other| item.key.names(usize::MAX, other));
            self.0
                .iter()
                .find(|item| item.key.may_name(element) && !spelt_out(item))
        })
    }
}

/// Adds the second tree to the first.
pub(super) fn unite(fields: &mut Value, more: &Value) {
    if let (Value::Object(fields), Value::Object(more)) = (fields, more) {
        for (key, more) in more {
            unite(
                fields.entry(key.as_str()).or_insert_with(|| Value::Object(Map::new())),
                more,
            );
        }
    }
}
