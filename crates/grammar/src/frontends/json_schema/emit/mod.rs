//! From sets of values to a grammar.
//!
//! A scalar is a regular expression and is written where it stands. A container is a rule of its own, one for each
//! formula, so that what is named twice is emitted once and recursion is a rule that names itself. Rules are defined
//! from a list of those still to do: nothing here recurses over the schema.

mod any_value;
mod arrays;
mod choices;
mod endless;
mod layout;
mod objects;
mod orders;
mod outline;
mod styles;

use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::Spelling;
use super::documents::{Json, SchemaId};
use super::expand::{Expander, UNWRITTEN};
use super::keywords;
use super::report::{Finding, Outcome};
use super::values::ValueSet;
use super::values::formula::{Formula, FormulaId};
use super::values::numbers::{self, Forms};
use super::values::texts::{TextSet, prefix_tree};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::ir::{Automaton, Builder, Expr, ExprId, Grammar, RuleId, RuleOptions};
use crate::passes::analysis::productive;
use layout::{Depth, Layout};
pub(super) use objects::names;

use objects::Form;

pub(super) use outline::machine;

/// There is room for the expressions of so many formulas at first; most schemas have no more.
const EXPECTED: usize = 28;

/// What helps where a value has no canonical text.
const ANY_SPELLING: &str = "spelling=\"any\" writes them";

/// Emits the rules of one conversion.
pub(super) struct Emitter<'b> {
    expander: Expander<'b>,
    layout: Layout,
    /// The expressions of formulas, by the depth of their white space.
    known: FxHashMap<(FormulaId, Depth), ExprId>,
    /// Those of formulas that have scalars alone: they are the same at all depths.
    known_scalars: FxHashMap<FormulaId, ExprId>,
    /// The expressions of scalars of whole types.
    usual_scalars: UsualScalars,
    /// What may stand in the tags of the style, by how its kind is told.
    contents: FxHashMap<FormulaId, Vec<(&'static str, ExprId)>>,
    /// Rules that are named and still to be defined.
    pending: Vec<Pending>,
    /// Text without the strings that no string may hold, where there are such.
    free: Option<ExprId>,
    /// Any text of the style, up to what ends it, once somebody has asked for it.
    raw: Option<ExprId>,
    /// The formula whose arrays are being written.
    array_of: Option<FormulaId>,
    /// Whether the rule of any array and object may be one that was made before. That one is made of the schema that allows
    /// anything, which has to do without it.
    is_particular: bool,
}

/// A rule of containers that is still to be defined.
struct Pending {
    rule: RuleId,
    formula: FormulaId,
    depth: Depth,
    set: Rc<ValueSet>,
    form: Form,
}

/// The grammar of a formula, and the expander with its findings.
pub(super) fn emit(mut expander: Expander<'_>, root: FormulaId) -> Result<(Grammar, Expander<'_>)> {
    let rule = expander.algebra.languages.builder.declare("root");
    let (body, mut expander) = emit_into(expander, root)?;
    expander.algebra.languages.builder.define(rule, body, RuleOptions::default());
    let builder = std::mem::replace(&mut expander.algebra.languages.builder, Builder::lent());
    let grammar = builder.finish(rule)?;
    if let Some(error) = expander.unwritten.take() {
        let is_productive = productive(&grammar, expander.algebra.languages.budget)?;
        if !is_productive[grammar.rule(grammar.root()).body.index()] {
            return Err(error);
        }
    }
    Ok((grammar, expander))
}

/// The expression of a formula, with the rules that it needs, in the builder of the expander.
pub(super) fn emit_into(expander: Expander<'_>, root: FormulaId) -> Result<(ExprId, Expander<'_>)> {
    let mut emitter = Emitter::new(expander, root)?;
    emitter.exclude()?;
    let depth = Layout::start();
    let set = emitter.set_of(root)?;
    if emitter.expander.is_nothing(&set).map_err(|error| emitter.place(error, root))? {
        return Err(emitter.expander.no_value(&set)?);
    }
    let body = match styles::tags(emitter.expander.options.style) {
        None => emitter.value(root, depth)?,
        Some(tags) => emitter.outermost(&set, tags).map_err(|error| emitter.place(error, root))?,
    };
    while let Some(Pending { rule, formula, depth, set, form }) = emitter.pending.pop() {
        let body = match form {
            Form::Json => emitter.containers(formula, depth, &set)?,
            Form::Tags(tags) => {
                emitter.containers_as_tags(&set, tags).map_err(|error| emitter.place(error, formula))?
            }
        };
        emitter.builder().define(rule, body, RuleOptions::default());
        emitter.builder().check()?;
    }
    Ok((body, emitter.expander))
}

impl<'b> Emitter<'b> {
    /// Nothing emitted yet of a formula.
    fn new(mut expander: Expander<'b>, root: FormulaId) -> Result<Self> {
        let languages = &mut expander.algebra.languages;
        let layout = Layout::new(expander.options, &mut languages.builder, languages.budget)?;
        Ok(Emitter {
            expander,
            layout,
            known: FxHashMap::default(),
            known_scalars: FxHashMap::with_capacity_and_hasher(EXPECTED, FxBuildHasher),
            usual_scalars: [None; 48],
            contents: FxHashMap::default(),
            pending: Vec::new(),
            array_of: None,
            free: None,
            raw: None,
            is_particular: root != FormulaId::ANY,
        })
    }
}

impl Emitter<'_> {
    fn builder(&mut self) -> &mut Builder {
        &mut self.expander.algebra.languages.builder
    }

    /// What a formula admits where it is the whole of a value.
    fn set_of(&mut self, formula: FormulaId) -> Result<Rc<ValueSet>> {
        let mut whole = self.expander.expand(formula)?;
        if self.expander.options.strict_mode {
            let set = Rc::make_mut(&mut whole);
            if let Formula::Schema(at) = self.expander.algebra.formulas.get(formula)
                && let Some(schema) = self.expander.documents.json(at.schema).as_object()
            {
                keywords::imply_types(schema, set);
            }
            keywords::close(set);
        }
        if let Some(free) = self.free {
            let set = Rc::make_mut(&mut whole);
            let languages = &mut self.expander.algebra.languages;
            let kept = set.texts.intersect(&TextSet::of_expr(free), languages)?;
            let emptied = !set.texts.is_any() && kept.is_empty(languages)?;
            set.texts = if emptied { TextSet::never() } else { kept };
        }
        Ok(whole)
    }

    /// Prepares for the strings that no string and no key may hold.
    fn exclude(&mut self) -> Result<()> {
        let (excludes, budget) = (&self.expander.options.excludes, self.expander.algebra.languages.budget);
        if excludes.is_empty() {
            return Ok(());
        }
        let languages = &self.expander.algebra.languages;
        if let Some(&known) = languages.known.excluded.get(&**excludes) {
            self.free = Some(known);
            return Ok(());
        }
        let automaton = Automaton::free_text(excludes, "", budget)?;
        let key = excludes.as_slice().into();
        let made = self.builder().automaton(automaton);
        self.expander.algebra.languages.known.excluded.insert(key, made);
        self.free = Some(made);
        Ok(())
    }

    /// Notes that a rule is to be defined.
    fn wait_for(&mut self, rule: RuleId, formula: FormulaId, depth: Depth, set: Rc<ValueSet>, form: Form) {
        self.pending.push(Pending { rule, formula, depth, set, form });
    }

    /// The expression of a formula.
    fn value(&mut self, formula: FormulaId, depth: Depth) -> Result<ExprId> {
        let known = self.known_scalars.get(&formula).or_else(|| self.known.get(&(formula, depth)));
        if let Some(&expr) = known {
            return Ok(expr);
        }
        self.expander.algebra.languages.budget.tick()?;
        let set = self.set_of(formula)?;
        let scalars = self.scalars(&set).map_err(|error| self.place(error, formula))?;
        self.place_unwritten(formula);
        if set.arrays.is_empty() && set.objects.is_empty() {
            self.known_scalars.insert(formula, scalars);
            return Ok(scalars);
        }
        let own_depth = if is_any_container(&set) { self.layout.of_anything(depth) } else { depth };
        let expr = if own_depth == depth {
            let name = format!("value_{}", self.builder().rule_count());
            let rule = self.builder().declare(name);
            if formula == FormulaId::ANY
                && self.is_particular
                && let Some(ready) = any_value::containers(self.expander.options)
            {
                self.builder().set_ready(rule, ready);
            }
            self.wait_for(rule, formula, depth, set, Form::Json);
            let call = self.builder().rule(rule);
            self.builder().alt([scalars, call])
        } else {
            self.value(formula, own_depth)?
        };
        self.known.insert((formula, depth), expr);
        Ok(expr)
    }

    /// The error, where it has no place: at the keyword that it speaks of, or else at the schema of a formula.
    fn place(&self, error: Error, formula: FormulaId) -> Error {
        if *error.place() != Place::Nowhere {
            return error;
        }
        let keyword = relation_in(error.message());
        let Some(schema) = self.schema_with(formula, keyword) else {
            return error.at(Place::Pointer(String::new()));
        };
        let mut pointer = self.expander.documents.pointer(schema);
        if let Some(keyword) = keyword
            && let Some(place) = place_of(self.expander.documents.json(schema), keyword)
        {
            pointer.push_str(&place);
            pointer.push('/');
            pointer.push_str(keyword);
        }
        error.at(Place::Pointer(pointer))
    }

    /// A schema of a formula, if there is one: the one that has a keyword, of several that are joined.
    fn schema_with(&self, formula: FormulaId, keyword: Option<&str>) -> Option<SchemaId> {
        let formulas = &self.expander.algebra.formulas;
        let mut at = formula;
        loop {
            match formulas.get(at) {
                Formula::Schema(located) => return Some(located.schema),
                Formula::And(items) | Formula::Or(items) => {
                    let has_it = |item: &&FormulaId| match (formulas.get(**item), keyword) {
                        (Formula::Schema(located), Some(keyword)) => {
                            self.has_keyword(located.schema, keyword)
                        }
                        _ => false,
                    };
                    at = *items.iter().find(has_it).unwrap_or(&items[0]);
                }
                Formula::Not(inner) | Formula::Operand(inner, _) => at = *inner,
                _ => return None,
            }
        }
    }

    fn has_keyword(&self, schema: SchemaId, keyword: &str) -> bool {
        self.expander.documents.json(schema).get(keyword).is_some()
    }

    /// The scalars of a set.
    fn scalars(&mut self, set: &ValueSet) -> Result<ExprId> {
        let Some(place) = usual_place(set) else { return self.write_scalars(set) };
        if let Some(known) = self.usual_scalars[place] {
            return Ok(known);
        }
        let scalars = self.write_scalars(set)?;
        self.usual_scalars[place] = Some(scalars);
        Ok(scalars)
    }

    fn write_scalars(&mut self, set: &ValueSet) -> Result<ExprId> {
        let mut alternatives: SmallVec<[ExprId; 8]> = SmallVec::new();
        for (there, text) in [(set.null, "null"), (set.truth, "true"), (set.falsity, "false")] {
            if there {
                alternatives.push(self.builder().bytes(text));
            }
        }
        if !set.numbers.is_empty() {
            alternatives.push(self.numbers(set)?);
        }
        if !set.texts.is_never() {
            alternatives.push(self.text(&set.texts)?);
        }
        Ok(self.builder().alt(alternatives))
    }

    /// The numbers of a set.
    fn numbers(&mut self, set: &ValueSet) -> Result<ExprId> {
        let is_canonical = self.expander.options.spelling == Spelling::Canonical;
        let forms =
            Forms { integers_as_floats: !set.digits_only, canonical: is_canonical, ..Forms::default() };
        let key = (set.numbers.clone(), forms);
        let languages = &mut self.expander.algebra.languages;
        let expr = if let Some(&known) = languages.known.numbers.get(&key) {
            known
        } else {
            let expr = numbers::emit(&set.numbers, forms, &mut languages.builder, languages.budget)?;
            languages.known.numbers.insert(key, expr);
            expr
        };
        if !is_canonical {
            return Ok(expr);
        }
        self.expander.gives_up |= set.numbers.gives_up();
        let floats = self.expander.listed_floats.iter().filter(|(value, _)| set.numbers.lists(value));
        let floats: Vec<&str> = floats.map(|(_, text)| &**text).collect();
        let builder = &mut self.expander.algebra.languages.builder;
        let floats: Vec<ExprId> = floats.into_iter().map(|text| builder.bytes(text)).collect();
        let expr = builder.alt([expr].into_iter().chain(floats));
        if *builder.expr(expr) == Expr::Never {
            let message = format!(
                "{UNWRITTEN}: the numbers are beyond a double, or have more digits than canonical spelling writes"
            );
            self.expander.cannot_write(Error::unsupported(message).with_help(ANY_SPELLING));
        }
        Ok(expr)
    }

    /// A JSON string of a set of texts.
    fn text(&mut self, texts: &TextSet) -> Result<ExprId> {
        let spelling = self.expander.options.spelling;
        let body = match texts {
            TextSet::Finite(listed) if spelling == Spelling::Canonical => {
                let spelled = listed.iter().filter_map(|text| spelling.key_escapes().only_spelling(text));
                let mut spelled: Vec<_> = spelled.collect();
                spelled.sort_unstable();
                let spelled: Vec<&str> = spelled.iter().map(AsRef::as_ref).collect();
                prefix_tree(self.builder(), &spelled)
            }
            _ => {
                let text = self.written(texts)?;
                self.builder().json_text(text, spelling.text_escapes())
            }
        };
        let builder = self.builder();
        let quote = builder.bytes("\"");
        Ok(builder.seq([quote, body, quote]))
    }

    /// The texts that a set writes.
    fn written(&mut self, texts: &TextSet) -> Result<ExprId> {
        let languages = &mut self.expander.algebra.languages;
        if texts.is_narrowed() && texts.writes_nothing(languages)? {
            if self.expander.relaxed.is_some() {
                // Texts that are meant are values, for a question.
                return Ok(self.builder().empty());
            }
            let message = format!(
                "{UNWRITTEN}: a format is narrower here than its definition, and has no text with what else is asked for"
            );
            self.expander.cannot_write(Error::unsupported(message));
            return Ok(self.builder().never());
        }
        let text = match texts.brief(languages)? {
            Some(brief) => brief,
            None => texts.expr(languages)?,
        };
        languages.settled(text)
    }

    /// Notes that values which cannot be written were met in a formula, if there were any.
    fn place_unwritten(&mut self, formula: FormulaId) {
        if let Some(error) = self.expander.unwritten.take() {
            self.expander.unwritten = Some(self.place(error, formula));
        }
        if let Some(error) = self.expander.emptied.take() {
            let error = self.place(error, formula);
            self.expander.note_emptied(&error);
        }
    }

    fn containers(&mut self, formula: FormulaId, depth: Depth, set: &ValueSet) -> Result<ExprId> {
        let mut alternatives = Vec::new();
        self.array_of = Some(formula);
        for shape in &set.arrays {
            let expr = match self.array(shape, depth) {
                Err(error) if self.widens(&error, formula) => {
                    self.array(&shape.without_relations(), depth)?
                }
                result => result.map_err(|error| self.place(error, formula))?,
            };
            alternatives.push(expr);
        }
        for shape in &set.objects {
            let expr = match self.object(shape, depth) {
                Err(error) if self.widens(&error, formula) => {
                    self.object(&shape.without_relations(), depth)?
                }
                result => result.map_err(|error| self.place(error, formula))?,
            };
            alternatives.push(expr);
        }
        self.place_unwritten(formula);
        Ok(self.builder().alt(alternatives))
    }

    /// Whether what was refused is left out instead; then that is noted.
    fn widens(&mut self, error: &Error, formula: FormulaId) -> bool {
        let widens = self.expander.widens() && error.kind() == ErrorKind::Unsupported;
        if widens {
            let keyword = relation_in(error.message()).unwrap_or("oneOf");
            let placed = self.place(error.clone(), formula);
            let pointer = match placed.place() {
                Place::Pointer(pointer) => {
                    pointer.strip_suffix(&format!("/{keyword}")).unwrap_or(pointer).into()
                }
                _ => "".into(),
            };
            let note = error.message().to_owned().into();
            let finding = Finding { pointer, keyword: keyword.into(), outcome: Outcome::Widened, note };
            self.expander.findings.push(finding);
        }
        widens
    }
}

/// The expressions of [usual](usual_place) scalars that were written.
type UsualScalars = [Option<ExprId>; 48];

/// Whether all arrays and all objects are in a set.
fn is_any_container(set: &ValueSet) -> bool {
    matches!(&*set.arrays, [array] if array.is_any()) && matches!(&*set.objects, [object] if object.is_any())
}

/// The place of the scalars of a set among those that are of whole types, if they are.
fn usual_place(set: &ValueSet) -> Option<usize> {
    let numbers = match &set.numbers {
        numbers if numbers.is_empty() => 0,
        _ if set.digits_only => return None,
        numbers if numbers.is_all() => 1,
        numbers if numbers.is_all_integers() => 2,
        _ => return None,
    };
    if !set.texts.is_any() && !set.texts.is_never() {
        return None;
    }
    let which = [set.null, set.truth, set.falsity, set.texts.is_any()];
    Some(which.iter().fold(numbers, |place, &there| 2 * place + usize::from(there)))
}

/// The keyword that a refusal speaks of. Those that relate items to each other are refused only here, once it is known
/// what the items are, and so are formats, once it is known what else is asked for.
fn relation_in(message: &str) -> Option<&'static str> {
    let known = [
        ("uniqueItems", "uniqueItems"),
        ("contains", "contains"),
        ("format", "format"),
        ("the multiples of", "multipleOf"),
        ("ask for each other", "dependentRequired"),
        ("ask for others", "dependentRequired"),
    ];
    known.into_iter().find(|(words, _)| message.contains(words)).map(|(_, keyword)| keyword)
}

/// Where a schema has a keyword that speaks of the same value: in itself, or in a schema that holds beside it.
fn place_of(schema: &Json<'_>, keyword: &str) -> Option<String> {
    const MOST: usize = 200;
    let mut waiting = std::collections::VecDeque::from([(schema, String::new())]);
    for _ in 0..MOST {
        let (at, place) = waiting.pop_front()?;
        if at.get(keyword).is_some() {
            return Some(place);
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            if let Some(Json::Array(items)) = at.get(name) {
                waiting.extend(
                    items.iter().enumerate().map(|(item, json)| (json, format!("{place}/{name}/{item}"))),
                );
            }
        }
        for name in ["if", "then", "else", "not"] {
            waiting.extend(at.get(name).map(|json| (json, format!("{place}/{name}"))));
        }
    }
    None
}
