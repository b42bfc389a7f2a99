//! Parses and matches label selectors in kubectl's syntax.

use crate::object::Object;
use crate::syntax;
use std::fmt;

/// A label selector. Equal ones are equal whatever the order they were written in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector {
    /// All must hold; sorted, each once.
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operator {
    /// The label is there with one of these values; sorted, at least one.
    In(Vec<String>),
    /// The label is missing or has none of these values; sorted, at least one.
    NotIn(Vec<String>),
    Exists,
    Missing,
}

/// Why a text is not a selector; the piece is the part between commas that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// Nothing between two commas, or before or after one.
    #[error("the label selector '{0}' has a comma with nothing on one side: write it like app=web,tier!=test")]
    Empty(String),
    /// A parenthesis without its other half.
    #[error("'{0}' in the label selector has a parenthesis without its other half: write it like tier in (a, b)")]
    Parenthesis(String),
    /// A list without values.
    #[error("'{0}' in the label selector lists no values: write it like tier in (a, b), or use tier or !tier")]
    NoValues(String),
    /// None of the forms that exist.
    #[error(
        "'{0}' in the label selector cannot be read: write one of app=web, app!=web, app in (a, b), app notin (a, b), \
         app, !app"
    )]
    Form(String),
    /// A key that no label can have.
    #[error("the key '{key}' in the label selector {rule}")]
    Key {
        /// As it is written.
        key: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// A value that no label can have.
    #[error("the value '{value}' in the label selector {rule}")]
    Value {
        /// As it is written.
        value: String,
        /// The rule it breaks.
        rule: &'static str,
    },
}

impl Selector {
    /// Reads `a=b`, `a==b`, `a!=b`, `a in (x, y)`, `a notin (x, y)`, `a` and `!a`, joined by commas. An empty text
    /// selects everything.
    ///
    /// # Errors
    /// [`SelectorError`], which names the piece that is wrong and how to write it.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut requirements = Vec::new();
        for piece in pieces(text)? {
            requirements.push(Requirement::parse(piece)?);
        }
        requirements.sort();
        requirements.dedup();
        Ok(Self { requirements })
    }

    /// Whether the object's labels fulfil every requirement.
    pub fn matches(&self, object: &Object) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.holds(object.label(&requirement.key)))
    }

    /// The labels that must have exactly one value, for looking it up in an index.
    pub fn positive_terms(&self) -> impl Iterator<Item = (&str, &str)> {
        self.positive_sets().filter_map(|(key, values)| match values {
            [value] => Some((key, value.as_str())),
            _ => None,
        })
    }

    /// The labels that must have one of several values: what matches is under one of them in an index.
    pub fn positive_sets(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.requirements
            .iter()
            .filter_map(|requirement| match &requirement.operator {
                Operator::In(values) => Some((requirement.key.as_str(), values.as_slice())),
                _ => None,
            })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl fmt::Display for Selector {
    /// In kubectl's syntax, the same text for equal selectors.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl Requirement {
    fn parse(piece: &str) -> Result<Self, SelectorError> {
        let form = || SelectorError::Form(piece.into());
        if let Some((before, list)) = piece.split_once('(') {
            let list = list
                .strip_suffix(')')
                .filter(|list| !list.contains(['(', ')']))
                .ok_or_else(form)?;
            let mut words = before.split_whitespace();
            let (Some(key), Some(operator), None) = (words.next(), words.next(), words.next()) else {
                return Err(form());
            };
            if list.trim().is_empty() {
                return Err(SelectorError::NoValues(piece.into()));
            }
            return match operator {
                "in" => Self::checked(key, Operator::In(values(list))),
                "notin" => Self::checked(key, Operator::NotIn(values(list))),
                _ => Err(form()),
            };
        }
        if let Some((key, value)) = piece.split_once("!=") {
            return Self::checked(key, Operator::NotIn(values(value)));
        }
        if let Some((key, value)) = piece.split_once("==").or_else(|| piece.split_once('=')) {
            return Self::checked(key, Operator::In(values(value)));
        }
        let (key, operator) = match piece.strip_prefix('!') {
            Some(key) => (key.trim(), Operator::Missing),
            None => (piece, Operator::Exists),
        };
        if key.is_empty() || key.contains(|character: char| character.is_whitespace() || "!<>)".contains(character)) {
            return Err(form());
        }
        Self::checked(key, operator)
    }

    fn checked(key: &str, operator: Operator) -> Result<Self, SelectorError> {
        let key = key.trim();
        syntax::label_key(key).map_err(|rule| SelectorError::Key { key: key.into(), rule })?;
        if let Operator::In(values) | Operator::NotIn(values) = &operator {
            for value in values {
                syntax::label_value(value).map_err(|rule| SelectorError::Value {
                    value: value.clone(),
                    rule,
                })?;
            }
        }
        Ok(Self {
            key: key.into(),
            operator,
        })
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let is_listed = |values: &[String]| value.is_some_and(|value| values.iter().any(|listed| listed == value));
        match &self.operator {
            Operator::In(values) => is_listed(values),
            Operator::NotIn(values) => !is_listed(values),
            Operator::Exists => value.is_some(),
            Operator::Missing => value.is_none(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            Operator::In(values) if values.len() == 1 => write!(formatter, "{key}={}", values[0]),
            Operator::NotIn(values) if values.len() == 1 => write!(formatter, "{key}!={}", values[0]),
            Operator::In(values) => write!(formatter, "{key} in ({})", values.join(",")),
            Operator::NotIn(values) => write!(formatter, "{key} notin ({})", values.join(",")),
            Operator::Exists => write!(formatter, "{key}"),
            Operator::Missing => write!(formatter, "!{key}"),
        }
    }
}

/// Cuts at the commas that are not inside a list.
fn pieces(text: &str) -> Result<Vec<&str>, SelectorError> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut open = false;
    for (index, character) in text.char_indices().chain([(text.len(), ',')]) {
        match character {
            '(' | ')' if open == (character == '(') => return Err(SelectorError::Parenthesis(text.into())),
            '(' | ')' => open = !open,
            ',' if open && index == text.len() => return Err(SelectorError::Parenthesis(text.into())),
            ',' if !open => {
                let piece = text[start..index].trim();
                if piece.is_empty() {
                    return Err(SelectorError::Empty(text.into()));
                }
                pieces.push(piece);
                start = index + 1;
            }
            _ => {}
        }
    }
    Ok(pieces)
}

/// The values of a list, sorted and each once; an empty one is the empty label value.
fn values(list: &str) -> Vec<String> {
    let mut values: Vec<String> = list.split(',').map(|value| value.trim().into()).collect();
    values.sort();
    values.dedup();
    values
}

#[cfg(test)]
mod tests;
