// The page: what is typed goes to the server, which says what each token is. All state is in `state`, and in the link.

import { EXAMPLES } from "/static/examples.js";
import { findPointer, lineRange } from "/static/places.js";

const $ = (id) => document.getElementById(id);
const FIELDS = ["kind", "grammar", "prompt", "text", "temperature", "max-tokens"];
const BOXES = ["compact", "any-spelling", "held"];
const DEFAULTS = { temperature: "0", "max-tokens": "200", compact: false, "any-spelling": false, held: true };
const PAUSE_MS = 180;
const PATIENCE_MS = 30_000;

let tokens = null; // the ids of the text, while it is just what the model wrote
let generation = null; // what stops the model
let asked = 0; // counts requests, so that only the last one's answer is shown
let timer = null;
let looking = null; // what stops the question that is under way
let isStrange = false; // whether the grammar came with a link, and nobody has said that it is to be looked at

// The link.

function encodeState() {
  const state = Object.fromEntries([...FIELDS.map((id) => [id, $(id).value]), ...BOXES.map((id) => [id, $(id).checked])]);
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decodeState(hash) {
  try {
    const binary = atob(hash.replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (each) => each.charCodeAt(0))));
  } catch {
    return null;
  }
}

function applyState(state) {
  for (const id of FIELDS) if (typeof state[id] === "string") $(id).value = state[id];
  for (const id of BOXES) if (typeof state[id] === "boolean") $(id).checked = state[id];
  tokens = null;
}

// The link of what was typed here: it is no stranger's when the page is loaded again.
function keepLink() {
  const hash = `#${encodeState()}`;
  history.replaceState(null, "", hash);
  sessionStorage.setItem("link", hash);
}

// Anybody can write a link, and what is in it may take long: it waits for a click.
function setStrange(strange) {
  isStrange = strange;
  $("linked").hidden = !strange;
}

function applyLink() {
  const linked = decodeState(location.hash.slice(1));
  if (!linked) return false;
  applyState(linked);
  setStrange(location.hash !== sessionStorage.getItem("link"));
  if (isStrange) showNothing();
  return true;
}

// The server.

async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  if ($("key").value) headers.Authorization = `Bearer ${$("key").value}`;
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (response.status === 401) $("key-field").hidden = false;
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw Object.assign(new Error(answer.error?.message ?? `the server answered ${response.status}`), answer.error);
  }
  return response;
}

const byteLength = (text) => new TextEncoder().encode(text).length;

async function inspect() {
  const number = ++asked;
  looking?.abort();
  for (const id of ["compact", "any-spelling"]) {
    $(id).parentElement.hidden = !["json", "structural_tag"].includes($("kind").value);
  }
  if (isStrange) {
    setPending(false);
    return;
  }
  looking = new AbortController();
  const text = $("text").value;
  const body = {
    kind: $("kind").value,
    grammar: $("grammar").value,
    compact: $("compact").checked,
    spelling: spelling(),
    text,
    cursor: byteLength(text.slice(0, $("text").selectionStart)),
  };
  if (tokens !== null) body.tokens = tokens;
  try {
    const signal = AbortSignal.any([looking.signal, AbortSignal.timeout(PATIENCE_MS)]);
    const answer = await (await post("/playground/inspect", body, signal)).json();
    if (number === asked) showAnswer(answer);
  } catch (error) {
    if (number === asked) showError(error);
  }
  if (number === asked && generation === null && timer === null) setPending(false);
}

// Say whether what is shown is what was asked last.
function setPending(pending) {
  $("summary").setAttribute("aria-busy", String(pending));
}

function inspectSoon() {
  clearTimeout(timer);
  setPending(true);
  timer = setTimeout(() => {
    timer = null;
    // A stranger's link stays one.
    if (!isStrange) keepLink();
    inspect();
  }, PAUSE_MS);
}

// What it says, shown.

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function paint(editor, parts) {
  const backdrop = $(editor).querySelector(".backdrop");
  // A text that ends with a line break needs something after it, or its last line is not there.
  backdrop.replaceChildren(...parts, document.createTextNode("\n"));
  backdrop.scrollTop = $(editor).querySelector("textarea").scrollTop;
}

function showNothing() {
  for (const editor of ["grammar-editor", "text-editor"]) paint(editor, []);
  for (const id of ["summary", "refusal", "grammar-error"]) $(id).replaceChildren();
  $("cursor").hidden = true;
}

function showError(error) {
  if (error.param && !String(error.param).startsWith("grammar")) {
    $("refusal").textContent = error.message;
    paint("text-editor", []);
    $("summary").replaceChildren();
    $("cursor").hidden = true;
    return;
  }
  $("grammar-error").textContent = error.message.replace(/^Invalid grammar: /, "");
  const grammar = $("grammar").value;
  const range = error.pointer !== undefined ? findPointer(grammar, error.pointer) : lineRange(grammar, error.line, error.column);
  if (range) {
    const [start, end] = range;
    paint("grammar-editor", [grammar.slice(0, start), element("mark", grammar.slice(start, end)), grammar.slice(end)]
      .map((part) => (typeof part === "string" ? document.createTextNode(part) : part)));
  } else {
    paint("grammar-editor", []);
  }
  paint("text-editor", []);
  for (const id of ["summary", "refusal"]) $(id).replaceChildren();
  $("cursor").hidden = true;
}

function showAnswer(answer) {
  $("grammar-error").textContent = "";
  paint("grammar-editor", []);
  paint("text-editor", tokenSpans(answer.tokens));
  showSummary(answer);
  showRefusal(answer.tokens.find((token) => token.kind === "refused"));
  showCursor(answer.cursor);
  $("cursor").hidden = false;
}

function tokenSpans(list) {
  const spans = [];
  let pending = [];
  list.forEach((token, at) => {
    for (let place = 0; place < token.bytes.length; place += 2) pending.push(parseInt(token.bytes.slice(place, place + 2), 16));
    const bytes = Uint8Array.from(pending);
    let text = null;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      // A character may go on in the next token; what never becomes one is shown as it is.
      if (at + 1 === list.length || pending.length > 8) text = new TextDecoder().decode(bytes);
    }
    if (text === null) return;
    pending = [];
    spans.push(element("span", text, `token ${token.kind}`));
  });
  return spans;
}

function showSummary(answer) {
  const count = (kind) => answer.tokens.filter((token) => token.kind === kind).length;
  const times = answer.tokens.filter((token) => token.mask_us !== undefined).map((token) => token.mask_us);
  const mean = times.length ? times.reduce((sum, each) => sum + each, 0) / times.length : 0;
  const state = answer.accepted < answer.tokens.length ? "does not fit"
    : answer.is_complete || answer.is_terminated ? "complete" : "fits so far";
  const words = [`${answer.tokens.length} token${answer.tokens.length === 1 ? "" : "s"}`, `${count("forced")} forced`, `${count("free")} free`, state];
  if (times.length) words.push(`${mean.toFixed(1)} µs a mask`);
  $("summary").textContent = answer.tokens.length ? words.join(" · ") : "No text yet.";
}

function showRefusal(token) {
  $("refusal").replaceChildren();
  if (!token) return;
  const expected = (token.expected ?? []).join("  ");
  $("refusal").append("The token ", element("code", JSON.stringify(token.text)), ` is ${token.reason}.`);
  if (expected) $("refusal").append(" There could be: ", element("code", expected), token.could_end ? ", or the end." : ".");
}

// The matcher tells "steps: 5, completed: false, terminated: false"; people read the parts that hold.
function stateInWords(text) {
  const facts = Object.fromEntries(text.split(", ").map((part) => part.split(": ")));
  if (facts.steps === undefined) return text;
  const holds = ["completed", "terminated"].filter((name) => facts[name] === "true");
  return [`after ${facts.steps} ${facts.steps === "1" ? "step" : "steps"}`, ...holds].join(", ");
}

function showCursor(cursor) {
  const number = (value) => value.toLocaleString("en");
  const facts = [
    ["Tokens that fit", `${number(cursor.allowed)} of ${number(cursor.vocabulary)}`],
    ["Time of the mask", `${cursor.mask_us} µs`],
    ["Text that must come", cursor.must ? JSON.stringify(cursor.must) : "none"],
    ["Next bytes", cursor.next_bytes.join("  ") || "none"],
    ["May the text end here?", cursor.can_end || cursor.is_terminated ? "yes" : "no"],
    ["State", stateInWords(cursor.state)],
  ];
  $("facts").replaceChildren(...facts.map(([name, value]) => {
    const pair = element("div");
    pair.append(element("dt", name), element("dd", value, "mono"));
    return pair;
  }));
  // The end is no text that could be written.
  const chips = cursor.tokens.filter((token) => token.bytes && !(token.kind === "stop" && cursor.can_end)).map((token) => {
    const chip = element("button", token.text.replaceAll(" ", "␣"));
    chip.type = "button";
    chip.title = `token ${token.id}`;
    chip.addEventListener("click", () => writeToken(token));
    return chip;
  });
  $("allowed-hint").hidden = !chips.length;
  if (cursor.can_end) chips.unshift(element("span", "the end", "more"));
  if (cursor.allowed > cursor.tokens.length) chips.push(element("span", `and ${number(cursor.allowed - cursor.tokens.length)} more`, "more"));
  $("allowed").replaceChildren(...(chips.length ? chips : [element("span", "none", "more")]));
}

function writeToken(token) {
  const bytes = Uint8Array.from(token.bytes.match(/../g), (pair) => parseInt(pair, 16));
  const area = $("text");
  area.setRangeText(new TextDecoder().decode(bytes), area.selectionStart, area.selectionEnd, "end");
  tokens = null;
  inspectSoon();
}

// The model.

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    const blocks = held.split("\n\n");
    held = blocks.pop();
    for (const block of blocks) {
      const data = block.replace(/^data: /, "");
      if (data === "[DONE]") return;
      yield JSON.parse(data);
    }
  }
}

function spelling() {
  return $("any-spelling").checked ? "any" : null;
}

function structure() {
  const kind = $("kind").value;
  const grammar = $("grammar").value;
  const given = kind === "choice" ? grammar.split("\n").filter((line) => line) : grammar;
  return { [kind]: given, disable_any_whitespace: $("compact").checked, spelling: spelling() };
}

// Nothing that was asked before is shown any more.
function forgetQuestions() {
  clearTimeout(timer);
  timer = null;
  asked += 1;
  looking?.abort();
}

async function generate() {
  generation?.abort();
  setStrange(false);
  forgetQuestions();
  const own = (generation = new AbortController());
  const body = {
    messages: [{ role: "user", content: $("prompt").value }],
    temperature: Number($("temperature").value) || 0,
    max_tokens: Math.max(1, Math.round(Number($("max-tokens").value)) || 1),
    stream: true,
    return_token_ids: true,
  };
  if ($("held").checked) body.structured_outputs = structure();
  $("text").value = "";
  tokens = [];
  setBusy(true);
  setPending(true);
  try {
    const response = await post("/v1/chat/completions", body, own.signal);
    let looked = 0;
    for await (const event of events(response)) {
      if (event.error) throw Object.assign(new Error(event.error.message), event.error);
      const choice = event.choices[0];
      tokens?.push(...(choice?.token_ids ?? []));
      $("text").value += choice?.delta.content ?? "";
      $("text").selectionStart = $("text").selectionEnd = $("text").value.length;
      $("text").scrollTop = $("text").scrollHeight;
      if (performance.now() - looked > PAUSE_MS) {
        looked = performance.now();
        inspect();
      }
    }
  } catch (error) {
    if (error.name !== "AbortError") showError(error.param?.startsWith?.("structured_outputs") ? Object.assign(error, { param: "grammar" }) : error);
    else tokens = null;
    if (error.name !== "AbortError") {
      if (generation === own) setPending(false);
      return;
    }
  } finally {
    if (generation === own) {
      generation = null;
      setBusy(false);
    }
  }
  inspectSoon();
}

function setBusy(busy) {
  $("generate").disabled = busy;
  $("stop").disabled = !busy;
  $("text").readOnly = busy;
  $("text").setAttribute("aria-busy", String(busy));
}

// Events.

function start() {
  for (const [at, example] of EXAMPLES.entries()) {
    const option = element("option", example.name);
    option.value = String(at);
    $("example").append(option);
  }
  applyState({ ...DEFAULTS, ...EXAMPLES[0] });
  applyLink();
  $("example").addEventListener("change", () => {
    const example = EXAMPLES[$("example").value];
    if (!example) return;
    generation?.abort();
    setStrange(false);
    applyState(example);
    $("text").selectionStart = $("text").selectionEnd = $("text").value.length;
    inspectSoon();
  });
  $("text").addEventListener("input", () => { tokens = null; inspectSoon(); });
  $("grammar").addEventListener("input", () => { paint("grammar-editor", []); inspectSoon(); });
  for (const id of ["kind", "compact", "any-spelling", "key"]) $(id).addEventListener("change", inspectSoon);
  for (const id of ["prompt", "temperature", "max-tokens", "held"]) $(id).addEventListener("change", inspectSoon);
  document.addEventListener("selectionchange", () => { if (document.activeElement === $("text") && !generation) inspectSoon(); });
  for (const editor of ["grammar-editor", "text-editor"]) {
    const area = $(editor).querySelector("textarea");
    const follow = () => { $(editor).querySelector(".backdrop").scrollTop = area.scrollTop; };
    area.addEventListener("scroll", follow);
    new ResizeObserver(follow).observe(area);
  }
  $("generate").addEventListener("click", generate);
  $("look").addEventListener("click", () => { setStrange(false); inspectSoon(); });
  $("stop").addEventListener("click", () => generation?.abort());
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); generate(); }
    if (event.key === "Escape") generation?.abort();
  });
  $("link").addEventListener("click", async () => {
    keepLink();
    try {
      await navigator.clipboard.writeText(location.href);
      $("link").textContent = "Copied";
    } catch {
      $("link").textContent = "It is in the address";
    }
    setTimeout(() => { $("link").textContent = "Copy link"; }, 1500);
  });
  window.addEventListener("hashchange", () => {
    if (applyLink()) inspectSoon();
  });
  $("text").selectionStart = $("text").selectionEnd = $("text").value.length;
  fetch("/health").then((response) => response.json()).then((health) => {
    $("model").textContent = `${health.model} · ${health.version}`;
  }).catch(() => {});
  inspect();
}

start();
