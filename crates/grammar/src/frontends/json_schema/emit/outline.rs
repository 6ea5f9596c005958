//! Sets of values in outline, for those that need no grammar to become a machine.
//!
//! Most objects name keys with values, and may have others; most arrays are items of one kind. Of such nothing has to be
//! written down as rules first: the [`Outline`] says which values are in which, and their texts are the expressions that any
//! set has. What is not so plain (members that are counted or ask for others, items that are counted by what they are or
//! compared) has no outline; then the schema is emitted as a grammar, all of it, and nothing of this is used.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::smallvec;

use super::super::documents::{Document, Documents, Draft};
use super::super::expand::Expander;
use super::super::values::ValueSet;
use super::super::values::arrays::ArrayShape;
use super::super::values::formula::FormulaId;
use super::super::values::numbers::NumberSet;
use super::super::values::objects::ObjectShape;
use super::super::values::texts::TextSet;
use super::super::{Options, Patterns, Purpose, Spelling, Style};
use super::layout::{Depth, Layout};
use super::objects::names;
use super::{Emitter, UsualScalars, any_value, is_any_container};
use crate::error::{ErrorKind, Result};
use crate::ir::members::Order;
use crate::ir::{Builder, Expr, ExprId, SharedExprs};
use crate::limits::Budget;
use crate::machine::Machine;
use crate::passes::Ready;
use crate::passes::outline::{Array, Facts, Joints, Object, Others, Outline, ValueId, Way, Ways};

/// Automata of more states than this are for the long way, which may have to make them again.
const MAX_STATES: usize = 2_000;

/// What pairs of shapes may cost that are put together here: a few dozen.
const MAX_COST: usize = 5_000;

/// The machine of a schema, if that has an outline. Whatever is wrong with a schema, it has none; it fails only where the work
/// was cancelled, or the time is over.
pub(in super::super) fn machine(
    root: &Document<'_>,
    options: &Options,
    budget: &Budget,
) -> Result<Option<Machine>> {
    let is_plain = options.any_whitespace
        && options.max_whitespace.is_none()
        && options.style == Style::Json
        && options.excludes.is_empty()
        && options.patterns == Patterns::default()
        && options.registry.is_empty();
    if !is_plain || root.mentions_relations() {
        return Ok(None);
    }
    let attempt = budget.attempt(MAX_STATES);
    let lowered = outline(root, options, &attempt)
        .and_then(|outline| outline.map_or(Ok(None), |outline| outline.lower(&attempt)));
    match lowered {
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        Err(_) => budget.check().map(|()| None),
        done => done,
    }
}

/// What outlines begin with: the texts of whole types, and what is known of them, made once.
struct Beginning {
    ready: Option<Arc<Ready>>,
    exprs: SharedExprs,
    facts: Facts,
    usual_scalars: UsualScalars,
}

impl Beginning {
    /// The beginning for some options, which are plain; none if it cannot be made, which a test excludes.
    fn of(options: &Options) -> Option<&'static Self> {
        static KNOWN: [OnceLock<Option<Beginning>>; 8] = [const { OnceLock::new() }; 8];
        let which = [options.spelling == Spelling::Canonical, options.strict_mode, options.any_order];
        let at = which.iter().fold(0, |at, &is| 2 * at + usize::from(is));
        KNOWN[at].get_or_init(|| Beginning::make(options).ok()).as_ref()
    }

    fn make(options: &Options) -> Result<Self> {
        let &Options { strict_mode, any_order, spelling, .. } = options;
        let options = Options { strict_mode, any_order, spelling, ..Options::default() };
        let budget = Budget::default();
        let ready = any_value::containers(&options);
        let builder = match &ready {
            Some(ready) => ready.terminals(budget.limits()),
            None => Builder::new(budget.limits()),
        };
        let root = Document::parse("true", &budget)?;
        let (mut emitter, _) = emitter(&root, &options, builder, &budget)?;
        for set in usual_sets() {
            emitter.scalars(&set)?;
        }
        emitter.joints();
        let builder = std::mem::replace(emitter.builder(), Builder::lent());
        let facts = Facts::of_all(&builder);
        Ok(Beginning { ready, facts, exprs: builder.into_shared(), usual_scalars: emitter.usual_scalars })
    }
}

/// The scalars that schemas mostly name: of one type, and of that or null.
fn usual_sets() -> impl Iterator<Item = ValueSet> {
    let single = [
        ValueSet { texts: TextSet::any(), ..ValueSet::never() },
        ValueSet { numbers: NumberSet::integers(), ..ValueSet::never() },
        ValueSet { numbers: NumberSet::all(), ..ValueSet::never() },
        ValueSet { truth: true, falsity: true, ..ValueSet::never() },
    ];
    let or_null = single.clone().map(|set| ValueSet { null: true, ..set });
    single.into_iter().chain(or_null).chain([ValueSet { null: true, ..ValueSet::never() }])
}

/// What emits a schema, and its formula.
fn emitter<'b>(
    root: &'b Document<'b>,
    options: &'b Options,
    builder: Builder,
    budget: &'b Budget,
) -> Result<(Emitter<'b>, FormulaId)> {
    let mut documents = Documents::new(root, &[], Draft::default(), budget)?;
    let start = documents.start()?;
    let mut expander = Expander::new(documents, options, builder, budget);
    expander.purpose = Purpose::Machine;
    expander.share_types();
    expander.algebra.leave(MAX_COST);
    let formula = expander.formula_of(start);
    Ok((Emitter::new(expander, formula)?, formula))
}

fn outline(root: &Document<'_>, options: &Options, budget: &Budget) -> Result<Option<Outline>> {
    let Some(beginning) = Beginning::of(options) else { return Ok(None) };
    let builder = Builder::beginning_with(&beginning.exprs, budget.limits());
    let (mut emitter, formula) = emitter(root, options, builder, budget)?;
    emitter.usual_scalars = beginning.usual_scalars;
    let mut sketch = Sketch { knows_any: beginning.ready.is_some(), ..Sketch::default() };
    sketch.value(formula, Layout::start());
    while let Some((value, formula, depth)) = sketch.open.pop() {
        let Some(ways) = emitter.ways(formula, depth, &mut sketch)? else { return Ok(None) };
        sketch.values[value.0 as usize] = ways;
    }
    let joints = emitter.joints();
    let builder = std::mem::replace(emitter.builder(), Builder::lent());
    Ok(Some(Outline {
        builder,
        facts: beginning.facts.clone(),
        joints,
        order: if options.any_order { Order::Any } else { Order::Declared },
        escapes: options.spelling.key_escapes(),
        values: sketch.values,
        levels: sketch.levels,
        objects: sketch.objects,
        arrays: sketch.arrays,
        ready: beginning.ready.clone().filter(|_| sketch.names_any),
    }))
}

/// An outline while it is being made.
#[derive(Default)]
struct Sketch {
    values: Vec<Ways>,
    levels: Vec<u8>,
    objects: Vec<Object>,
    arrays: Vec<Array>,
    known: FxHashMap<(FormulaId, Depth), ValueId>,
    /// The values that are named and not yet known.
    open: Vec<(ValueId, FormulaId, Depth)>,
    /// Whether there is a rule of any array and object, and whether it is named.
    knows_any: bool,
    names_any: bool,
}

impl Sketch {
    /// The value of a formula at a depth.
    fn value(&mut self, formula: FormulaId, depth: Depth) -> ValueId {
        *self.known.entry((formula, depth)).or_insert_with(|| {
            let value = ValueId(self.values.len() as u32);
            self.values.push(Ways::new());
            self.levels.push(depth.level());
            self.open.push((value, formula, depth));
            value
        })
    }
}

impl Emitter<'_> {
    /// What stands between values, by how deep they lie; nothing where white space is not free.
    fn joints(&mut self) -> Vec<Joints> {
        let builder = &mut self.expander.algebra.languages.builder;
        let at = |depth| {
            let around = self.layout.freely_around(builder, depth)?;
            let colon = self.layout.colon(builder, depth);
            Some(Joints { space: around.after, colon, comma: around.separator })
        };
        self.layout.depths().filter_map(at).collect()
    }

    /// The ways to write the values of a formula; `None` if some have no outline, or if there are none.
    fn ways(&mut self, formula: FormulaId, depth: Depth, sketch: &mut Sketch) -> Result<Option<Ways>> {
        if let Some(&text) = self.known_scalars.get(&formula) {
            return Ok(Some(smallvec![Way::Text(text)]));
        }
        self.expander.algebra.languages.budget.tick()?;
        let set = self.set_of(formula)?;
        let scalars = self.scalars(&set)?;
        let mut ways = Ways::new();
        if *self.builder().expr(scalars) != Expr::Never {
            ways.push(Way::Text(scalars));
            if set.arrays.is_empty() && set.objects.is_empty() && self.expander.unwritten.is_none() {
                self.known_scalars.insert(formula, scalars);
                return Ok(Some(ways));
            }
        }
        let is_any = is_any_container(&set);
        let depth = if is_any { self.layout.of_anything(depth) } else { depth };
        if is_any && sketch.knows_any {
            sketch.names_any = true;
            ways.push(Way::AnyContainer);
        } else {
            for shape in &set.arrays {
                let Some(way) = self.array_way(shape, depth, sketch)? else { return Ok(None) };
                ways.push(way);
            }
            for shape in &set.objects {
                let Some(way) = self.object_way(shape, depth, sketch)? else { return Ok(None) };
                ways.push(way);
            }
        }
        Ok((!ways.is_empty() && self.expander.unwritten.is_none()).then_some(ways))
    }

    fn array_way(&mut self, shape: &ArrayShape, depth: Depth, sketch: &mut Sketch) -> Result<Option<Way>> {
        let is_plain =
            shape.prefix.is_empty() && shape.contains.is_empty() && !shape.unique && !shape.repeats;
        if !is_plain {
            return Ok(None);
        }
        let items = self.set_of(shape.rest)?;
        if items.arrays.is_empty() && items.objects.is_empty() {
            let text = self.array(shape, depth)?;
            return Ok((*self.builder().expr(text) != Expr::Never).then_some(Way::Text(text)));
        }
        let item = sketch.value(shape.rest, self.layout.below(depth));
        sketch.arrays.push(Array { item, min: shape.min, max: shape.max });
        Ok(Some(Way::Array(sketch.arrays.len() as u32 - 1)))
    }

    fn object_way(&mut self, shape: &ObjectShape, depth: Depth, sketch: &mut Sketch) -> Result<Option<Way>> {
        let is_plain = shape.witnesses.is_empty()
            && shape.implies.is_empty()
            && shape.min == 0
            && shape.max.is_none()
            && shape.narrowed_keys.is_empty();
        if !is_plain {
            return Ok(None);
        }
        let below = self.layout.below(depth);
        let names = names(shape);
        let mut entries = Vec::with_capacity(names.len());
        for name in &names {
            let value = shape.value_of(name, &mut self.expander.algebra)?;
            if value == FormulaId::NEVER {
                return Ok(None);
            }
            entries.push(((**name).into(), shape.required.contains(name), sketch.value(value, below)));
        }
        let mut others = Vec::new();
        for region in self.regions(shape)?.iter() {
            let said = shape.families.iter().filter(|(keys, _)| keys.has_region(region));
            let value = self.expander.algebra.formulas.and_all(said.map(|(_, value)| *value));
            if value == FormulaId::NEVER || self.set_of(value)?.is_never() {
                continue;
            }
            let keys = region.language(&mut self.expander.algebra.languages)?;
            let Some(always_free) = self.are_endless(keys)? else { return Ok(None) };
            others.push(Others { keys, always_free, value: sketch.value(value, below) });
        }
        sketch.objects.push(Object { entries, others, level: below.level() });
        Ok(Some(Way::Object(sketch.objects.len() as u32 - 1)))
    }

    /// Whether each beginning of a key of a language goes on without end; none if there is an end of the keys.
    fn are_endless(&mut self, keys: ExprId) -> Result<Option<bool>> {
        let languages = &mut self.expander.algebra.languages;
        if keys == languages.of_length(0, None) {
            return Ok(Some(true));
        }
        let dfa = languages.automaton(keys)?;
        Ok(dfa.count_words().is_none().then(|| dfa.goes_on_everywhere()))
    }
}
