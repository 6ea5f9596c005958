//! Which rules stand inside of a capture: only there has a `stop` to be left out of something.
//!
//! A rule does if a rule with a capture names it, in however many steps. A grammar that is read later by its name may be
//! named from anywhere, so if anything captures, all its rules are taken to stand inside of it.

use hashbrown::HashSet;

use super::ast::{Body, Content, Definition, DefinitionId, DocumentId, Node};
use super::lower::Lowerer;

/// What was found out, as far as documents had been read.
#[derive(Debug, Default)]
pub(super) struct Enclosed {
    rules: HashSet<DefinitionId>,
    any_capture: bool,
    documents: usize,
}

impl<'s> Lowerer<'s> {
    /// Whether a rule of a document stands inside of a capture.
    pub(super) fn is_enclosed(&self, name: &str, document: DocumentId) -> bool {
        let mut known = self.enclosed.borrow_mut();
        if known.documents != self.texts.documents.len() {
            *known = self.find_enclosed();
        }
        let document = self.texts.document(document);
        let rule = document.names.get(name);
        (document.name.is_some() && known.any_capture) || rule.is_some_and(|rule| known.rules.contains(rule))
    }

    fn find_enclosed(&self) -> Enclosed {
        let mut found = Enclosed { documents: self.texts.documents.len(), ..Enclosed::default() };
        let captures = |definition: &&Definition<'s>| {
            let attributes = &definition.attributes;
            attributes.options.capture.is_some()
        };
        let mut open: Vec<DefinitionId> = Vec::new();
        for definition in self.texts.definitions.iter().filter(captures) {
            found.any_capture = true;
            self.named_by(definition, &mut open);
        }
        while let Some(id) = open.pop() {
            if found.rules.insert(id) {
                self.named_by(self.texts.definition(id), &mut open);
            }
        }
        found
    }

    /// Adds the rules that a definition names.
    fn named_by(&self, definition: &Definition<'s>, open: &mut Vec<DefinitionId>) {
        let Content::Bodies(bodies) = &definition.content else { return };
        let names = &self.texts.document(definition.document).names;
        for &Body { first, root } in bodies {
            for at in first.0..=root.0 {
                match self.texts.node(super::ast::NodeId(at)) {
                    Node::Name(name) | Node::Call { name, .. } | Node::Step { name, .. } => {
                        open.extend(names.get(name));
                    }
                    Node::Nested(nested) => open.extend(self.texts.document(*nested).names.get("start")),
                    _ => {}
                }
            }
        }
    }
}
