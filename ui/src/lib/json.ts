/**
 * JSON that stays what it was: numbers keep every digit they were written with, keys keep their order.
 * What people put into jobs is read, shown and edited with this, never with JSON.parse.
 */

declare const marked: unique symbol;
/** The text of one JSON value, as the server sent it. */
export type JsonText = string & { readonly [marked]?: "json" };

export type JsonNode =
  | { kind: "object"; entries: [key: string, value: JsonNode][] }
  | { kind: "array"; items: JsonNode[] }
  | { kind: "string"; value: string }
  | { kind: "number"; text: string }
  | { kind: "boolean"; value: boolean }
  | { kind: "null" };

/** Where and why a text is no JSON. Lines and columns count from 1. */
export class JsonFault extends Error {
  constructor(
    readonly reason: string,
    readonly line: number,
    readonly column: number,
  ) {
    super(`${reason} (line ${line}, column ${column})`);
  }
}

const DEEPEST = 1000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES: Record<string, string> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class Reader {
  at = 0;
  private depth = 0;

  constructor(readonly text: string) {}

  fault(reason: string, at = this.at): JsonFault {
    const before = this.text.slice(0, at).split("\n");
    return new JsonFault(reason, before.length, before[before.length - 1]!.length + 1);
  }

  skip(): void {
    SPACE.lastIndex = this.at;
    SPACE.test(this.text);
    this.at = SPACE.lastIndex;
  }

  end(): void {
    this.skip();
    if (this.at < this.text.length) throw this.fault("there is something behind the end of the value");
  }

  node(): JsonNode {
    this.skip();
    const next = this.text[this.at];
    if (next === "{") {
      const entries: [string, JsonNode][] = [];
      this.members((key) => entries.push([key, this.node()]));
      return { kind: "object", entries };
    }
    if (next === "[") {
      const items: JsonNode[] = [];
      this.items(() => items.push(this.node()));
      return { kind: "array", items };
    }
    if (next === '"') return { kind: "string", value: this.string() };
    if (this.word("true")) return { kind: "boolean", value: true };
    if (this.word("false")) return { kind: "boolean", value: false };
    if (this.word("null")) return { kind: "null" };
    return { kind: "number", text: this.number() };
  }

  /** A value as JavaScript knows it, but those under a raw key as their text. */
  value(raw: ReadonlySet<string>): unknown {
    this.skip();
    const next = this.text[this.at];
    if (next === "{") {
      const found: Record<string, unknown> = {};
      this.members((key) => {
        found[key] = raw.has(key) ? this.rawText(key) : this.value(raw);
      });
      return found;
    }
    if (next === "[") {
      const found: unknown[] = [];
      this.items(() => found.push(this.value(raw)));
      return found;
    }
    if (next === '"') return this.string();
    if (this.word("true")) return true;
    if (this.word("false")) return false;
    if (this.word("null")) return null;
    return Number(this.number());
  }

  private rawText(key: string): JsonText | null {
    this.skip();
    const from = this.at;
    this.node();
    const text = this.text.slice(from, this.at);
    return text === "null" && key !== "payload" ? null : text;
  }

  itemTexts(): JsonText[] {
    const texts: JsonText[] = [];
    this.skip();
    if (this.text[this.at] !== "[") throw this.fault("expected an array");
    this.items(() => {
      this.skip();
      const from = this.at;
      this.node();
      texts.push(this.text.slice(from, this.at));
    });
    this.end();
    return texts;
  }

  private members(read: (key: string) => void): void {
    this.open();
    this.skip();
    if (this.close("}")) return;
    while (true) {
      this.skip();
      if (this.text[this.at] !== '"') throw this.fault('expected a name in double quotes, or "}"');
      const key = this.string();
      this.skip();
      if (!this.take(":")) throw this.fault('expected ":" behind the name');
      read(key);
      this.skip();
      if (this.close("}")) return;
      if (!this.take(",")) throw this.fault('expected "," or "}"');
    }
  }

  private items(read: () => void): void {
    this.open();
    this.skip();
    if (this.close("]")) return;
    while (true) {
      read();
      this.skip();
      if (this.close("]")) return;
      if (!this.take(",")) throw this.fault('expected "," or "]"');
    }
  }

  private open(): void {
    this.at += 1;
    this.depth += 1;
    if (this.depth > DEEPEST) throw this.fault("nested too deeply");
  }

  private close(sign: string): boolean {
    if (!this.take(sign)) return false;
    this.depth -= 1;
    return true;
  }

  private take(sign: string): boolean {
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  private word(word: string): boolean {
    if (!this.text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  private number(): string {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (found === null) {
      throw this.fault(this.at >= this.text.length ? "the text ends too early" : "expected a value");
    }
    this.at = NUMBER.lastIndex;
    return found[0];
  }

  private string(): string {
    this.at += 1;
    let value = "";
    while (true) {
      PLAIN.lastIndex = this.at;
      const found = PLAIN.exec(this.text);
      value += found?.[0] ?? "";
      this.at = PLAIN.lastIndex;
      const sign = this.text[this.at];
      if (sign === '"') {
        this.at += 1;
        return value;
      }
      if (sign !== "\\") {
        throw this.fault(
          sign === undefined ? "the string does not end" : "a string cannot hold a line break or tab",
        );
      }
      value += this.escape();
    }
  }

  private escape(): string {
    const sign = this.text[this.at + 1] ?? "";
    if (sign === "u") {
      const digits = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.fault("expected four hexadecimal digits");
      this.at += 6;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const meant = ESCAPES[sign];
    if (meant === undefined) throw this.fault("unknown escape");
    this.at += 2;
    return meant;
  }
}

/** The value a text stands for; throws a JsonFault. */
export function parseJson(text: string): JsonNode {
  const reader = new Reader(text);
  const node = reader.node();
  reader.end();
  return node;
}

/** What is wrong with a text, if anything is. */
export function faultOf(text: string): JsonFault | null {
  try {
    parseJson(text);
    return null;
  } catch (fault) {
    if (fault instanceof JsonFault) return fault;
    throw fault;
  }
}

/** An answer of the API: plain values, but what belongs to users stays text. */
export function parseAnswer(text: string, raw: ReadonlySet<string>): unknown {
  const reader = new Reader(text);
  const value = reader.value(raw);
  reader.end();
  return value;
}

/** A value as text: on one line, or indented. */
export function printJson(node: JsonNode, indent = 0, level = 0): string {
  const pad = indent ? `\n${" ".repeat(indent * (level + 1))}` : "";
  const end = indent ? `\n${" ".repeat(indent * level)}` : "";
  switch (node.kind) {
    case "object": {
      if (node.entries.length === 0) return "{}";
      const colon = indent ? ": " : ":";
      const parts = node.entries.map(
        ([key, value]) => `${pad}${JSON.stringify(key)}${colon}${printJson(value, indent, level + 1)}`,
      );
      return `{${parts.join(",")}${end}}`;
    }
    case "array": {
      if (node.items.length === 0) return "[]";
      return `[${node.items.map((item) => pad + printJson(item, indent, level + 1)).join(",")}${end}]`;
    }
    case "string":
      return JSON.stringify(node.value);
    case "number":
      return node.text;
    case "boolean":
      return String(node.value);
    case "null":
      return "null";
  }
}

/** The text with its lines and spaces put in order; as it is if it is no JSON. */
export function prettyJson(text: string, indent = 2): string {
  try {
    return printJson(parseJson(text), indent);
  } catch {
    return text;
  }
}

/** JSON text that goes into a request as it is. */
export class Exact {
  constructor(readonly text: JsonText) {}
}

/** A request's body. Fields that are undefined are left out. */
export function encodeBody(value: unknown): string {
  if (value instanceof Exact) return value.text;
  if (Array.isArray(value)) return `[${value.map(encodeBody).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const parts = Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .map(([key, part]) => `${JSON.stringify(key)}:${encodeBody(part)}`);
    return `{${parts.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** Tags as pairs of text, for chips. */
export function tagPairs(tags: JsonText | null): [string, string][] {
  if (tags === null) return [];
  const node = parseJson(tags);
  if (node.kind !== "object") return [];
  return node.entries.map(([key, value]) => [key, value.kind === "string" ? value.value : printJson(value)]);
}

/** The items of a JSON array, each as it was written. */
export function splitArray(text: JsonText): JsonText[] {
  return new Reader(text).itemTexts();
}
