// Where in a text something is: the line of an error, or the value that a JSON Pointer names.

export function lineRange(text, line, column) {
  if (!line) return null;
  const lines = text.split("\n");
  if (line > lines.length) return null;
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  // Columns count characters, and this text's places count halves of some of them.
  const before = Array.from(lines[line - 1]).slice(0, Math.max(column - 1, 0)).join("").length;
  const end = start + lines[line - 1].length;
  const place = Math.min(start + before, Math.max(end - 1, start));
  return [place, Math.max(end, place + 1)];
}

export function findPointer(text, pointer) {
  const path = pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  try {
    return new Scanner(text).find(path);
  } catch {
    return null;
  }
}

class Scanner {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  space() {
    while (/\s/.test(this.text[this.at] ?? "")) this.at += 1;
  }

  // Give the range of the value that a path leads to, with its key where it has one.
  find(path, keyStart = null) {
    this.space();
    if (!path.length) {
      const start = keyStart ?? this.at;
      this.skip();
      return [start, this.at];
    }
    const opener = this.text[this.at];
    if (opener !== "{" && opener !== "[") return null;
    this.at += 1;
    for (let index = 0; ; index += 1) {
      this.space();
      if (this.at >= this.text.length || "]}".includes(this.text[this.at])) return null;
      const start = this.at;
      let name = String(index);
      if (opener === "{") {
        this.skip();
        name = JSON.parse(this.text.slice(start, this.at));
        this.space();
        this.at += 1;
      }
      if (name === path[0]) return this.find(path.slice(1), opener === "{" ? start : null);
      this.space();
      this.skip();
      this.space();
      if (this.text[this.at] === ",") this.at += 1;
    }
  }

  // Go behind a value.
  skip() {
    let depth = 0;
    do {
      const rest = this.text.slice(this.at);
      const part = /^\s*("(?:[^"\\]|\\.)*"|[{[]|[}\]]|[^\s"{}[\],:]+|[,:])/.exec(rest);
      if (!part) throw new Error("no JSON");
      this.at += part[0].length;
      if ("{[".includes(part[1])) depth += 1;
      if ("}]".includes(part[1])) depth -= 1;
    } while (depth > 0);
  }
}
