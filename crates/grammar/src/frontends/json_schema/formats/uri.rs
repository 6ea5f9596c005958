//! URIs and their references, RFC 3986, and the same with characters of any language, RFC 3987.
//!
//! The two documents have one grammar, and differ in which characters stand for themselves. Paths are written as one
//! loop over characters and slashes, not as a loop of segments in which characters loop: it is the same language with
//! fewer states. Characters that direct the writing (such as U+200E) are in the ranges of RFC 3987, but its section 4.1
//! forbids them, so they are left out.

use super::ip;
use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

/// Characters of other languages that IRIs may hold anywhere, as the inside of a class.
const LANGUAGES: &str = "\u{a0}-\u{200d}\u{2010}-\u{2029}\u{202f}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}\
    \u{10000}-\u{1fffd}\u{20000}-\u{2fffd}\u{30000}-\u{3fffd}\u{40000}-\u{4fffd}\u{50000}-\u{5fffd}\
    \u{60000}-\u{6fffd}\u{70000}-\u{7fffd}\u{80000}-\u{8fffd}\u{90000}-\u{9fffd}\u{a0000}-\u{afffd}\
    \u{b0000}-\u{bfffd}\u{c0000}-\u{cfffd}\u{d0000}-\u{dfffd}\u{e1000}-\u{efffd}";
/// Characters for private use, which IRIs may hold in their query only.
const PRIVATE: &str = "\u{e000}-\u{f8ff}\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}";

/// Characters of ASCII that stand for themselves in every part but the scheme.
const PLAIN: &str = "A-Za-z0-9\\-._~!$&'()*+,;=";

/// The characters beyond ASCII that stand for themselves.
struct Repertoire {
    anywhere: &'static str,
    in_queries: &'static str,
}

const OF_URI: Repertoire = Repertoire { anywhere: "", in_queries: "" };
const OF_IRI: Repertoire = Repertoire { anywhere: LANGUAGES, in_queries: PRIVATE };

impl Repertoire {
    /// One character: plain, of `more`, or percent-encoded.
    fn one(&self, more: &str) -> String {
        format!("(?:[{PLAIN}{more}{}]|%[0-9A-Fa-f]{{2}})", self.anywhere)
    }

    /// Characters of a path with its slashes.
    fn path(&self) -> String {
        self.one(":@/") + "*"
    }
}

pub(super) fn uri(texts: &mut Texts<'_>) -> Result<ExprId> {
    absolute(texts, &OF_URI)
}

pub(super) fn uri_reference(texts: &mut Texts<'_>) -> Result<ExprId> {
    reference(texts, &OF_URI)
}

pub(super) fn iri(texts: &mut Texts<'_>) -> Result<ExprId> {
    absolute(texts, &OF_IRI)
}

pub(super) fn iri_reference(texts: &mut Texts<'_>) -> Result<ExprId> {
    reference(texts, &OF_IRI)
}

fn absolute(texts: &mut Texts<'_>, of: &Repertoire) -> Result<ExprId> {
    let scheme = texts.pattern("[A-Za-z][A-Za-z0-9+.\\-]*:")?;
    let hierarchy = hierarchy(texts, of, ":@")?;
    let ends = query_and_fragment(texts, of)?;
    Ok(texts.seq([scheme, hierarchy, ends]))
}

fn reference(texts: &mut Texts<'_>, of: &Repertoire) -> Result<ExprId> {
    let absolute = absolute(texts, of)?;
    // Without a scheme, a colon in the first segment would be read as the end of one.
    let hierarchy = hierarchy(texts, of, "@")?;
    let ends = query_and_fragment(texts, of)?;
    let relative = texts.seq([hierarchy, ends]);
    Ok(texts.alt([absolute, relative]))
}

/// An authority with its path, or a path alone, which does not begin with `//`; `first` are the characters, beside the
/// plain ones, of the first segment of a path that begins without a slash.
fn hierarchy(texts: &mut Texts<'_>, of: &Repertoire, first: &str) -> Result<ExprId> {
    let slashes = texts.literal("//");
    let authority = authority(texts, of)?;
    let path = of.path();
    let path_after_authority = texts.pattern(&format!("(?:/{path})?"))?;
    let with_authority = texts.seq([slashes, authority, path_after_authority]);
    let (one, first) = (of.one(":@"), of.one(first));
    let path_alone = texts.pattern(&format!("(?:/(?:{one}{path})?|{first}+(?:/{path})?)?"))?;
    Ok(texts.alt([with_authority, path_alone]))
}

fn authority(texts: &mut Texts<'_>, of: &Repertoire) -> Result<ExprId> {
    let user = texts.pattern(&format!("(?:{}*@)?", of.one(":")))?;
    // An IPv4 address is also a registered name.
    let name = texts.pattern(&format!("{}*", of.one("")))?;
    let [open, close] = ["[", "]"].map(|bracket| texts.literal(bracket));
    let address = ip::ipv6(texts)?;
    let future = texts.pattern(&format!("[Vv][0-9A-Fa-f]+\\.[{PLAIN}:]+"))?;
    let address = texts.alt([address, future]);
    let literal = texts.seq([open, address, close]);
    let host = texts.alt([name, literal]);
    let port = texts.pattern("(?::[0-9]*)?")?;
    Ok(texts.seq([user, host, port]))
}

fn query_and_fragment(texts: &mut Texts<'_>, of: &Repertoire) -> Result<ExprId> {
    let query = of.one(&format!(":@/?{}", of.in_queries));
    texts.pattern(&format!("(?:\\?{query}*)?(?:#{}*)?", of.one(":@/?")))
}
