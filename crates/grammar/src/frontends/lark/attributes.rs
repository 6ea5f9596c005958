//! Attributes of rules: what stands between `[` and `]` right behind a rule's name.

use super::ast::{Attributes, Body, Marker, Node, is_terminal};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::{Error, Result};
use crate::frontends::ebnf::nearest;

const NAMES: [&str; 8] =
    ["capture", "lazy", "suffix", "stop", "stop_capture", "max_tokens", "max_chars", "temperature"];

impl Parser<'_, '_> {
    /// Reads the attributes of `rule`, whose `[` comes next.
    pub(super) fn attributes(&mut self, rule: &str) -> Result<Attributes> {
        let mut attributes = Attributes { at: self.at(), ..Attributes::default() };
        if is_terminal(rule) {
            return Err(self
                .unsupported(attributes.at, format!("`{rule}` is a terminal, and only rules have attributes"))
                .with_help("make a rule of it, whose name begins with a small letter"));
        }
        self.bump()?;
        let mut seen: Vec<&str> = Vec::new();
        let mut stop_capture = None;
        loop {
            let at = self.at();
            let name = self.name("the name of an attribute")?;
            if seen.contains(&name) {
                return Err(Error::syntax(self.source, at, format!("the attribute `{name}` is given twice")));
            }
            seen.push(name);
            match name {
                "stop_capture" => stop_capture = Some((self.text_value(name)?, at)),
                "suffix" | "stop" if attributes.marker.is_some() => {
                    return Err(Error::syntax(self.source, at, "a rule has either a `suffix` or a `stop`"));
                }
                "suffix" | "stop" => {
                    self.equals(name)?;
                    attributes.marker = self.marker(name)?;
                }
                _ => self.option(name, at, rule, &mut attributes)?,
            }
            if !self.take(",")? {
                break;
            }
        }
        self.expect("]")?;
        if let Some((capture, at)) = stop_capture {
            match &mut attributes.marker {
                Some(marker) => marker.capture = Some(capture),
                None => return Err(Error::syntax(self.source, at, "`stop_capture` needs a `stop`")),
            }
        }
        Ok(attributes)
    }

    fn option(&mut self, name: &str, at: usize, rule: &str, attributes: &mut Attributes) -> Result<()> {
        let options = &mut attributes.options;
        match name {
            "lazy" => options.lazy = true,
            "capture" if self.is_mark("=") => options.capture = Some(self.text_value(name)?),
            "capture" => options.capture = Some(rule.to_owned()),
            "max_tokens" => options.max_tokens = Some(self.number_value(name)?),
            "max_chars" => options.max_chars = Some(self.number_value(name)?),
            "temperature" => {
                let value: f32 = self.number_value(name)?;
                if !value.is_finite() {
                    return Err(Error::syntax(self.source, at, "a temperature is a finite number"));
                }
                options.temperature = Some(value);
            }
            _ => {
                let error =
                    Error::syntax(self.source, at, format!("there is no attribute `{name}` of a rule"));
                return Err(match nearest(name, NAMES) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help(format!("the attributes are {}", NAMES.join(", "))),
                });
            }
        }
        Ok(())
    }

    fn equals(&mut self, name: &str) -> Result<()> {
        if self.take("=")? { Ok(()) } else { Err(self.expected(&format!("`=` and a value for `{name}`"))) }
    }

    fn text_value(&mut self, name: &str) -> Result<String> {
        self.equals(name)?;
        match self.peek() {
            TokenKind::Literal { text, ignore_case: false } if !text.is_empty() => {
                let text = text.clone().into_owned();
                self.bump()?;
                Ok(text)
            }
            _ => Err(self.expected(&format!("a name in double quotes for `{name}`"))),
        }
    }

    fn number_value<T: std::str::FromStr>(&mut self, name: &str) -> Result<T> {
        self.equals(name)?;
        let at = self.at();
        let TokenKind::Number(text) = *self.peek() else {
            return Err(self.expected(&format!("a number that is not negative for `{name}`")));
        };
        self.bump()?;
        text.parse().map_err(|_| Error::syntax(self.source, at, format!("`{name}` does not go this far")))
    }

    /// What ends a rule: a string, a regex or a terminal. An empty string is the end of the text, and so nothing.
    fn marker(&mut self, name: &str) -> Result<Option<Marker>> {
        let at = self.at();
        let fits = match self.peek() {
            TokenKind::Literal { .. } | TokenKind::Regex { .. } => true,
            TokenKind::Name(name) => is_terminal(name),
            _ => false,
        };
        if !fits {
            return Err(self.expected(&format!("a string, a regex or a terminal for `{name}`")));
        }
        let first = self.texts.next_node();
        let root = self.atom()?;
        match self.texts.node(root) {
            Node::Text { text, .. } if text.is_empty() && name == "stop" => Ok(None),
            Node::Text { text, .. } if text.is_empty() => {
                Err(Error::syntax(self.source, at, "a suffix cannot be empty"))
            }
            _ => Ok(Some(Marker { body: Body { first, root }, capture: None, is_stop: name == "stop" })),
        }
    }
}
