"""The playground in a real browser. Skipped where there is none."""

from __future__ import annotations

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, address, request):
    """The page, which must not complain, and never be wider than its window."""
    context = browser.new_context(viewport=request.param)
    page = context.new_page()
    page.set_default_timeout(60_000)
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: (
            complaints.append(said.text) if said.type == "error" and "400" not in said.text else None
        ),
    )
    page.goto(address)
    settle(page)
    yield page
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= request.param["width"]
    context.close()


def painted(page, kind):
    return [span.text_content() for span in page.query_selector_all(f"#text-editor .token.{kind}")]


def settle(page):
    """Wait until what is shown is what was asked last."""
    page.wait_for_selector("#summary[aria-busy=false]")


def summary(page):
    settle(page)
    return page.text_content("#summary")


def test_it_opens_with_an_example(page):
    assert painted(page, "refused") == ["London"]
    assert "could be" in page.text_content("#refusal")
    assert "does not fit" in page.text_content("#summary")
    assert "Paris" in page.text_content("#allowed")
    sync_api.expect(page.locator("#model")).to_contain_text("stub")


def test_typing(page):
    assert page.is_visible("#compact")
    page.select_option("#kind", "regex")
    page.fill("#grammar", "[0-9]{2}-x")
    page.fill("#text", "12-y")
    assert "does not fit" in summary(page)
    assert not page.is_visible("#compact"), "it says nothing about a regex"
    assert "x" in page.text_content("#refusal")
    page.fill("#text", "12-")
    assert "fits so far" in summary(page)
    page.click("#allowed button:has-text('x')")
    assert "complete" in summary(page)
    assert page.input_value("#text") == "12-x"


def test_the_cursor_moves_by_keyboard(page):
    page.select_option("#kind", "regex")
    page.fill("#grammar", "abc|abd")
    page.fill("#text", "abc")
    assert "complete" in summary(page)
    page.focus("#text")
    page.keyboard.press("Home")
    sync_api.expect(page.locator("#facts")).to_contain_text('"ab"')


def test_errors_are_shown_in_their_place(page):
    page.fill("#grammar", '{"properties": {"a": {"minimum": "zero"}}}')
    settle(page)
    assert "/properties/a/minimum" in page.text_content("#grammar-error")
    assert page.text_content("#grammar-editor mark") == '"minimum": "zero"'
    page.select_option("#kind", "grammar")
    page.fill("#grammar", 'root ::= "a"\nother ::= )')
    settle(page)
    assert page.text_content("#grammar-editor mark") == ")"
    page.fill("#grammar", 'root ::= "a"')
    settle(page)
    assert page.text_content("#grammar-error") == ""
    assert page.query_selector("#grammar-editor mark") is None


def test_generating(page):
    page.select_option("#example", label="A date (regex)")
    page.fill("#text", "")
    page.keyboard.press("Control+Enter")
    assert "complete" in summary(page)
    assert len(page.input_value("#text")) == 10
    assert painted(page, "free")
    assert painted(page, "refused") == []
    assert page.is_enabled("#generate")


def test_generating_without_the_grammar(page):
    page.select_option("#example", label="A date (regex)")
    page.uncheck("#held")
    page.fill("#max-tokens", "8")
    page.click("#generate")
    assert "does not fit" in summary(page)
    assert len(painted(page, "refused")) == 1


def test_generating_with_a_grammar_that_is_wrong(page):
    page.select_option("#kind", "regex")
    page.fill("#grammar", "(")
    page.click("#generate")
    settle(page)
    assert page.text_content("#grammar-error")
    assert page.is_enabled("#generate")


def test_generating_with_too_few_tokens(page):
    """What is said of the number of tokens stays, though the page was about to look at the text."""
    page.select_option("#kind", "regex")
    page.fill("#grammar", "[a-z]{20000}")
    page.fill("#text", "abc")
    page.fill("#max-tokens", "9")
    page.click("#generate")
    sync_api.expect(page.locator("#grammar-error, #refusal").filter(has_text="20")).to_be_visible()
    page.wait_for_timeout(500)
    sync_api.expect(page.locator("#grammar-error, #refusal").filter(has_text="20")).to_be_visible()
    assert not summary(page)
    assert page.is_enabled("#generate")


def test_the_end_is_no_text_to_write(page):
    page.select_option("#kind", "regex")
    page.fill("#grammar", "ab?")
    page.fill("#text", "a")
    assert "complete" in summary(page)
    assert page.text_content("#allowed .more") == "the end"
    assert [chip.text_content() for chip in page.query_selector_all("#allowed button")] == ["b"]


def test_stopping(browser, serve):
    """With a model that takes long."""
    context = browser.new_context()
    with serve(delay=0.1) as address:
        page = context.new_page()
        page.goto(address)
        page.select_option("#kind", "regex")
        page.fill("#grammar", "[a-z]{800}")
        page.fill("#max-tokens", "900")
        page.click("#generate")
        page.wait_for_selector("#stop:enabled", timeout=60_000)
        page.keyboard.press("Escape")
        page.wait_for_selector("#generate:enabled", timeout=60_000)
        assert "fits so far" in summary(page) or "No text" in summary(page)
        context.close()


def test_the_link_carries_the_state(page, address):
    page.select_option("#kind", "regex")
    page.fill("#grammar", "é+😀?")
    page.fill("#text", "éé😀")
    assert "complete" in summary(page)
    page.click("#link")
    other = page.context.new_page()
    inspected = []
    other.on("request", lambda request: inspected.append(request.url) if "inspect" in request.url else None)
    other.goto(page.url)
    other.focus("#text")
    other.keyboard.type(" ")
    other.keyboard.press("Backspace")
    other.wait_for_timeout(500)
    assert inspected == [], "a stranger's grammar is compiled unasked"
    other.click("#look")
    sync_api.expect(other.locator("#linked")).to_be_hidden()
    sync_api.expect(other.locator("#summary")).to_contain_text("complete")
    other.reload()
    assert other.input_value("#grammar") == "é+😀?"
    assert other.input_value("#text") == "éé😀"
    assert "complete" in summary(other)
    assert "".join(span.text_content() for span in other.query_selector_all("#text-editor .token")) == "éé😀"
    other.goto("about:blank")
    other.goto(f"{address}/#not-a-state")
    assert "does not fit" in summary(other)


@pytest.mark.parametrize("at", range(7))
def test_examples_are_right(browser, address, at):
    """Each example has a grammar that compiles, and the first a text that does not fit, for show."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.select_option("#example", str(at))
    assert ("does not fit" if at == 0 else "complete") in summary(page)
    assert page.text_content("#grammar-error") == ""
    context.close()


def test_a_text_that_is_too_long(page):
    """Nothing of what was said about the text before is left."""
    page.select_option("#kind", "regex")
    page.fill("#grammar", ".*")
    page.fill("#text", "a")
    assert "1 token ·" in summary(page)
    page.fill("#text", "x " * 20_000)
    sync_api.expect(page.locator("#refusal")).to_contain_text("can be looked at")
    assert not page.text_content("#summary")
