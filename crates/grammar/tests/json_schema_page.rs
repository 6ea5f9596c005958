//! `docs/json_schema_keywords.md` is made of the registries of keywords and formats, and this test is what makes it.
//!
//! `TOKENSTILE_UPDATE=1 cargo test -p tokenstile-grammar --test json_schema_page` writes the page; without the variable
//! the test fails if the page is not what the registries say.

use std::fmt::Write;
use std::path::PathBuf;

use tokenstile_grammar::frontends::json_schema::documents::Draft;
use tokenstile_grammar::frontends::json_schema::formats;
use tokenstile_grammar::frontends::json_schema::keywords::{Keyword, REGISTRY};

const HEAD: &str = "\
# Keywords of JSON Schema

Made from the sources by `make pages`; see [json_schema.md](json_schema.md) for what they have in common. A keyword that
is not listed says nothing, as JSON Schema has it. So does one that the draft of the schema does not have.

## Keywords

| keyword | drafts | what it does |
|---|---|---|
";

const REMARKS: &str = "
## Keywords that enforce nothing

They are read by others, or say where a schema is and what it is called, or are remarks.

| keyword | drafts | what it is |
|---|---|---|
";

const FORMATS: &str = "
## Formats

The languages are never wider than the document that defines the format. Where a format is narrower, the report says so:
all that can be written is valid, and what the last column names cannot be written. A format that is not listed is an
annotation.

| format | texts | left out |
|---|---|---|
";

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json_schema_keywords.md"))
}

fn name(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft4 => "4",
        Draft::Draft6 => "6",
        Draft::Draft7 => "7",
        Draft::Draft201909 => "2019-09",
        Draft::Draft202012 => "2020-12",
    }
}

fn drafts(keyword: &Keyword) -> String {
    match (keyword.since, keyword.until) {
        (Draft::Draft4, Draft::Draft202012) => "all".to_owned(),
        (since, until) if since == until => name(since).to_owned(),
        (since, Draft::Draft202012) => format!("from {}", name(since)),
        (Draft::Draft4, until) => format!("up to {}", name(until)),
        (since, until) => format!("{} to {}", name(since), name(until)),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn rows(page: &mut String, acts: bool) {
    for keyword in REGISTRY.iter().filter(|keyword| keyword.acts() == acts) {
        let _ = writeln!(page, "| `{}` | {} | {} |", keyword.name, drafts(keyword), cell(keyword.summary));
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    rows(&mut page, true);
    page.push_str(REMARKS);
    rows(&mut page, false);
    page.push_str(FORMATS);
    for format in &formats::REGISTRY {
        let narrower = format.narrower.unwrap_or_default();
        let _ = writeln!(page, "| `{}` | {} | {} |", format.name, cell(format.about), cell(narrower));
    }
    page
}

#[test]
fn the_page_is_what_the_registries_say() {
    if std::env::var_os("TOKENSTILE_UPDATE").is_some() {
        std::fs::write(path(), page()).expect("the page can be written");
    }
    let found = std::fs::read_to_string(path()).unwrap_or_default();
    assert!(found == page(), "docs/json_schema_keywords.md is out of date: run `make pages`");
}
