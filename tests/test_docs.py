"""The documents: their examples run and print what they say, and their tables agree with the code.

A ``python`` block is run, the blocks of a file top to bottom in one namespace. If a ``text`` block follows it directly,
that is what the block must print.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

import tokenstile as xgr
from tests import error_page

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# Examples that need a model, or a library that is not there: they are run by the tests that have it.
RUN_ELSEWHERE = {
    ROOT / "README.md",
    *(ROOT / "docs" / page for page in ("engine.md", "generate.md", "gpu.md", "quick-start.md", "server.md")),
    *ROOT.glob("docs/integrations/*.md"),
}
# Other names for what is there, kept for code that was written for XGrammar, and what its own module's page has.
UNDOCUMENTED = {
    "StructuralTag",
    "StructuralTagItem",
    "__version__",
    "bitmask_dtype",
    "get_builtin_structural_tag",
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:crates|python|tests|testdata|docs|fuzz|examples|benchmarks)/[\w./-]+)`")
TABLE_ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)


def name(path):
    return str(path.relative_to(ROOT))


def examples(path):
    """Give the code of each example, the line that it begins in, and what it prints, if that is said."""
    text = path.read_text(encoding="utf-8")
    blocks = list(FENCE.finditer(text))
    for at, block in enumerate(blocks):
        if block[1] != "python":
            continue
        follower = blocks[at + 1] if at + 1 < len(blocks) else None
        said = None
        if follower and follower[1] == "text" and not text[block.end() : follower.start()].strip():
            said = follower[2]
        yield block[2], text.count("\n", 0, block.start(2)), said


def table(path, heading):
    """Give the rows of the table under a heading: the first cell's name, and the other cells."""
    _, _, section = path.read_text(encoding="utf-8").partition(heading)
    section = section.split("\n## ")[0]
    return {row[1]: [cell.strip() for cell in row[2].split(" | ")] for row in TABLE_ROW.finditer(section)}


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path not in RUN_ELSEWHERE and list(examples(path))], ids=name
)
def test_examples(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(path)


def run_examples(path, rewrite=str):
    """Run the examples of a document, each rewritten to fit the machine, and compare what they print."""
    namespace = {"__name__": "example"}
    for code, line, said in examples(path):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # Blank lines before it, so that a traceback shows the line of the document.
            program = compile("\n" * line + rewrite(code), name(path), "exec", dont_inherit=True)
            exec(program, namespace)  # noqa: S102 - our own documents
        if said is not None:
            assert printed.getvalue() == said, f"{name(path)}, the example in line {line + 1}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_code_has_a_language_that_is_known(path):
    """A block of Python under another name would not be run."""
    known = {"", "bash", "console", "json", "lark", "mermaid", "python", "sh", "text", "toml", "ebnf"}
    assert {block[1] for block in FENCE.finditer(path.read_text(encoding="utf-8"))} <= known


def test_there_are_examples():
    assert sum(len(list(examples(path))) for path in DOCUMENTS) > 20


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_and_paths_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        assert (path.parent / target).exists(), target
    for target in PATH.findall(text):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize(
    ("document", "heading"), [("docs/limits.md", "## Limits of a compiler"), ("SECURITY.md", "## Limits")]
)
def test_limits(document, heading):
    said = {field: cells[0] for field, cells in table(ROOT / document, heading).items()}
    assert said == {field.name: f"{field.default:,}" for field in fields(xgr.Limits)}


def test_the_table_of_errors_is_up_to_date():
    page = error_page.PAGE.read_text(encoding="utf-8")
    assert error_page.BEGIN in page
    assert page == error_page.written(page), "run make pages"
    assert {error.__name__ for error in error_page.classes()} >= set(xgr.exceptions.__all__)


def test_all_pages_are_listed():
    listed = LINK.findall((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    pages = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    described = {page for page in pages if not page.startswith("reference/")} | {"reference/index.md"}
    assert described - {"README.md"} <= set(listed)
    assert (
        set(in_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])) == pages
    )


def in_navigation(part):
    """Give the pages of the site's navigation."""
    if isinstance(part, str):
        yield part
    else:
        for entry in part.values() if isinstance(part, dict) else part:
            yield from in_navigation(entry)


def test_the_reference_names_what_is_there():
    """Each object of the reference exists; those that need a library that is missing are looked up by their module."""
    for path in ROOT.glob("docs/reference/*.md"):
        for reference in re.findall(r"^::: ([\w.]+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert is_there(reference), f"{name(path)}: {reference}"


def is_there(reference):
    module, _, attribute = reference.rpartition(".")
    with contextlib.suppress(ImportError):
        if importlib.util.find_spec(reference) is not None:
            return True
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ImportError:
        source = Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8")
        return re.search(rf"^(class|def) {attribute}\b", source, re.MULTILINE) is not None


def test_all_public_names_are_in_the_reference():
    pages = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/reference/*.md"))
    errors = set(xgr.exceptions.__all__)
    modules = {public for public in xgr.__all__ if inspect.ismodule(getattr(xgr, public))}
    missing = (
        set(xgr.__all__) - errors - modules - set(re.findall(r"^::: tokenstile\.(\w+)$", pages, re.MULTILINE))
    )
    assert missing <= UNDOCUMENTED, missing - UNDOCUMENTED
