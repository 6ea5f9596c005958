//! The values of the keyword `format`, each as the regular language of the texts that it allows.
//!
//! A language here is one of *texts*: code points in UTF-8, before they are spelled as a JSON string. It is never wider
//! than the document that defines the format. Where that document asks for more than a regular language can say (that
//! Punycode decodes to something valid, that parentheses match at any depth), or for an automaton too large to be worth
//! it, the language is narrower: fewer texts can be written, but none that is wrong. The [`Format::narrower`] line of a
//! format says what is left out; without such a line the language is exact. Where a schema asks for what is *not* of such
//! a format, all texts are left out that may be: those of [`Format::wider`].
//!
//! Most formats are small automata. Each of those is made when somebody first asks for it and kept for the process
//! (`Form::Automaton`), so that a schema with a date costs the interning of one expression, and no pass has to look into
//! it. The others count something, or are large; they stay expressions, which the engine reads as they are, and are kept
//! for the process as well.
//!
//! A new format is a function from `Texts` to an expression and a line in [`REGISTRY`]. A name that is not listed is
//! an annotation, and what becomes of it is for the caller to say.

mod date_time;
mod duration;
mod email;
mod hostname;
mod idn_hostname;
mod ip;
mod json_pointer;
mod regex;
mod texts;
mod uri;
mod uri_template;
mod uuid;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::frontends::regex::{Syntax, parse_named};
use crate::ir::{Automaton, Builder, ExprId, Fragment};
use crate::limits::{Budget, Limits};
use crate::regular::determinize;
use texts::Texts;

/// A format: its name, and what it stands for here.
#[derive(Debug)]
pub struct Format {
    /// The value of the keyword.
    pub name: &'static str,
    /// What the texts are, in one line.
    pub about: &'static str,
    /// What the defining document allows and this language leaves out; `None` where the language is exact.
    pub narrower: Option<&'static str>,
    /// A pattern that matches all texts of the defining document, and as few others as is easily said; `None` where the
    /// language is exact.
    pub wider: Option<&'static str>,
    /// The length of the longest text in code points; `None` where there is no longest. A `maxLength` of as much or more
    /// says nothing, and to count it would multiply the language by it.
    pub longest: Option<u32>,
    /// How its language is given to grammars.
    form: Form,
    build: fn(&mut Texts<'_>) -> Result<ExprId>,
}

/// How the language of a format is given to grammars.
#[derive(Debug)]
enum Form {
    /// As an expression, which is kept too.
    Expression(OnceLock<Fragment>),
    /// As an automaton, which is kept once it was asked for.
    Automaton(OnceLock<Automaton>),
}

impl Format {
    /// The language of its texts.
    fn language(&self, builder: &mut Builder, budget: &Budget) -> Result<ExprId> {
        match &self.form {
            Form::Expression(kept) => {
                let make = || self.build(|builder, root, _| Ok(Fragment::new(builder, root)));
                made_once(kept, make)?.copy_into(builder, budget)
            }
            Form::Automaton(kept) => {
                let make = || self.build(|builder, root, budget| self.automaton(builder, root, budget));
                Ok(builder.automaton(made_once(kept, make)?.clone()))
            }
        }
    }

    /// What becomes of its expression. That is the same for everybody, so no caller's limits go into it.
    fn build<T>(&self, then: impl FnOnce(&Builder, ExprId, &Budget) -> Result<T>) -> Result<T> {
        let (mut builder, budget) = (Builder::new(&Limits::default()), Budget::default());
        let root = (self.build)(&mut Texts::new(&mut builder, &budget))?;
        then(&builder, root, &budget)
    }

    fn automaton(&self, builder: &Builder, root: ExprId, budget: &Budget) -> Result<Automaton> {
        let dfa = Arc::new(determinize(builder, root, budget)?);
        Ok(Automaton { source: format!("Format(\"{}\")", self.name).into(), dfa: dfa.into() })
    }
}

/// What is kept, made now if it is not there.
fn made_once<T>(kept: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(known) = kept.get() {
        return Ok(known);
    }
    let new = make()?;
    Ok(kept.get_or_init(|| new))
}

/// The language of the texts of the format `name`, or `None` where no format has that name.
pub fn language(name: &str, builder: &mut Builder, budget: &Budget) -> Option<Result<ExprId>> {
    Some(find(name)?.language(builder, budget))
}

/// What is written of the format `name` where nothing asks for the rest of it, if that is less than its language.
pub fn brief(name: &str, builder: &mut Builder, budget: &Budget) -> Option<Result<ExprId>> {
    let (name, kept) = BRIEF.iter().find(|(known, _)| *known == name)?;
    let make = || {
        let (mut own, budget) = (Builder::new(&Limits::default()), Budget::default());
        let (few, source) = parse_named(FEW_DIGITS, &Syntax::whole(), &mut own, &budget)?;
        let whole = language(name, &mut own, &budget).unwrap_or_else(|| Ok(own.never()))?;
        let both = own.and([whole, few]);
        let dfa = Arc::new(determinize(&own, both, &budget)?);
        Ok(Automaton { source: format!("(Format(\"{name}\") & {source})").into(), dfa: dfa.into() })
    };
    Some(budget.tick().and_then(|()| made_once(kept, make)).map(|known| builder.automaton(known.clone())))
}

/// The format `name`, or `None` where no format has that name.
pub fn find(name: &str) -> Option<&'static Format> {
    REGISTRY.iter().find(|format| format.name == name)
}

/// The names of all formats.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|format| format.name)
}

/// A fraction of a second of at most nine digits, or none: RFC 3339 allows any number of them.
const FEW_DIGITS: &str = r"[^.]*(\.[0-9]{1,9}[^.0-9][^.]*)?";

/// What becomes of fractions of seconds where nothing asks for long ones.
pub const BRIEF_NOTE: &str =
    "a fraction of a second has at most nine digits, unless what stands beside it asks for more";

/// The formats with fractions of seconds, without the long ones.
static BRIEF: [(&str, OnceLock<Automaton>); 2] = [("date-time", OnceLock::new()), ("time", OnceLock::new())];

/// Whether less of the format `name` is written than its language, where nothing asks for the rest.
pub fn is_brief(name: &str) -> bool {
    BRIEF.iter().any(|(known, _)| *known == name)
}

/// All formats, in the order of the documentation.
pub static REGISTRY: [Format; 19] = [
    Format {
        name: "date-time",
        about: "a date, `T`, and a time with its offset (RFC 3339), on days that the calendar has",
        narrower: Some(
            "a leap second stands at the end of June or December in UTC, with an offset of whole hours",
        ),
        wider: Some(
            r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
        ),
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: date_time::date_time,
    },
    Format {
        name: "date",
        about: "a day that the Gregorian calendar has, as `2024-02-29` (RFC 3339)",
        narrower: None,
        wider: None,
        longest: Some(10),
        form: Form::Automaton(OnceLock::new()),
        build: date_time::date,
    },
    Format {
        name: "time",
        about: "a time of day with its offset, as `23:59:59.5+01:00` (RFC 3339)",
        narrower: Some("a leap second, 23:59:60 in UTC, has an offset of whole hours"),
        wider: Some(r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"),
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: date_time::time,
    },
    Format {
        name: "duration",
        about: "a duration, as `P1Y2M3DT4H5M6S` or `P2W` (RFC 3339, appendix A)",
        narrower: Some("letters are capitals, as in ISO 8601"),
        wider: Some(r"^[Pp][0-9A-Za-z.,]+$"),
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: duration::duration,
    },
    Format {
        name: "email",
        about: "a mail address (RFC 5321), quoted local parts and address literals among them",
        narrower: Some(
            "the last label of a domain begins with a letter, and no label with `xn--`, as in `hostname`; an address \
             literal is IPv4 without leading zeros, or IPv6",
        ),
        wider: Some(r"^[^]+@[^]+$"),
        longest: Some(254),
        form: Form::Expression(OnceLock::new()),
        build: email::email,
    },
    Format {
        name: "idn-email",
        about: "a mail address with letters of any language (RFC 6531)",
        narrower: Some(
            "as `email`, with a domain without `--` in third place, of up to two labels of 41 characters and then up to \
             five of 20, or of up to three labels as in `idn-hostname`; a local part that is not ASCII has at most 32, 21 \
             or 16 characters, as they take up to 2, 3 or 4 bytes",
        ),
        wider: Some(r"^[^]+@[^]+$"),
        longest: Some(253),
        form: Form::Expression(OnceLock::new()),
        build: email::idn_email,
    },
    Format {
        name: "hostname",
        about: "a host name (RFC 1123) of labels of at most 63 characters, at most 253 in all",
        narrower: Some(
            "no label begins with `xn--`, since Punycode cannot be checked; a single label is not of digits alone, and \
             the last of several begins with a letter",
        ),
        wider: Some(r"^[A-Za-z0-9.-]*[A-Za-z-][A-Za-z0-9.-]*$|^[0-9]+\.?$"),
        longest: Some(253),
        form: Form::Expression(OnceLock::new()),
        build: hostname::hostname,
    },
    Format {
        name: "idn-hostname",
        about: "a host name with letters of many languages (RFC 5890 to 5893)",
        narrower: Some(
            "as `hostname`, without `--` in third place, and with up to two labels of 63 characters and then up to five of \
             24 where there are several; a name that is not ASCII has at most four labels, each of \
             one script (Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, Japanese, Chinese, Korean) and of \
             at most 14 letters, 10 in the last three; no joiners or other characters that depend on their context",
        ),
        wider: Some(
            r"^[^\x00-,/:-@\[-`{-\x7f]*[^\x00-,./0-9:-@\[-`{-\x7f][^\x00-,/:-@\[-`{-\x7f]*$|^[0-9]+\.?$",
        ),
        longest: Some(252),
        form: Form::Expression(OnceLock::new()),
        build: idn_hostname::idn_hostname,
    },
    Format {
        name: "ipv4",
        about: "an IPv4 address as four decimal numbers (RFC 2673)",
        narrower: None,
        wider: None,
        longest: Some(15),
        form: Form::Automaton(OnceLock::new()),
        build: ip::ipv4,
    },
    Format {
        name: "ipv6",
        about: "an IPv6 address (RFC 4291) without a zone; the end may be written as IPv4",
        narrower: None,
        wider: None,
        longest: Some(45),
        form: Form::Automaton(OnceLock::new()),
        build: ip::ipv6,
    },
    Format {
        name: "uri",
        about: "a URI with its scheme (RFC 3986)",
        narrower: None,
        wider: None,
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: uri::uri,
    },
    Format {
        name: "uri-reference",
        about: "a URI or a relative reference (RFC 3986)",
        narrower: None,
        wider: None,
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: uri::uri_reference,
    },
    Format {
        name: "iri",
        about: "a URI with its scheme and characters of any language (RFC 3987)",
        narrower: None,
        wider: None,
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: uri::iri,
    },
    Format {
        name: "iri-reference",
        about: "an IRI or a relative reference (RFC 3987)",
        narrower: None,
        wider: None,
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: uri::iri_reference,
    },
    Format {
        name: "uri-template",
        about: "a URI template of any level (RFC 6570)",
        narrower: Some("no operators that are reserved for later (`=`, `,`, `!`, `@`, `|`)"),
        wider: Some(r"^[^\x00-\x20\x22<>\\^`\x7f]*$"),
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: uri_template::uri_template,
    },
    Format {
        name: "uuid",
        about: "a UUID as 32 hexadecimal digits in five groups (RFC 4122)",
        narrower: None,
        wider: None,
        longest: Some(36),
        form: Form::Automaton(OnceLock::new()),
        build: uuid::uuid,
    },
    Format {
        name: "json-pointer",
        about: "a JSON Pointer as a plain string (RFC 6901)",
        narrower: None,
        wider: None,
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: json_pointer::json_pointer,
    },
    Format {
        name: "relative-json-pointer",
        about: "a JSON Pointer that first goes up some levels",
        narrower: Some("no `+n` or `-n` that moves along an array, which not all drafts have"),
        wider: Some(r"^[0-9][^]*$"),
        longest: None,
        form: Form::Automaton(OnceLock::new()),
        build: json_pointer::relative_json_pointer,
    },
    Format {
        name: "regex",
        about: "a regular expression of ECMA-262, valid with and without its flag `u`",
        narrower: Some(
            "groups nest four deep, and once inside of assertions, which stand at the top or in one group; no names, \
             backreferences, `\\0`, `\\u{...}` or halves of surrogate pairs, and no properties but general \
             categories; ranges in classes and of quantifiers only where their order is plain to see",
        ),
        wider: Some(r"^[^]*$"),
        longest: None,
        form: Form::Expression(OnceLock::new()),
        build: regex::regex,
    },
];
