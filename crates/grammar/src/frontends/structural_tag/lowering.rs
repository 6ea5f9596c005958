//! What all formats share: the grammar that is being built, what surrounds a format, free text, tokens by name.

use rustc_hash::FxHashMap;

use super::Tokens;
use super::fields::Fields;
use super::formats;
use super::path::{Path, within};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frontends::ebnf::TokenResolver;
use crate::frontends::json_schema::documents::{Document, Json};
use crate::frontends::json_schema::{self, Embedded, Options, Shared, Spelling};
use crate::ir::{Automaton, Builder, ExprId, Grammar, Names, RuleId, RuleOptions, copy_into};
use crate::limits::Budget;
use crate::passes::analysis::productive;
use crate::regular::CharSet;

/// Formats nest so deep. Lowering recurses over them, and this bounds the native stack.
const MAX_NESTING: usize = 256;

const NOTHING_LEFT: &str = "no value of the schema can be written";
const WHY_NOTHING_IS_LEFT: &str = "what it requires holds a string that may not be there (one of `excludes`, or what closes a \
                                   tag of the style), or has no end";

/// What a free text may not hold, and what comes after it.
type FreeTextKey = (Box<[Box<str>]>, Box<str>);

/// What surrounds a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'c> {
    /// The strings that end the nearest tag.
    pub(super) ends: &'c [Box<str>],
    /// The token that ends the nearest tag.
    pub(super) end_token: Option<u32>,
    /// The end that follows right after the format; empty where something else does.
    pub(super) before: &'c str,
    depth: usize,
}

impl<'c> Context<'c> {
    /// No tag around.
    pub(super) fn outermost() -> Self {
        Context { ends: &[], end_token: None, before: "", depth: 0 }
    }

    /// Where something else than the end of the tag follows.
    pub(super) fn inside(self) -> Self {
        Context { before: "", ..self }
    }

    /// In a tag that ends with one of `ends`, or with a token.
    pub(super) fn in_tag<'d>(
        self,
        ends: &'d [Box<str>],
        before: &'d str,
        end_token: Option<u32>,
    ) -> Context<'d>
    where
        'c: 'd,
    {
        Context { ends, before, end_token, depth: self.depth }
    }
}

/// A format as an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lowered {
    pub(super) expr: ExprId,
    /// Whether it ends with free text that nothing ends but what follows.
    pub(super) open: bool,
}

impl Lowered {
    /// What has an end of its own.
    pub(super) fn closed(expr: ExprId) -> Self {
        Lowered { expr, open: false }
    }
}

/// A schema of which it is not known yet whether any value can be written.
struct Doubtful {
    expr: ExprId,
    place: Place,
    schema: String,
    options: Options,
}

impl Doubtful {
    /// That none can: because there is none, or else because of how they are written.
    fn error(self, budget: &Budget) -> Error {
        let error = json_schema::unwritten(&self.schema, &self.options, budget).unwrap_or_else(|| {
            let nothing_left = Error::new(ErrorKind::Invalid, NOTHING_LEFT).with_help(WHY_NOTHING_IS_LEFT);
            json_schema::explained(nothing_left, &self.schema, &self.options, budget)
        });
        match error.place() {
            Place::Nowhere => error.at(self.place),
            _ => within(self.place, "the schema", &error),
        }
    }
}

/// Builds the grammar of one structural tag.
pub(super) struct Lowering<'a> {
    pub(super) shared: Shared,
    pub(super) budget: &'a Budget,
    pub(super) document: &'a Document<'a>,
    /// Which of the texts of JSON values are written.
    pub(super) spelling: Spelling,
    tokens: Option<Tokens<'a>>,
    names: Names,
    /// Grammars of schemas and EBNF texts, by what they were made of: tools often share them.
    pub(super) parts: FxHashMap<String, ExprId>,
    /// Tags that were lowered, by their place in the document: what surrounds a tag does not matter to it.
    pub(super) tags: FxHashMap<*const (), formats::Tag>,
    texts: FxHashMap<FreeTextKey, ExprId>,
    /// Schemas that may turn out to have no value that can be written.
    doubtful: Vec<Doubtful>,
    /// The schemas that were met, if somebody asks for them.
    pub(super) schemas: Option<Vec<Embedded>>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        document: &'a Document<'a>,
        spelling: Spelling,
        tokens: Option<Tokens<'a>>,
        budget: &'a Budget,
    ) -> Self {
        Lowering {
            shared: Shared::new(Builder::new(budget.limits())),
            budget,
            document,
            spelling,
            tokens,
            names: Names::default(),
            parts: FxHashMap::default(),
            tags: FxHashMap::default(),
            texts: FxHashMap::default(),
            doubtful: Vec::new(),
            schemas: None,
        }
    }

    /// The whole grammar, once its root is defined. A part that matches nothing is an error where it stands: elsewhere in
    /// the grammar it would only be an alternative that nobody can take, and would go unnoticed.
    pub(super) fn finish(self, root: RuleId) -> Result<Grammar> {
        let grammar = self.shared.builder.finish(root)?;
        if self.doubtful.is_empty() {
            return Ok(grammar);
        }
        let productive = productive(&grammar, self.budget)?;
        match self.doubtful.into_iter().find(|schema| !productive[schema.expr.index()]) {
            Some(schema) => Err(schema.error(self.budget)),
            None => Ok(grammar),
        }
    }

    /// Notes that it is not known yet whether any value of a schema at a path can be written.
    pub(super) fn doubt(&mut self, expr: ExprId, path: &Path<'_>, schema: String, options: &Options) {
        let (place, options) = (path.place(), options.clone());
        self.doubtful.push(Doubtful { expr, place, schema, options });
    }

    /// Declares a rule under a name that is still free.
    pub(super) fn declare(&mut self, name: &str) -> RuleId {
        let name = self.names.fresh(name);
        self.shared.builder.declare(name)
    }

    /// Gives all rules from the one with number `first` on names that are still free.
    pub(super) fn rename(&mut self, first: usize) {
        let names = &mut self.names;
        self.shared.builder.rename(first, |name| names.fresh(name));
    }

    /// A new rule for `body`.
    pub(super) fn rule(&mut self, name: &str, body: ExprId) -> RuleId {
        self.rule_with(name, body, RuleOptions::default())
    }

    /// The same with options.
    pub(super) fn rule_with(&mut self, name: &str, body: ExprId, options: RuleOptions) -> RuleId {
        let rule = self.declare(name);
        self.shared.builder.define(rule, body, options);
        rule
    }

    /// Takes in the rules of a grammar, and gives the expression of its root.
    pub(super) fn take_in(&mut self, grammar: &Grammar) -> Result<ExprId> {
        let root = copy_into(&mut self.shared.builder, grammar, &mut self.names)?;
        // A root that is a mere expression needs no rule.
        match self.shared.builder.rule_body(root) {
            Some(body)
                if grammar.rules().len() == 1
                    && *self.shared.builder.rule_options(root) == RuleOptions::default() =>
            {
                Ok(body)
            }
            _ => Ok(self.shared.builder.rule(root)),
        }
    }

    /// Lowers the format that stands at `path`.
    pub(super) fn format(
        &mut self,
        json: &Json<'_>,
        path: &Path<'_>,
        context: Context<'_>,
    ) -> Result<Lowered> {
        self.budget.tick()?;
        self.shared.builder.check()?;
        let context = Context { depth: context.depth + 1, ..context };
        if context.depth > MAX_NESTING {
            return Err(Error::limit("the nesting of formats", MAX_NESTING, "max_depth").at(path.place()));
        }
        let Some(object) = json.as_object() else {
            return Err(path.invalid(format!("a format is an object, not {}", json.type_name())));
        };
        let fields = Fields { object, path };
        let format = formats::find(&fields)?;
        (format.lower)(self, &fields, context).map_err(|error| error.at(path.place()))
    }

    /// Lowers the format that is the value of a field.
    pub(super) fn child(
        &mut self,
        fields: &Fields<'_, '_>,
        key: &str,
        context: Context<'_>,
    ) -> Result<Lowered> {
        let json = fields.need(key)?;
        self.format(json, &fields.path.key(key), context)
    }

    /// Text that holds none of `strings`, and in which none begins that ends within `before`.
    pub(super) fn free_text(&mut self, strings: &[Box<str>], before: &str) -> Result<ExprId> {
        if strings.is_empty() {
            let any = self.shared.builder.class(CharSet::any());
            return Ok(self.shared.builder.repeat(any, 0, None));
        }
        let key = (strings.into(), before.into());
        if let Some(&known) = self.texts.get(&key) {
            return Ok(known);
        }
        let automaton = Automaton::free_text(strings, before, self.budget)?;
        let expr = self.shared.builder.automaton(automaton);
        self.texts.insert(key, expr);
        Ok(expr)
    }

    /// What finds tokens by their text.
    pub(super) fn token_resolver(&self) -> Option<&'a TokenResolver<'a>> {
        self.tokens.map(|tokens| tokens.find)
    }

    /// The id of a token that is given by its id or its text.
    pub(super) fn token(&mut self, json: &Json<'_>, path: &Path<'_>) -> Result<u32> {
        match json {
            Json::Number(text) => match text.parse::<u32>() {
                Ok(id) => match self.tokens {
                    Some(known) if id as usize >= known.count => Err(path.invalid(format!(
                        "token {id} is not in the vocabulary, whose size is {}",
                        known.count
                    ))),
                    _ => Ok(id),
                },
                Err(_) => Err(path.invalid(format!("a token id is an integer from 0 on, not {text}"))),
            },
            Json::String(text) => match self.tokens {
                None => Err(path
                    .invalid(format!(
                        "the token {text:?} is given by its text: token string resolution requires tokenizer_info"
                    ))
                    .with_help("pass `tokenizer_info`, or use `GrammarCompiler.compile_structural_tag`")),
                Some(known) => (known.find)(text)
                    .ok_or_else(|| path.invalid(format!("no token of the vocabulary is {text:?}"))),
            },
            other => Err(path.invalid(format!("a token is an id or a string, not {}", other.type_name()))),
        }
    }

    /// The ids of a list of tokens.
    pub(super) fn tokens(
        &mut self,
        fields: &Fields<'_, '_>,
        key: &str,
        items: &[Json<'_>],
    ) -> Result<Vec<u32>> {
        let path = fields.path.key(key);
        items.iter().enumerate().map(|(at, item)| self.token(item, &path.index(at))).collect()
    }
}

/// `own`, and those of `more` that are not among them.
pub(super) fn joined<T: Clone + PartialEq>(mut own: Vec<T>, more: &[T]) -> Vec<T> {
    for item in more {
        if !own.contains(item) {
            own.push(item.clone());
        }
    }
    own
}
