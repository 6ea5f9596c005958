//! Programs: a pattern, and each body of a lookaround in it, as states with labelled edges.
//!
//! A lookahead of a single code point needs no program: it is a condition on the next symbol, and so is the end of
//! the string. A lookbehind always has one, which runs from the start of the string; the start itself is the place
//! behind which there is no code point.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::ast::{Ast, Node, NodeId};
use super::symbols::{Symbol, SymbolSet, Symbols};
use crate::error::{Error, Place, Result};
use crate::limits::Budget;
use crate::regular::CharSet;

/// The number of a state of a program.
pub(super) type StateNumber = u32;

/// Where every program starts.
pub(super) const START: StateNumber = 0;

/// Where every program ends.
pub(super) const ACCEPT: StateNumber = 1;

/// A condition on the place where an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// A lookbehind holds here, or does not.
    Behind { behind: usize, negated: bool },
    /// The next symbol is in a set; negated, it is not, or there is none.
    Next { set: usize, negated: bool },
}

/// What an edge needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Nothing,
    Symbol(Symbol),
    Symbols(usize),
    Guard(Guard),
    /// A lookahead holds from here on, or does not.
    Ahead {
        ahead: usize,
        negated: bool,
    },
}

/// The states of one pattern or body.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) edges: Vec<Vec<(Label, StateNumber)>>,
}

/// All programs of a pattern.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) symbols: Symbols,
    pub(super) sets: Vec<SymbolSet>,
    pub(super) main: Program,
    /// The bodies of lookbehinds; each looks only at those before it.
    pub(super) behinds: Vec<Program>,
    /// The bodies of lookaheads, each followed by any text; each looks only at those before it.
    pub(super) aheads: Vec<Program>,
}

/// Compiles a pattern; `source` is its text, for errors.
pub(super) fn compile(ast: &Ast, root: NodeId, source: &str, budget: &Budget) -> Result<Programs> {
    let nodes = ast.reachable(root);
    let alphabet = Alphabet::new(ast, &nodes, budget)?;
    let mut compiler = Compiler {
        ast,
        source,
        budget,
        alphabet,
        behind_of: FxHashMap::default(),
        ahead_of: FxHashMap::default(),
        behinds: vec![],
        aheads: vec![],
    };
    compiler.behinds.push(compiler.any_code_point());
    // Children come before parents, so the bodies inside a body are there already.
    for id in nodes {
        compiler.compile_look(id)?;
    }
    let main = compiler.program(root, false)?;
    let Compiler { alphabet, behinds, aheads, .. } = compiler;
    Ok(Programs { symbols: alphabet.symbols, sets: alphabet.sets, main, behinds, aheads })
}

/// The lookbehind that holds everywhere but at the start of the string.
const BEHIND_ANY: usize = 0;

/// The symbols of a pattern and the sets that it names.
struct Alphabet {
    symbols: Symbols,
    sets: Vec<SymbolSet>,
    set_of: FxHashMap<CharSet, usize>,
}

impl Alphabet {
    fn new(ast: &Ast, nodes: &[NodeId], budget: &Budget) -> Result<Self> {
        let mut sets = vec![CharSet::any()];
        let mut letters: FxHashSet<char> = FxHashSet::default();
        for &id in nodes {
            match ast.node(id) {
                Node::Class(set) => sets.push(set.clone()),
                Node::Text(text) => letters.extend(text.chars()),
                Node::Look { body, .. } => sets.extend(ast.single(*body)),
                _ => {}
            }
        }
        let mut letters: Vec<char> = letters.into_iter().collect();
        letters.sort_unstable();
        let named: Vec<CharSet> = sets.clone();
        sets.extend(letters.into_iter().map(|letter| CharSet::new([(letter, letter)])));
        let symbols = Symbols::new(&sets, budget)?;
        let mut alphabet = Alphabet { symbols, sets: Vec::new(), set_of: FxHashMap::default() };
        for set in named {
            if !alphabet.set_of.contains_key(&set) {
                alphabet.sets.push(alphabet.symbols.set(&set));
                alphabet.set_of.insert(set, alphabet.sets.len() - 1);
            }
        }
        Ok(alphabet)
    }

    fn set(&self, set: &CharSet) -> usize {
        self.set_of[set]
    }
}

struct Compiler<'a> {
    ast: &'a Ast,
    source: &'a str,
    budget: &'a Budget,
    alphabet: Alphabet,
    /// The lookbehind and the lookahead of each body.
    behind_of: FxHashMap<NodeId, usize>,
    ahead_of: FxHashMap<NodeId, usize>,
    behinds: Vec<Program>,
    aheads: Vec<Program>,
}

impl Compiler<'_> {
    fn any_code_point(&self) -> Program {
        let any = Label::Symbols(self.alphabet.set(&CharSet::any()));
        Program { edges: vec![vec![(any, ACCEPT)], vec![]] }
    }

    fn compile_look(&mut self, id: NodeId) -> Result<()> {
        let Node::Look { behind, body, .. } = *self.ast.node(id) else {
            return Ok(());
        };
        if behind && !self.behind_of.contains_key(&body) {
            let program = self.program(body, true)?;
            self.behinds.push(program);
            self.behind_of.insert(body, self.behinds.len() - 1);
        }
        if !behind && self.ast.single(body).is_none() && !self.ahead_of.contains_key(&body) {
            let mut program = self.program(body, false)?;
            let any = Label::Symbols(self.alphabet.set(&CharSet::any()));
            program.edges[ACCEPT as usize].push((any, ACCEPT));
            self.aheads.push(program);
            self.ahead_of.insert(body, self.aheads.len() - 1);
        }
        Ok(())
    }

    fn program(&self, root: NodeId, is_behind: bool) -> Result<Program> {
        let mut layout = Layout {
            compiler: self,
            is_behind,
            edges: vec![vec![]; 2],
            tasks: Vec::new(),
            placed: FxHashSet::default(),
        };
        layout.place(root, START, ACCEPT);
        while let Some((id, from, to)) = layout.tasks.pop() {
            self.budget.tick()?;
            layout.lay(id, from, to)?;
        }
        Ok(Program { edges: layout.edges })
    }
}

/// A node and the states that it is to connect.
type Task = (NodeId, StateNumber, StateNumber);

/// Lays nodes out as states, by a list of tasks instead of recursion.
struct Layout<'c, 'a> {
    compiler: &'c Compiler<'a>,
    is_behind: bool,
    edges: Vec<Vec<(Label, StateNumber)>>,
    tasks: Vec<Task>,
    placed: FxHashSet<Task>,
}

impl Layout<'_, '_> {
    fn place(&mut self, id: NodeId, from: StateNumber, to: StateNumber) {
        if self.placed.insert((id, from, to)) {
            self.tasks.push((id, from, to));
        }
    }

    fn add_state(&mut self) -> Result<StateNumber> {
        self.compiler.budget.check_states(self.edges.len() + 1)?;
        self.edges.push(Vec::new());
        Ok(self.edges.len() as StateNumber - 1)
    }

    fn connect(&mut self, from: StateNumber, label: Label, to: StateNumber) {
        self.edges[from as usize].push((label, to));
    }

    fn lay(&mut self, id: NodeId, from: StateNumber, to: StateNumber) -> Result<()> {
        let compiler = self.compiler;
        let any = || compiler.alphabet.set(&CharSet::any());
        match compiler.ast.node(id) {
            Node::Never => {}
            Node::Empty => self.connect(from, Label::Nothing, to),
            Node::Text(text) => self.lay_text(text, from, to)?,
            Node::Class(set) => self.connect(from, Label::Symbols(compiler.alphabet.set(set)), to),
            Node::Alt(items) => items.iter().for_each(|&item| self.place(item, from, to)),
            Node::Seq(items) => self.lay_seq(items, from, to)?,
            &Node::Repeat { body, min, max } => self.lay_repeat(body, min, max, (from, to))?,
            Node::Start => {
                self.connect(from, Label::Guard(Guard::Behind { behind: BEHIND_ANY, negated: true }), to);
            }
            Node::End => self.connect(from, Label::Guard(Guard::Next { set: any(), negated: true }), to),
            &Node::Look { behind: true, negated, body } => {
                let guard = Guard::Behind { behind: compiler.behind_of[&body], negated };
                self.connect(from, Label::Guard(guard), to);
            }
            &Node::Look { behind: false, negated, body } => {
                let label = self.ahead_label(id, body, negated)?;
                self.connect(from, label, to);
            }
        }
        Ok(())
    }

    fn ahead_label(&self, id: NodeId, body: NodeId, negated: bool) -> Result<Label> {
        let compiler = self.compiler;
        if let Some(set) = compiler.ast.single(body) {
            return Ok(Label::Guard(Guard::Next { set: compiler.alphabet.set(&set), negated }));
        }
        if self.is_behind {
            let message = "a lookahead of more than one code point inside a lookbehind is not supported";
            return Err(
                Error::unsupported(message).at(Place::in_text(compiler.source, compiler.ast.place(id)))
            );
        }
        Ok(Label::Ahead { ahead: compiler.ahead_of[&body], negated })
    }

    fn lay_text(&mut self, text: &str, from: StateNumber, to: StateNumber) -> Result<()> {
        let mut at = from;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = if letters.peek().is_some() { self.add_state()? } else { to };
            self.connect(at, Label::Symbol(self.compiler.alphabet.symbols.symbol(letter)), next);
            at = next;
        }
        Ok(())
    }

    fn lay_seq(&mut self, items: &[NodeId], from: StateNumber, to: StateNumber) -> Result<()> {
        let mut at = from;
        for (index, &item) in items.iter().enumerate() {
            let next = if index + 1 < items.len() { self.add_state()? } else { to };
            self.place(item, at, next);
            at = next;
        }
        Ok(())
    }

    fn lay_repeat(
        &mut self,
        body: NodeId,
        min: u32,
        max: Option<u32>,
        (from, to): (StateNumber, StateNumber),
    ) -> Result<()> {
        let mut at = from;
        for round in 0..max.unwrap_or(min) {
            if round >= min {
                self.connect(at, Label::Nothing, to);
            }
            let next = self.add_state()?;
            self.place(body, at, next);
            at = next;
        }
        if max.is_none() {
            let around = self.add_state()?;
            self.connect(at, Label::Nothing, around);
            self.place(body, around, around);
            at = around;
        }
        self.connect(at, Label::Nothing, to);
        Ok(())
    }
}
