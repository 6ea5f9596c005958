//! From what was read to expressions and rules.
//!
//! Each definition becomes a rule when it is first named, a template or a parametric rule one for each list of
//! arguments. What was named and has no body yet stands in a list, so neither recursion in the grammar nor a chain of
//! rules recurses here.
//!
//! A body is read in one of two ways. In a *rule*, each terminal is followed by what the document ignores. In a
//! *terminal*, and in whatever is read as one (operands of `&` and `~`, rules that are lazy), nothing is ignored and
//! only regular things may stand.

use std::cell::RefCell;

use hashbrown::HashMap;

use super::ast::{
    Attributes, Body, Content, Definition, DefinitionId, DocumentId, Node, NodeId, Texts, is_terminal,
};
use super::enclosed::Enclosed;
use super::{Surroundings, lazy, parser};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frontends::ebnf::nearest;
use crate::frontends::json_schema::Embedded;
use crate::ir::{Builder, ExprId, Grammar, Names, RuleId};
use crate::limits::{Budget, Limits};
use crate::passes::graph::{Graph, strong_components};

/// A definition with arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Instance {
    definition: DefinitionId,
    arguments: Vec<ExprId>,
    parameter: Option<u64>,
}

/// What surrounds a body.
pub(super) struct Scope<'s> {
    pub(super) document: DocumentId,
    /// The arguments of the template, by the names of its parameters.
    arguments: Vec<(&'s str, ExprId)>,
    parameter: Option<u64>,
}

impl Scope<'_> {
    /// That of a document itself.
    pub(super) fn of(document: DocumentId) -> Self {
        Scope { document, arguments: Vec::new(), parameter: None }
    }
}

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Rule,
    Terminal,
}

/// The grammar of `source`.
pub(super) fn grammar<'s>(
    source: &'s str,
    surroundings: &Surroundings<'s>,
    limits: &Limits,
    budget: &'s Budget,
) -> Result<Grammar> {
    let mut lowerer = Lowerer::new(surroundings, limits, budget);
    let root = lowerer.lower_all(source)?;
    lowerer.builder.finish(root)
}

/// The schemas of `source`, by the lines on which they begin.
pub(super) fn schemas<'s>(
    source: &'s str,
    surroundings: &Surroundings<'s>,
    limits: &Limits,
    budget: &'s Budget,
) -> Result<Vec<Embedded>> {
    let mut lowerer = Lowerer::new(surroundings, limits, budget);
    lowerer.schemas = Some(Vec::new());
    lowerer.lower_all(source)?;
    Ok(lowerer.schemas.unwrap_or_default())
}

/// Lowers documents into one grammar.
pub(super) struct Lowerer<'s> {
    pub(super) texts: Texts<'s>,
    pub(super) surroundings: Surroundings<'s>,
    pub(super) budget: &'s Budget,
    pub(super) builder: Builder,
    pub(super) names: Names,
    instances: HashMap<Instance, RuleId>,
    /// The rules that have no body yet.
    open: Vec<(Instance, RuleId)>,
    roots: HashMap<DocumentId, RuleId>,
    ignored: HashMap<DocumentId, Option<ExprId>>,
    /// The roots of the grammars that were named.
    pub(super) named: HashMap<&'s str, RuleId>,
    /// Rules that are defined when all terminals are.
    pub(super) endings: Vec<lazy::Unsettled<'s>>,
    /// The rules that stand inside of a capture.
    pub(super) enclosed: RefCell<Enclosed>,
    /// The schemas that were met, if somebody asks for them.
    pub(super) schemas: Option<Vec<Embedded>>,
}

impl<'s> Lowerer<'s> {
    fn new(surroundings: &Surroundings<'s>, limits: &Limits, budget: &'s Budget) -> Self {
        Lowerer {
            texts: Texts::default(),
            surroundings: *surroundings,
            budget,
            builder: Builder::new(limits),
            names: Names::default(),
            instances: HashMap::new(),
            open: Vec::new(),
            roots: HashMap::new(),
            ignored: HashMap::new(),
            named: HashMap::new(),
            endings: Vec::new(),
            enclosed: RefCell::default(),
            schemas: None,
        }
    }

    /// Lowers a text, and everything that it names; returns the rule that it starts from.
    fn lower_all(&mut self, source: &'s str) -> Result<RuleId> {
        let document = parser::parse(source, None, &mut self.texts, self.budget)?;
        let root = self.root_of(document)?;
        while let Some((instance, rule)) = self.open.pop() {
            self.budget.tick()?;
            self.define(&instance, rule)?;
            self.builder.check()?;
        }
        self.settle_endings()?;
        Ok(root)
    }

    /// An error at `at` in the text of a document.
    pub(super) fn error(
        &self,
        kind: ErrorKind,
        document: DocumentId,
        at: usize,
        message: impl Into<String>,
    ) -> Error {
        let document = self.texts.document(document);
        let message = message.into();
        let message = match document.name {
            Some(name) => format!("in the grammar `@{name}`: {message}"),
            None => message,
        };
        Error::new(kind, message).at(Place::in_text(document.source, at))
    }

    /// The rule that a document starts from.
    pub(super) fn root_of(&mut self, document: DocumentId) -> Result<RuleId> {
        if let Some(&rule) = self.roots.get(&document) {
            return Ok(rule);
        }
        let Some(&start) = self.texts.document(document).names.get("start") else {
            let at = self.texts.document(document).at;
            return Err(self
                .error(ErrorKind::Invalid, document, at, "there is no rule `start` to start from")
                .with_help("call the rule to start from `start`"));
        };
        self.check_names(document)?;
        self.check_terminals(document)?;
        let definition = self.texts.definition(start);
        if !definition.parameters.is_empty() || definition.is_parametric {
            let at = definition.at;
            return Err(self.error(ErrorKind::Invalid, document, at, "`start` cannot have parameters"));
        }
        let is_lexeme = self.is_lexeme(definition);
        let rule = self.instance(Instance { definition: start, arguments: Vec::new(), parameter: None })?;
        let rule = self.with_ends(document, rule, is_lexeme)?;
        self.roots.insert(document, rule);
        Ok(rule)
    }

    /// The rule with what may be ignored before its first terminal, and after it where it is a terminal itself.
    fn with_ends(&mut self, document: DocumentId, rule: RuleId, is_lexeme: bool) -> Result<RuleId> {
        let before = self.texts.document(document).allow_initial_skip;
        let ignored = if before || is_lexeme { self.ignored(document)? } else { None };
        let Some(ignored) = ignored else { return Ok(rule) };
        let body = self.builder.rule(rule);
        let items = [before.then_some(ignored), Some(body), is_lexeme.then_some(ignored)];
        let body = self.builder.seq(items.into_iter().flatten());
        let whole = self.builder.declare(self.names.fresh("start"));
        self.builder.define(whole, body, crate::ir::RuleOptions::default());
        Ok(whole)
    }

    /// The definitions of a document, in the order of the text.
    fn definitions_of(&self, document: DocumentId) -> Vec<DefinitionId> {
        let mut found: Vec<DefinitionId> = self.texts.document(document).names.values().copied().collect();
        found.sort_unstable();
        found
    }

    /// The nodes of all bodies of a definition, with that of its marker.
    fn nodes_of(&self, definition: &Definition<'s>) -> Result<Vec<NodeId>> {
        let Content::Bodies(bodies) = &definition.content else { return Ok(Vec::new()) };
        let markers = definition.attributes.marker.iter().map(|marker| &marker.body);
        let mut found = Vec::new();
        for body in bodies.iter().chain(markers) {
            found.append(&mut self.descendants(*body)?);
        }
        Ok(found)
    }

    /// Fails on names that mean nothing, also in rules that nobody uses.
    fn check_names(&self, document: DocumentId) -> Result<()> {
        for definition in self.definitions_of(document) {
            let definition = self.texts.definition(definition);
            for id in self.nodes_of(definition)? {
                let (Node::Name(name) | Node::Call { name, .. } | Node::Step { name, .. }) =
                    self.texts.node(id)
                else {
                    continue;
                };
                if !definition.parameters.contains(name) {
                    self.find(name, document, self.texts.place(id))?;
                }
            }
        }
        Ok(())
    }

    /// Fails on terminals that use themselves.
    fn check_terminals(&self, document: DocumentId) -> Result<()> {
        let definitions = self.definitions_of(document);
        let numbers: HashMap<DefinitionId, u32> = definitions.iter().copied().zip(0..).collect();
        let mut graph: Vec<Vec<u32>> = vec![Vec::new(); definitions.len()];
        for (at, &definition) in definitions.iter().enumerate() {
            let definition = self.texts.definition(definition);
            if !is_terminal(definition.name) {
                continue;
            }
            for id in self.nodes_of(definition)? {
                if let Node::Name(name) = self.texts.node(id) {
                    let used = self.find(name, document, self.texts.place(id))?;
                    graph[at].extend(numbers.get(&used));
                }
            }
        }
        let graph: Graph = graph.into_iter().collect();
        if let Some(circle) = strong_components(&graph).circles(&graph).next() {
            let definition = self.texts.definition(definitions[circle[0] as usize]);
            let message = format!("the terminal `{}` uses itself", definition.name);
            return Err(self
                .error(ErrorKind::Invalid, document, definition.at, message)
                .with_help("terminals are regular; what recurses has to be a rule"));
        }
        Ok(())
    }

    /// The nodes of a body, children first.
    fn descendants(&self, body: Body) -> Result<Vec<NodeId>> {
        let mut seen = vec![false; body.root.index() - body.first.index() + 1];
        *seen.last_mut().expect("a body has a root") = true;
        let mut found = Vec::new();
        for at in (body.first.0..=body.root.0).rev() {
            self.budget.tick()?;
            if seen[at as usize - body.first.index()] {
                found.push(NodeId(at));
                for child in self.texts.node(NodeId(at)).children() {
                    seen[child.index() - body.first.index()] = true;
                }
            }
        }
        found.reverse();
        Ok(found)
    }

    /// The definition of a name.
    pub(super) fn find(&self, name: &str, document: DocumentId, at: usize) -> Result<DefinitionId> {
        if let Some(&found) = self.texts.document(document).names.get(name) {
            return Ok(found);
        }
        let what = if is_terminal(name) { "terminal" } else { "rule" };
        let error =
            self.error(ErrorKind::Invalid, document, at, format!("the {what} `{name}` is not defined"));
        let names = self.texts.document(document).names.keys().copied();
        Err(match nearest(name, names) {
            _ if super::common::pattern(name).is_some() => {
                error.with_help(format!("import it: `%import common.{name}`"))
            }
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error,
        })
    }

    /// The rule of a definition with its arguments; its body is read later.
    fn instance(&mut self, instance: Instance) -> Result<RuleId> {
        if let Some(&rule) = self.instances.get(&instance) {
            return Ok(rule);
        }
        let name = self.texts.definition(instance.definition).name;
        let rule = self.builder.declare(self.names.fresh(name));
        self.builder.check()?;
        self.instances.insert(instance.clone(), rule);
        self.open.push((instance, rule));
        Ok(rule)
    }

    fn define(&mut self, instance: &Instance, rule: RuleId) -> Result<()> {
        let definition = self.texts.definition(instance.definition).clone();
        let parameters = definition.parameters.iter().copied();
        let scope = Scope {
            document: definition.document,
            arguments: parameters.zip(instance.arguments.iter().copied()).collect(),
            parameter: instance.parameter,
        };
        let bodies = match &definition.content {
            Content::Library(pattern) => {
                let body = self.library(pattern)?;
                self.builder.define(rule, body, definition.attributes.options);
                return Ok(());
            }
            Content::Bodies(bodies) => bodies.clone(),
            Content::Declared => {
                let message = format!(
                    "the terminal `{}` is declared and has no pattern, so nothing is known of its text",
                    definition.name
                );
                return Err(self.error(ErrorKind::Unsupported, scope.document, definition.at, message));
            }
        };
        if let Some(body) = self.dispatch(&definition, &scope)? {
            self.builder.define(rule, body, definition.attributes.options);
            return Ok(());
        }
        let is_lexeme = is_terminal(definition.name) || self.is_lexeme(&definition);
        let mode = if is_lexeme { Mode::Terminal } else { Mode::Rule };
        let mut alternatives = Vec::with_capacity(bodies.len());
        for body in bodies {
            alternatives.extend(self.lower(body.first, &[body.root], &scope, mode)?);
        }
        let body = self.builder.alt(alternatives);
        let Attributes { options, marker, at } = definition.attributes;
        match marker {
            None => self.builder.define(rule, body, options),
            Some(marker) => {
                let ending = lazy::Ending { rule, name: definition.name, body, options, marker, at };
                self.end_with_marker(ending, &scope)?;
            }
        }
        Ok(())
    }

    /// Whether a rule is read as one terminal: it ends at its first chance, or has options and is but a terminal.
    pub(super) fn is_lexeme(&self, definition: &Definition<'s>) -> bool {
        if definition.attributes.make_terminal() {
            return true;
        }
        let Content::Bodies(bodies) = &definition.content else { return false };
        let has_options = definition.attributes.options != crate::ir::RuleOptions::default();
        has_options && bodies.iter().all(|body| self.is_single_terminal(body.root))
    }

    /// Whether a node is one terminal, or alternatives that are.
    fn is_single_terminal(&self, root: NodeId) -> bool {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            match self.texts.node(id) {
                Node::Alt(items) => open.extend(items),
                Node::Name(name) if is_terminal(name) => {}
                Node::Text { .. }
                | Node::Range(..)
                | Node::Regex { .. }
                | Node::And(_)
                | Node::Not(_)
                | Node::Substring(_) => {}
                _ => return false,
            }
        }
        true
    }

    /// What a document ignores, as often as it may come.
    pub(super) fn ignored(&mut self, document: DocumentId) -> Result<Option<ExprId>> {
        if let Some(&known) = self.ignored.get(&document) {
            return Ok(known);
        }
        let bodies = self.texts.document(document).ignored.clone();
        if bodies.is_empty() {
            self.ignored.insert(document, None);
            return Ok(None);
        }
        let mut alternatives = Vec::new();
        for body in bodies {
            for id in self.descendants(body)? {
                if let Node::Name(name) = self.texts.node(id) {
                    self.find(name, document, self.texts.place(id))?;
                }
            }
            alternatives.extend(self.lower(
                body.first,
                &[body.root],
                &Scope::of(document),
                Mode::Terminal,
            )?);
        }
        let any = self.builder.alt(alternatives);
        let most = self.texts.document(document).ignore_once.then_some(1);
        let body = self.builder.repeat(any, 0, most);
        let rule = self.builder.declare(self.names.fresh("ignored"));
        self.builder.define(rule, body, crate::ir::RuleOptions::default());
        let expr = self.builder.rule(rule);
        self.ignored.insert(document, Some(expr));
        Ok(Some(expr))
    }

    /// The expressions of some nodes of a body whose nodes begin at `first`.
    pub(super) fn lower(
        &mut self,
        first: NodeId,
        roots: &[NodeId],
        scope: &Scope<'s>,
        mode: Mode,
    ) -> Result<Vec<ExprId>> {
        let last = roots.iter().copied().max().unwrap_or(first);
        let mut modes: Vec<Option<Mode>> = vec![None; last.index() - first.index() + 1];
        for root in roots {
            modes[root.index() - first.index()] = Some(mode);
        }
        self.spread_modes(first, &mut modes, scope)?;
        let never = self.builder.never();
        let mut lowered = vec![never; modes.len()];
        for (at, mode) in modes.iter().enumerate() {
            self.budget.tick()?;
            let Some(mode) = *mode else { continue };
            let id = NodeId(first.0 + at as u32);
            lowered[at] = self.node(id, first, &lowered, scope, mode)?;
            self.builder.check()?;
        }
        Ok(roots.iter().map(|root| lowered[root.index() - first.index()]).collect())
    }

    /// Tells the children of nodes how they are read. Those of an alternative that is not there are not read at all.
    fn spread_modes(&self, first: NodeId, modes: &mut [Option<Mode>], scope: &Scope<'s>) -> Result<()> {
        for at in (0..modes.len()).rev() {
            let Some(mode) = modes[at] else { continue };
            let id = NodeId(first.0 + at as u32);
            let node = self.texts.node(id);
            let mode = match node {
                Node::And(_) | Node::Not(_) => Mode::Terminal,
                Node::If { condition, .. } => match scope.parameter {
                    Some(parameter) if condition.holds(parameter) => mode,
                    Some(_) => continue,
                    None => {
                        let message = "`%if` needs a rule with a parameter, `name::_`";
                        let place = self.texts.place(id);
                        return Err(self.error(ErrorKind::Invalid, scope.document, place, message));
                    }
                },
                _ => mode,
            };
            for child in node.children() {
                modes[child.index() - first.index()] = Some(mode);
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        id: NodeId,
        first: NodeId,
        lowered: &[ExprId],
        scope: &Scope<'s>,
        mode: Mode,
    ) -> Result<ExprId> {
        let of = |child: &NodeId| lowered[child.index() - first.index()];
        let place = self.texts.place(id);
        let terminal = match self.texts.node(id).clone() {
            Node::Seq(items) => return Ok(self.builder.seq(items.iter().map(of))),
            Node::Alt(items) => return Ok(self.builder.alt(items.iter().map(of))),
            Node::Repeat { body, min, max } => return Ok(self.builder.repeat(of(&body), min, max)),
            Node::If { body, .. } => return Ok(of(&body)),
            Node::Name(name) if !is_terminal(name) => return self.rule(name, place, scope, mode),
            Node::Call { name, arguments } => {
                let arguments = arguments.iter().map(of).collect();
                return self.template(name, arguments, place, scope, mode);
            }
            Node::Step { name, step } => {
                let parameter = step.apply(scope.parameter).ok_or_else(|| {
                    let message = "this needs a parameter, which the rule around it does not have";
                    self.error(ErrorKind::Invalid, scope.document, place, message)
                })?;
                return self.parametric(name, parameter, place, scope, mode);
            }
            Node::And(items) => self.builder.and(items.iter().map(of)),
            Node::Not(body) => self.builder.not(of(&body)),
            Node::Name(name) => {
                let definition = self.find(name, scope.document, place)?;
                let instance = Instance { definition, arguments: Vec::new(), parameter: None };
                let rule = self.instance(instance)?;
                self.builder.rule(rule)
            }
            leaf => self.leaf(&leaf, place, scope, mode)?,
        };
        match mode {
            Mode::Terminal => Ok(terminal),
            Mode::Rule => self.then_ignored(terminal, scope),
        }
    }

    pub(super) fn then_ignored(&mut self, terminal: ExprId, scope: &Scope<'s>) -> Result<ExprId> {
        let ignored = self.ignored(scope.document)?;
        Ok(self.builder.seq([Some(terminal), ignored].into_iter().flatten()))
    }

    /// A rule, or an argument of the template.
    fn rule(&mut self, name: &str, place: usize, scope: &Scope<'s>, mode: Mode) -> Result<ExprId> {
        if let Some(&(_, argument)) = scope.arguments.iter().find(|(parameter, _)| *parameter == name) {
            return Ok(argument);
        }
        let definition = self.find(name, scope.document, place)?;
        let found = self.texts.definition(definition);
        if !found.parameters.is_empty() || found.is_parametric {
            let message = if found.is_parametric {
                format!("the rule `{name}` needs a parameter, as in `{name}::0`")
            } else {
                let parameters = found.parameters.join(", ");
                format!("the template `{name}` needs arguments, as in `{name}{{{parameters}}}`")
            };
            return Err(self.error(ErrorKind::Invalid, scope.document, place, message));
        }
        self.call(Instance { definition, arguments: Vec::new(), parameter: None }, place, scope, mode)
    }

    fn template(
        &mut self,
        name: &str,
        arguments: Vec<ExprId>,
        place: usize,
        scope: &Scope<'s>,
        mode: Mode,
    ) -> Result<ExprId> {
        let definition = self.find(name, scope.document, place)?;
        let wanted = self.texts.definition(definition).parameters.len();
        if wanted != arguments.len() {
            let message = match wanted {
                0 => format!("`{name}` is no template"),
                _ => format!("the template `{name}` takes {wanted} arguments, not {}", arguments.len()),
            };
            return Err(self.error(ErrorKind::Invalid, scope.document, place, message));
        }
        self.call(Instance { definition, arguments, parameter: None }, place, scope, mode)
    }

    fn parametric(
        &mut self,
        name: &str,
        parameter: u64,
        place: usize,
        scope: &Scope<'s>,
        mode: Mode,
    ) -> Result<ExprId> {
        let definition = self.find(name, scope.document, place)?;
        if !self.texts.definition(definition).is_parametric {
            let message = format!("the rule `{name}` has no parameter; it would be written `{name}::_`");
            return Err(self.error(ErrorKind::Invalid, scope.document, place, message));
        }
        let instance = Instance { definition, arguments: Vec::new(), parameter: Some(parameter) };
        self.call(instance, place, scope, mode)
    }

    fn call(&mut self, instance: Instance, place: usize, scope: &Scope<'s>, mode: Mode) -> Result<ExprId> {
        let definition = self.texts.definition(instance.definition);
        if mode == Mode::Terminal {
            let message = format!("the rule `{}` cannot stand in a terminal", definition.name);
            return Err(self.error(ErrorKind::Unsupported, scope.document, place, message).with_help(
                "so it is in what `&` and `~` join, and in rules with `lazy`, `suffix` or `stop`",
            ));
        }
        let is_lexeme = self.is_lexeme(definition);
        let rule = self.instance(instance)?;
        let rule = self.builder.rule(rule);
        if is_lexeme { self.then_ignored(rule, scope) } else { Ok(rule) }
    }
}
