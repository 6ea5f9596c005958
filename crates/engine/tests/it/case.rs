//! Cases as data: `testdata/*.toml`, and those of its folders: a file for each keyword of JSON Schema, for each family of
//! formats of structural tags, for each family of models.
//!
//! Every text of a case has exactly one outcome. *Accepted*: it is a sentence. *Partial*: it is not, but some sentence
//! starts with it. *Rejected*: no sentence starts with it. Texts that are not UTF-8 are written in the `_hex` lists,
//! texts as token ids in the `_tokens` lists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokenstile_grammar::frontends::{ebnf, json_schema, lark, regex, structural_tag};
use tokenstile_grammar::machine::Machine;
use tokenstile_grammar::{Budget, Grammar, Limits, Result};

/// One `[[test]]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) ebnf: Option<String>,
    pub(crate) gbnf: Option<String>,
    pub(crate) regex: Option<String>,
    pub(crate) flags: String,
    pub(crate) search: bool,
    pub(crate) root: Option<String>,
    pub(crate) schema: Option<String>,
    pub(crate) lark: Option<String>,
    /// The Lark texts that a Lark text may name.
    named: BTreeMap<String, String>,
    options: SchemaOptions,
    pub(crate) structural_tag: Option<String>,
    /// For a family of models, what its structural tag was made from; the tests of the Python package make it anew.
    model: Option<String>,
    #[serde(rename = "arguments")]
    _arguments: Option<String>,

    accept: Vec<String>,
    accept_hex: Vec<String>,
    partial: Vec<String>,
    partial_hex: Vec<String>,
    reject: Vec<String>,
    reject_hex: Vec<String>,

    /// The bytes of each token, for the cases that name tokens.
    vocab: Vec<String>,
    vocab_hex: Vec<String>,
    accept_tokens: Vec<Vec<u32>>,
    partial_tokens: Vec<Vec<u32>>,
    reject_tokens: Vec<Vec<u32>>,

    /// What is forced after a text.
    jump: Vec<(String, String)>,
    jump_hex: Vec<(String, String)>,
    pub(crate) captures: Vec<Captured>,

    /// A part of the message with which the grammar is refused, and the place.
    pub(crate) error: Option<String>,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    pub(crate) pointer: Option<String>,
    pub(crate) path: Option<String>,
}

/// How a schema is read, by the names that the options have in Python. Strict mode is off unless it is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SchemaOptions {
    any_whitespace: Option<bool>,
    indent: Option<u32>,
    separators: Option<(String, String)>,
    strict_mode: bool,
    max_whitespace_cnt: Option<u32>,
    any_order: Option<bool>,
    formats: Option<String>,
    /// Which of the texts of a value are written; a case that does not say is one of both spellings.
    spelling: Option<String>,
    registry: BTreeMap<String, String>,
}

impl SchemaOptions {
    fn spelling(&self) -> json_schema::Spelling {
        self.spelling.as_deref().map_or(json_schema::Spelling::Any, |name| {
            json_schema::Spelling::find(name).unwrap_or_else(|| panic!("there is no spelling {name:?}"))
        })
    }

    fn read(&self) -> json_schema::Options {
        let formats = match self.formats.as_deref() {
            None | Some("assert") => json_schema::Formats::Assert,
            Some("annotate") => json_schema::Formats::Annotate,
            Some(other) => panic!("there is no {other:?} of formats"),
        };
        json_schema::Options {
            any_whitespace: self.any_whitespace.unwrap_or(true),
            indent: self.indent,
            separators: self.separators.clone(),
            strict_mode: self.strict_mode,
            max_whitespace: self.max_whitespace_cnt,
            any_order: self.any_order.unwrap_or(!self.strict_mode),
            formats,
            spelling: self.spelling(),
            registry: self.registry.clone().into_iter().collect(),
            ..json_schema::Options::default()
        }
    }
}

/// What is captured after a text, as `name=text`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Captured {
    pub(crate) text: String,
    pub(crate) spans: Vec<String>,
    pub(crate) all: Option<Vec<String>>,
}

/// What becomes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Accepted,
    Partial,
    Rejected,
}

impl Outcome {
    /// The outcome of a state.
    pub(crate) fn new(alive: bool, complete: bool) -> Self {
        match (alive, complete) {
            (_, true) => Outcome::Accepted,
            (true, false) => Outcome::Partial,
            (false, false) => Outcome::Rejected,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    test: Vec<Case>,
}

impl Case {
    /// All cases of all files; the names start with the file's.
    pub(crate) fn load_all() -> Vec<Case> {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata"));
        let mut cases = Vec::new();
        let folders = ["json_schema", "structural_tag", "tool_calling"].map(|name| folder.join(name));
        for path in files(&folder).into_iter().chain(folders.iter().flat_map(|folder| files(folder))) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let file: File =
                toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = path.strip_prefix(&folder).expect("a file of the folder").with_extension("");
            let name = name.display();
            let named = |case: Case| Case { name: format!("{name}/{}", case.name), ..case };
            cases.extend(file.test.into_iter().map(named).flat_map(Case::in_its_spellings));
        }
        cases
    }

    /// The case in the spelling that it asks for, or in both where it asks for none and that makes a difference.
    fn in_its_spellings(self) -> Vec<Case> {
        let holds_json = self.schema.is_some()
            || [&self.structural_tag, &self.lark].into_iter().flatten().any(|text| text.contains("json"));
        if self.options.spelling.is_some() || !holds_json {
            return vec![self];
        }
        let in_spelling = |spelling: &str| {
            let options = SchemaOptions { spelling: Some(spelling.to_owned()), ..self.options.clone() };
            Case { name: format!("{} [{spelling}]", self.name), options, ..self.clone() }
        };
        vec![in_spelling("any"), in_spelling("canonical")]
    }

    /// The grammar of the case.
    pub(crate) fn grammar(&self) -> Result<Grammar> {
        let (limits, budget) = (Limits::default(), Budget::default());
        let root = self.root.as_deref().unwrap_or("root");
        if let Some(schema) = &self.schema {
            return json_schema::parse(schema, &self.options.read(), &budget).map(|found| found.grammar);
        }
        if let Some(text) = &self.lark {
            return self.lark_grammar(text);
        }
        let tokens = self.tokens().unwrap_or_default();
        let find = |text: &str| (0..).zip(&tokens).find(|(_, token)| *token == text.as_bytes());
        let find = |text: &str| find(text).map(|(id, _)| id);
        if let Some(tag) = &self.structural_tag {
            let known = structural_tag::Tokens { find: &find, count: tokens.len() };
            return structural_tag::parse(
                tag,
                self.options.spelling(),
                (!tokens.is_empty()).then_some(known),
                &budget,
            );
        }
        match (&self.ebnf, &self.gbnf, &self.regex) {
            (Some(text), None, None) => ebnf::parse(text, root, &limits, &budget),
            (None, Some(text), None) => ebnf::parse_with_tokens(text, root, Some(&find), &limits, &budget),
            (None, None, Some(pattern)) => regex::to_grammar(pattern, &self.syntax()?, &limits, &budget),
            _ => panic!(
                "{}: exactly one of `ebnf`, `gbnf`, `regex`, `schema`, `lark` and `structural_tag` is needed",
                self.name
            ),
        }
    }

    /// The machine that the schema of the case becomes without the passes, if it does.
    pub(crate) fn machine(&self) -> Option<Machine> {
        let schema = self.schema.as_deref()?;
        match json_schema::lowered(schema, &self.options.read(), &Budget::default()) {
            Ok(json_schema::Lowered::Machine(machine)) => Some(*machine),
            _ => None,
        }
    }

    fn lark_grammar(&self, text: &str) -> Result<Grammar> {
        let tokens = self.tokens().unwrap_or_default();
        let find = |text: &str| {
            let found = (0..).zip(&tokens).filter(|(_, token)| *token == text.as_bytes());
            found.map(|(id, _)| id).collect()
        };
        let named: Vec<(&str, lark::Named<'_>)> =
            self.named.iter().map(|(name, text)| (name.as_str(), lark::Named::Lark(text))).collect();
        let surroundings =
            lark::Surroundings { named: &named, token_ids: Some(&find), spelling: self.options.spelling() };
        lark::parse(text, &surroundings, &Limits::default(), &Budget::default())
    }

    /// How the regex is to be read.
    fn syntax(&self) -> Result<regex::Syntax> {
        let syntax = if self.search { regex::Syntax::search() } else { regex::Syntax::whole() };
        match self.flags.as_str() {
            "" => Ok(syntax),
            letters => Ok(syntax.with_flags(regex::Flags::from_letters(letters)?)),
        }
    }

    /// All texts with their outcomes.
    pub(crate) fn texts(&self) -> Vec<(Vec<u8>, Outcome)> {
        let lists = [
            (&self.accept, &self.accept_hex, Outcome::Accepted),
            (&self.partial, &self.partial_hex, Outcome::Partial),
            (&self.reject, &self.reject_hex, Outcome::Rejected),
        ];
        let mut texts = Vec::new();
        for (plain, hex, outcome) in lists {
            texts.extend(plain.iter().map(|text| (text.clone().into_bytes(), outcome)));
            texts.extend(hex.iter().map(|text| (from_hex(text), outcome)));
        }
        texts
    }

    /// All texts that are given as token ids, with their outcomes.
    pub(crate) fn token_texts(&self) -> Vec<(Vec<u32>, Outcome)> {
        let lists = [
            (&self.accept_tokens, Outcome::Accepted),
            (&self.partial_tokens, Outcome::Partial),
            (&self.reject_tokens, Outcome::Rejected),
        ];
        lists
            .into_iter()
            .flat_map(|(list, outcome)| list.iter().map(move |ids| (ids.clone(), outcome)))
            .collect()
    }

    /// The vocabulary that the case brings along, if it does.
    pub(crate) fn tokens(&self) -> Option<Vec<Vec<u8>>> {
        let tokens: Vec<Vec<u8>> = self
            .vocab
            .iter()
            .map(|text| text.clone().into_bytes())
            .chain(self.vocab_hex.iter().map(|text| from_hex(text)))
            .collect();
        (!tokens.is_empty()).then_some(tokens)
    }

    /// Texts, each with what is forced after it.
    pub(crate) fn jumps(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let plain =
            self.jump.iter().map(|(text, forced)| (text.clone().into_bytes(), forced.clone().into_bytes()));
        plain.chain(self.jump_hex.iter().map(|(text, forced)| (from_hex(text), from_hex(forced)))).collect()
    }
}

/// The files of cases in a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of cases");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = |at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map(|at| digits(at).unwrap_or_else(|| panic!("{text:?} is not hex"))).collect()
}
