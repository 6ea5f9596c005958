//! The printer: a grammar as EBNF text that parses back to the same language.
//!
//! The root comes first and is called `root`. Names that the text form does not know, or that are macros there, are
//! changed, and stay unique. The text mirrors the expressions one to one, so parsing it gives the same expressions,
//! and printing those gives the same text.
//!
//! Expressions are shared and may be deep, text is neither. So an expression gets a rule of its own in the text
//! where printing it in place would not do: where groups would nest too deep to be read back, and, in a grammar
//! whose text would be far larger than itself, where a large expression is used more than once. Nothing here
//! recurses; what is still to be printed stands on a stack.

use std::fmt::{self, Write};

use hashbrown::HashSet;

use super::escapes::Escapes;
use super::expr::{Expr, ExprId, TagDispatch, TokenSet, TokenTagDispatch};
use super::grammar::{Grammar, RuleOptions};
use super::members;
use crate::frontends::ebnf::is_free_name;
use crate::regular::{CharSet, TagText};

/// Groups nest no deeper than this in the text of one rule.
const DEEPEST: u32 = 200;

/// How many times larger than the grammar its text may be before shared expressions get rules of their own.
const LARGEST_RATIO: u64 = 16;

/// Texts of fewer elements are printed as they are.
const SMALL_TEXT: u64 = 100_000;

/// Expressions of fewer elements are never worth a rule of their own.
const SMALL_EXPR: u64 = 32;

/// How tightly an expression binds; what binds looser than its place allows stands in parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Alternatives,
    Conjunction,
    Sequence,
    Complement,
    Quantified,
    Atom,
}

fn binding(expr: &Expr) -> Binding {
    match expr {
        Expr::Alt(_) => Binding::Alternatives,
        Expr::And(_) => Binding::Conjunction,
        Expr::Seq(_) => Binding::Sequence,
        Expr::Not(_) => Binding::Complement,
        Expr::Repeat { .. } => Binding::Quantified,
        Expr::Automaton(automaton) => bare(&automaton.source).map_or(Binding::Atom, |(_, binding)| binding),
        _ => Binding::Atom,
    }
}

/// The source of an automaton without the parentheses around all of it, if there are, and how tightly it then binds.
fn bare(source: &str) -> Option<(&str, Binding)> {
    let inner = source.strip_prefix('(')?.strip_suffix(')')?;
    let (mut depth, mut binding) = (0_u32, Binding::Sequence);
    let (mut closing, mut is_escaped) = (None, false);
    for c in inner.chars() {
        if let Some(end) = closing {
            if c == end && !is_escaped {
                closing = None;
            }
            is_escaped = c == '\\' && !is_escaped;
            continue;
        }
        match c {
            '"' => closing = Some('"'),
            '[' => closing = Some(']'),
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            '|' if depth == 0 => binding = Binding::Alternatives,
            '&' if depth == 0 => binding = binding.min(Binding::Conjunction),
            _ => {}
        }
    }
    Some((inner, binding))
}

/// The children of an expression with the binding that their place asks for.
///
/// Alternatives are not nested, and sequences are not; the source of an automaton that is one is read as a part of the
/// others.
fn children(expr: &Expr) -> (&[ExprId], Binding) {
    match expr {
        Expr::Alt(items) => (items, Binding::Alternatives),
        Expr::And(items) | Expr::Seq(items) => (items, Binding::Sequence),
        Expr::Not(item) => (std::slice::from_ref(item), Binding::Quantified),
        Expr::Repeat { body, .. } => (std::slice::from_ref(body), Binding::Atom),
        Expr::Members { parts, .. } | Expr::Tagged { parts, .. } => (parts, Binding::Atom),
        Expr::JsonText { text: body, .. } | Expr::AtMost { body, .. } => {
            (std::slice::from_ref(body), Binding::Alternatives)
        }
        _ => (&[], Binding::Atom),
    }
}

/// `text` as a literal, with its quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    text.chars().for_each(|c| push_escaped(&mut out, c, &['"', '\\']));
    out.push('"');
    out
}

/// `c`, escaped if it is one of `special` or not plainly visible.
///
/// Escapes have a fixed length: `\x` would swallow the digits behind it.
fn push_escaped(out: &mut String, c: char, special: &[char]) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if special.contains(&c) => out.extend(['\\', c]),
        ' '..='~' => out.push(c),
        _ if c.is_alphanumeric() => out.push(c),
        _ => {
            let code = u32::from(c);
            let _ = if code <= 0xffff { write!(out, "\\u{code:04x}") } else { write!(out, "\\U{code:08x}") };
        }
    }
}

fn class(set: &CharSet) -> String {
    let negated = set.contains(char::MAX);
    let mut out = String::from(if negated { "[^" } else { "[" });
    let shown = if negated { set.complement() } else { set.clone() };
    let special = ['[', ']', '\\', '^', '-', '"'];
    for &(low, high) in shown.ranges() {
        push_escaped(&mut out, low, &special);
        if low != high {
            if u32::from(high) - u32::from(low) > 1 {
                out.push('-');
            }
            push_escaped(&mut out, high, &special);
        }
    }
    out.push(']');
    out
}

fn bytes(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return quoted(text);
    }
    let mut out = String::from("Bytes(\"");
    for &byte in bytes {
        if byte.is_ascii() {
            push_escaped(&mut out, char::from(byte), &['"', '\\']);
        } else {
            let _ = write!(out, "\\u{byte:04x}");
        }
    }
    out.push_str("\")");
    out
}

fn joined(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn tokens(set: &TokenSet) -> String {
    match (&*set.ids, set.negated) {
        ([], true) => "AnyToken()".to_owned(),
        ([], false) => "TokensSpent()".to_owned(),
        (ids, true) => format!("ExcludeToken({})", joined(ids)),
        (ids, false) => format!("Token({})", joined(ids)),
    }
}

fn tag_dispatch(dispatch: &TagDispatch, names: &[String]) -> String {
    let tags = dispatch.tags.iter().map(|(tag, rule)| (tag, &names[rule.index()]));
    text_dispatch(tags, dispatch.repeats, &dispatch.excludes, &dispatch.before, dispatch.markers)
}

fn tagged(text: &TagText, parts: &[String], repeats: bool) -> String {
    text_dispatch(text.tags().iter().zip(parts), repeats, text.excludes(), text.before(), false)
}

fn text_dispatch<'t>(
    tags: impl Iterator<Item = (&'t Box<str>, &'t String)>,
    repeats: bool,
    excludes: &[Box<str>],
    before: &str,
    markers: bool,
) -> String {
    let tags = tags.map(|(tag, rule)| format!("({}, {rule})", quoted(tag)));
    let excludes = joined(excludes.iter().map(|text| quoted(text)));
    let before = if before.is_empty() { None } else { Some(format!("before={}", quoted(before))) };
    let markers = markers.then(|| "markers=true".to_owned());
    dispatch_call("TagDispatch", tags, repeats, &excludes, before.into_iter().chain(markers))
}

fn token_tag_dispatch(dispatch: &TokenTagDispatch, names: &[String]) -> String {
    let tags = dispatch.tags.iter().map(|(token, rule)| format!("({token}, {})", names[rule.index()]));
    dispatch_call("TokenTagDispatch", tags, dispatch.repeats, &joined(&dispatch.excludes), None)
}

fn dispatch_call(
    name: &str,
    tags: impl Iterator<Item = String>,
    repeats: bool,
    excludes: &str,
    others: impl IntoIterator<Item = String>,
) -> String {
    let options = [format!("loop_after_dispatch={repeats}"), format!("excludes=({excludes})")];
    format!("{name}({})", joined(tags.chain(options).chain(others)))
}

/// A list; `parts` has the texts of its parts.
fn members(layout: &members::Layout, parts: &[String]) -> String {
    let variant = |variant: &members::Variant| match &*variant.counters {
        [] => parts[variant.value as usize].clone(),
        counters => format!("({}, {})", parts[variant.value as usize], joined(counters)),
    };
    let tuple = |first: Vec<String>, variants: &[members::Variant]| {
        let items: Vec<String> = first.into_iter().chain(variants.iter().map(variant)).collect();
        format!("({})", joined(items))
    };
    let entry = |entry: &members::Entry| {
        let key = entry.key.as_deref().map(quoted);
        tuple(key.into_iter().chain([entry.required.to_string()]).collect(), &entry.variants)
    };
    let others = |others: &members::Others| {
        let keys = others.keys.map_or("false".to_owned(), |keys| parts[keys as usize].clone());
        tuple(vec![keys], &others.variants)
    };
    let counter = |count: &members::Count| match count.max {
        Some(max) => format!("({}, {max})", count.min),
        None => format!("({},)", count.min),
    };
    let order = match layout.order {
        members::Order::Sequence => "sequence",
        members::Order::Declared => "declared",
        members::Order::Any => "any",
    };
    let mut all: Vec<String> = layout.entries.iter().map(entry).collect();
    all.push(format!("order={}", quoted(order)));
    all.push(format!("separator={}", parts[layout.separator as usize]));
    let lists = [
        ("others", layout.others.iter().map(others).collect::<Vec<_>>()),
        ("counters", layout.counters.iter().map(counter).collect()),
        ("implies", layout.implies.iter().map(|(first, second)| format!("({first}, {second})")).collect()),
    ];
    for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
        all.push(format!("{name}=({},)", joined(items)));
    }
    if layout.unique {
        all.push("unique=true".to_owned());
    }
    if layout.escapes != Escapes::Any {
        all.push(format!("escapes={}", quoted(layout.escapes.name())));
    }
    format!("Members({})", joined(all))
}

fn options(options: &RuleOptions) -> String {
    let RuleOptions {
        max_tokens,
        max_chars,
        capture,
        hidden_bytes,
        stop_capture,
        hides_stop,
        lazy,
        temperature,
        distinct_items,
        distinct_at,
    } = options;
    let what = if *hides_stop { "stop" } else { "suffix" };
    let shown: Vec<String> = [
        max_tokens.map(|count| format!("max_tokens={count}")),
        max_chars.map(|count| format!("max_chars={count}")),
        capture.as_deref().map(|name| format!("capture={}", quoted(name))),
        (*hidden_bytes > 0).then(|| format!("capture_hidden_{what}_bytes={hidden_bytes}")),
        stop_capture.as_deref().map(|name| format!("stop_capture={}", quoted(name))),
        lazy.then(|| "lazy".to_owned()),
        temperature.map(|value| format!("temperature={value}")),
        distinct_items.then(|| match distinct_at {
            Some(place) => format!("distinct_items={}", quoted(place)),
            None => "distinct_items".to_owned(),
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    if shown.is_empty() { String::new() } else { format!("[{}]", shown.join(", ")) }
}

fn quantifier(min: u32, max: Option<u32>) -> String {
    match (min, max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) if min == max => format!("{{{min}}}"),
        (min, Some(max)) => format!("{{{min}, {max}}}"),
    }
}

/// Gives out names, each once.
struct Names {
    taken: HashSet<String>,
    /// The last number that was tried for a stem, so that many equal stems stay cheap.
    last: hashbrown::HashMap<String, u32>,
}

impl Names {
    fn give(&mut self, wanted: &str) -> String {
        let mut stem: String = wanted
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' })
            .collect();
        if !is_free_name(&stem) {
            stem.insert_str(0, "rule_");
        }
        if self.taken.insert(stem.clone()) {
            return stem;
        }
        let last = self.last.entry(stem.clone()).or_insert(0);
        loop {
            *last += 1;
            let name = format!("{stem}_{last}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The names of the rules, and of the expressions that get rules of their own.
struct Layout {
    rules: Vec<String>,
    /// By expression.
    helpers: Vec<Option<String>>,
}

impl Layout {
    fn new(grammar: &Grammar) -> Self {
        let mut names = Names { taken: HashSet::from(["root".to_owned()]), last: hashbrown::HashMap::new() };
        let rules = grammar
            .rules()
            .map(|(id, rule)| if id == grammar.root() { "root".to_owned() } else { names.give(&rule.name) });
        let rules: Vec<String> = rules.collect();
        let is_helper = find_helpers(grammar);
        let helpers = is_helper.into_iter().map(|is_helper| is_helper.then(|| names.give("part"))).collect();
        Layout { rules, helpers }
    }
}

/// Which expressions need a rule of their own in the text.
fn find_helpers(grammar: &Grammar) -> Vec<bool> {
    let uses = count_uses(grammar);
    let mut shares = false;
    let (mut is_helper, total) = measure(grammar, &uses, shares);
    let count = uses.iter().filter(|&&uses| uses > 0).count() as u64;
    if total > SMALL_TEXT.max(LARGEST_RATIO * count) {
        shares = true;
        (is_helper, _) = measure(grammar, &uses, shares);
    }
    is_helper
}

/// How often each expression is named by a rule or by an expression that is itself in use.
fn count_uses(grammar: &Grammar) -> Vec<u32> {
    let mut uses = vec![0_u32; grammar.exprs().len()];
    for (_, rule) in grammar.rules() {
        uses[rule.body.index()] += 1;
    }
    for at in (0..uses.len()).rev() {
        if uses[at] > 0 {
            let (children, _) = children(grammar.expr(ExprId(at as u32)));
            for child in children {
                uses[child.index()] += 1;
            }
        }
    }
    uses
}

/// Decides on helpers, children first, and gives the number of elements of the whole text.
fn measure(grammar: &Grammar, uses: &[u32], shares: bool) -> (Vec<bool>, u64) {
    let mut is_helper = vec![false; uses.len()];
    let mut sizes = vec![0_u64; uses.len()];
    let mut heights = vec![0_u32; uses.len()];
    for (id, expr) in grammar.exprs().filter(|(id, _)| uses[id.index()] > 0) {
        let (children, place) = children(expr);
        let mut size = 1_u64;
        let mut height = 0;
        for child in children {
            let at = child.index();
            let grouped = matches!(expr, Expr::JsonText { .. } | Expr::AtMost { .. })
                || binding(grammar.expr(*child)) < place;
            let nested = heights[at] + u32::from(grouped);
            let is_part = match expr {
                Expr::Members { .. } => !is_plain_part(grammar.expr(*child)),
                Expr::Tagged { .. } => !matches!(grammar.expr(*child), Expr::Rule(_)),
                _ => false,
            };
            if nested > DEEPEST || is_part {
                is_helper[at] = true;
            }
            if is_helper[at] {
                size = size.saturating_add(1);
            } else {
                size = size.saturating_add(sizes[at]);
                height = height.max(nested);
            }
        }
        is_helper[id.index()] = shares && uses[id.index()] > 1 && size >= SMALL_EXPR;
        sizes[id.index()] = size;
        heights[id.index()] = height;
    }
    let bodies = grammar.rules().map(|(_, rule)| sizes[rule.body.index()]);
    (is_helper, bodies.fold(0, u64::saturating_add))
}

/// Whether a part of a list needs no rule of its own: a string, or the name of a rule.
fn is_plain_part(expr: &Expr) -> bool {
    match expr {
        Expr::Bytes(bytes) => std::str::from_utf8(bytes).is_ok(),
        Expr::Empty | Expr::Rule(_) => true,
        _ => false,
    }
}

/// What is still to be printed.
enum Piece {
    Text(String),
    Expr(ExprId, Binding),
}

impl Grammar {
    fn print_expr(&self, layout: &Layout, root: ExprId, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stack = vec![Piece::Expr(root, Binding::Alternatives)];
        let mut is_root = true;
        while let Some(piece) = stack.pop() {
            let (id, place) = match piece {
                Piece::Text(text) => {
                    out.write_str(&text)?;
                    continue;
                }
                Piece::Expr(id, place) => (id, place),
            };
            if let Some(name) = layout.helpers[id.index()].as_ref().filter(|_| !is_root) {
                out.write_str(name)?;
                continue;
            }
            is_root = false;
            let expr = self.expr(id);
            if binding(expr) < place {
                out.write_char('(')?;
                stack.push(Piece::Text(")".to_owned()));
            }
            match expr {
                Expr::Alt(_) => push_joined(&mut stack, expr, " | "),
                Expr::And(_) => push_joined(&mut stack, expr, " & "),
                Expr::Seq(_) => push_joined(&mut stack, expr, " "),
                Expr::Not(item) => {
                    out.write_char('~')?;
                    stack.push(Piece::Expr(*item, Binding::Quantified));
                }
                Expr::Repeat { body, min, max } => {
                    stack.push(Piece::Text(quantifier(*min, *max)));
                    stack.push(Piece::Expr(*body, Binding::Atom));
                }
                Expr::Members { parts, .. } | Expr::Tagged { parts, .. } => {
                    let name = |part: &ExprId| match &layout.helpers[part.index()] {
                        Some(name) => name.clone(),
                        None => leaf_text(self.expr(*part), &layout.rules),
                    };
                    let parts: Vec<String> = parts.iter().map(name).collect();
                    out.write_str(&match expr {
                        Expr::Members { layout: list, .. } => members(list, &parts),
                        Expr::Tagged { text, repeats, .. } => tagged(text, &parts, *repeats),
                        _ => String::new(),
                    })?;
                }
                Expr::JsonText { text, escapes } => {
                    out.write_str("JsonText(")?;
                    let end = match escapes {
                        Escapes::Any => ")".to_owned(),
                        some => format!(", {})", quoted(some.name())),
                    };
                    stack.push(Piece::Text(end));
                    stack.push(Piece::Expr(*text, Binding::Alternatives));
                }
                Expr::AtMost { body, most } => {
                    out.write_str("AtMost(")?;
                    stack.push(Piece::Text(format!(", {most})")));
                    stack.push(Piece::Expr(*body, Binding::Alternatives));
                }
                leaf => out.write_str(&leaf_text(leaf, &layout.rules))?,
            }
        }
        Ok(())
    }
}

fn push_joined(stack: &mut Vec<Piece>, expr: &Expr, separator: &str) {
    let (items, place) = children(expr);
    for (at, &item) in items.iter().enumerate().rev() {
        stack.push(Piece::Expr(item, place));
        if at > 0 {
            stack.push(Piece::Text(separator.to_owned()));
        }
    }
}

fn leaf_text(expr: &Expr, names: &[String]) -> String {
    match expr {
        Expr::Empty => "\"\"".to_owned(),
        Expr::Bytes(text) => bytes(text),
        Expr::Marker(text) => format!("Marker({})", quoted(text)),
        Expr::Class(set) => class(set),
        Expr::Automaton(automaton) => {
            bare(&automaton.source).map_or(&*automaton.source, |(inner, _)| inner).to_owned()
        }
        Expr::Rule(rule) => names[rule.index()].clone(),
        Expr::Token(set) => tokens(set),
        Expr::TagDispatch(dispatch) => tag_dispatch(dispatch, names),
        Expr::TokenTagDispatch(dispatch) => token_tag_dispatch(dispatch, names),
        // The others have children and do not come here.
        _ => "[]".to_owned(),
    }
}

impl fmt::Display for Grammar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = Layout::new(self);
        let root = std::iter::once(self.root());
        let others = self.rules().map(|(id, _)| id).filter(|&id| id != self.root());
        for id in root.chain(others) {
            let rule = self.rule(id);
            write!(out, "{}{} ::= ", layout.rules[id.index()], options(&rule.options))?;
            match &layout.helpers[rule.body.index()] {
                Some(name) => out.write_str(name)?,
                None => self.print_expr(&layout, rule.body, out)?,
            }
            out.write_char('\n')?;
        }
        for (id, _) in self.exprs() {
            if let Some(name) = &layout.helpers[id.index()] {
                write!(out, "{name} ::= ")?;
                self.print_expr(&layout, id, out)?;
                out.write_char('\n')?;
            }
        }
        Ok(())
    }
}
