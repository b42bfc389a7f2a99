//! Prints an explanation for people.

use super::answer::{Asked, ChildState, Decision, Explained, NextTime, OfChild, OfReconciler, Said};
use crate::cli::taken_up::short;
use std::fmt::Write;

/// The explanation as text.
pub(super) fn text(explained: &Explained) -> String {
    let mut text = Text::default();
    let generation = explained.generation;
    let generation = generation.map_or_else(String::new, |number| format!(", generation {number}"));
    let going = if explained.is_being_deleted {
        ", being deleted"
    } else {
        ""
    };
    text.line(0, &format!("{}{generation}{going}", explained.object));
    text.title("What its status says");
    if explained.conditions.is_empty() {
        text.line(
            1,
            "nothing: nobody has decided about it yet, or its kind has no conditions",
        );
    }
    text.conditions(&explained.conditions);
    let observed = explained.conditions.iter().find(|said| said.type_ == "Reconciled");
    if let (Some(observed), Some(now)) = (observed.and_then(|said| said.observed_generation), explained.generation)
        && observed < now
    {
        text.line(
            1,
            &format!("that is about generation {observed}: what was changed since has not been decided about yet"),
        );
    }
    let (caring, others): (Vec<_>, Vec<_>) = explained.reconcilers.iter().partition(|one| one.takes_care);
    if caring.is_empty() && explained.cannot_tell.is_empty() {
        text.title("Nobody takes care of it");
        if others.is_empty() {
            text.line(
                1,
                "no Reconciler is about objects of this kind; `kubectl get reconcilers -A` lists those that are there",
            );
        }
    }
    for reconciler in caring {
        text.reconciler(reconciler);
    }
    for other in &others {
        text.title(&format!("Reconciler {} does not take care of it", other.reconciler));
        text.line(1, other.why_not.as_deref().unwrap_or_default());
    }
    text.cannot_tell(&explained.cannot_tell);
    text.0
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, depth: usize, words: &str) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{}{}", "  ".repeat(depth), words.trim_end());
    }

    fn title(&mut self, words: &str) {
        self.0.push('\n');
        self.line(0, words);
    }

    fn row(&mut self, name: &str, words: &str) {
        self.line(1, &format!("{name:<9} {words}"));
    }

    fn conditions(&mut self, conditions: &[Said]) {
        let width = conditions.iter().map(|said| said.type_.len()).max().unwrap_or_default();
        for said in conditions {
            let mut head = format!("{:<width$}  {:<7}  {}", said.type_, said.status, said.reason);
            if !said.since.is_empty() {
                let _ = write!(head, ", since {}", said.since);
            }
            if let Some(generation) = said.observed_generation {
                let _ = write!(head, ", for generation {generation}");
            }
            self.line(1, &head);
            self.line(2, &said.message);
        }
    }

    fn reconciler(&mut self, reconciler: &OfReconciler) {
        self.title(&format!("Reconciler {} takes care of it", reconciler.reconciler));
        if let Some(module) = &reconciler.module {
            let digest = short(&module.digest);
            self.row("Module", &format!("{} {} ({digest})", module.name, module.version));
        }
        self.row("Ready", &reconciler.ready);
        if let Some(decision) = &reconciler.decision {
            self.title("The same decision again, from what you may read; nothing was written");
            self.decision(decision);
        }
        for assumed in &reconciler.assumed {
            self.row("Note", assumed);
        }
        self.cannot_tell(&reconciler.cannot_tell);
    }

    fn decision(&mut self, decision: &Decision) {
        match decision.asked.as_slice() {
            [] => self.row("Asked", "nothing"),
            asked => asked.iter().for_each(|asked| self.row("Asked", &question(asked))),
        }
        if let Some(words) = &decision.children_in_all {
            self.row("Children", words);
        }
        let width = decision
            .children
            .iter()
            .map(|child| child.object.to_string().len())
            .max();
        for child in &decision.children {
            self.row(
                "Child",
                &format!(
                    "{:<1$}  {2}",
                    child.object.to_string(),
                    width.unwrap_or(0),
                    state(child)
                ),
            );
            for field in &child.fields {
                self.line(7, field);
            }
            if let Some(why) = &child.why {
                self.line(7, why);
            }
        }
        for write in &decision.writes {
            self.row("Object", write);
        }
        if let Some(status) = &decision.status {
            self.row("Status", &status.to_string());
        }
        for said in &decision.conditions {
            let words = format!("{}={} {}: {}", said.type_, said.status, said.reason, said.message);
            self.row("Says", &words);
        }
        self.row("Comes to", &format!("{}: {}", decision.reason, decision.message));
        self.row("Next", &next(&decision.next));
    }

    fn cannot_tell(&mut self, cannot: &[String]) {
        if cannot.is_empty() {
            return;
        }
        self.title("What cannot be told with your rights");
        for words in cannot {
            self.line(1, words);
        }
    }
}

fn question(asked: &Asked) -> String {
    let count = asked.count.unwrap_or_default();
    let answer = match asked.answer {
        "found" => format!("{count} found"),
        "truncated" => format!("the first {count}, and there are more"),
        "forbidden" => format!("forbidden: {}", asked.missing.as_deref().unwrap_or_default()),
        "notServed" => "the cluster does not serve it".into(),
        _ => "not answered".into(),
    };
    format!("{} {}: {answer}", asked.about, asked.selection)
}

fn state(child: &OfChild) -> &'static str {
    match child.state {
        ChildState::AsWanted => "as wanted",
        ChildState::Created => "would be created",
        ChildState::Changed if child.fields.is_empty() => {
            "would be written: no value of it differs, but somebody else's name is on a field, or its marks are old"
        }
        ChildState::Changed => "would be changed",
        ChildState::Recreated => "would be deleted and made again",
        ChildState::Held => "held: left as it is this time",
        ChildState::Blocked => "blocked",
        ChildState::Pruned => "would be deleted: it is wanted no more",
        ChildState::Untouched => "left as it is",
        ChildState::Unknown => "cannot be told",
    }
}

fn next(next: &NextTime) -> String {
    let mut words = format!("on a change of {}", next.on_change_of.join(", "));
    if let Some(seconds) = next.after_seconds {
        let _ = write!(words, "; in any case after {seconds} s");
    }
    if next.is_retried {
        words += "; and tried again by itself";
    }
    words
}
