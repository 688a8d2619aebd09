// Reads lines of links: curl's patterns, tabs between the mirrors of one file, comments. The daemon has the last word on a URL.
import { t } from "../text.js";

/// What one line may match at most, so that a mistyped range does not freeze the page.
const longestPattern = 50_000;

const networkSchemes = ["http", "https", "ftp", "ftps", "sftp"];

/**
* @param {string[]} schemes further ones, which helpers of the daemon speak
* @returns {{number, text, problem?, entries: {url, mirrors}[]}[]} one for each line that is not empty
*/
export function parseLinks(text, schemes = []) {
  const known = new Set([...networkSchemes, "file", ...schemes]);
  return text.split(/\r\n|\n|\r/).flatMap((raw, index) => {
    const line = { number: index + 1, text: raw.trim(), entries: [] };
    if (line.text === "" || line.text.startsWith("#")) return [];
    const [first, ...mirrors] = line.text.split(/\t+/).map((part) => part.trim());
    try {
      const pattern = new Pattern(first);
      if (pattern.count > longestPattern) throw new Malformed(t.add.tooMany(pattern.count, longestPattern));
      // Two links of a pattern are bad in the same way, so its first one is enough.
      for (const url of [pattern.at(0), ...mirrors]) checkURL(url, known);
      for (let i = 0; i < pattern.count; i++) line.entries.push({ url: pattern.at(i), mirrors });
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      line.problem = error.message;
      line.entries = [];
    }
    return [line];
  });
}

class Malformed extends Error {}

function checkURL(url, known) {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*):(.*)$/i.exec(url) ?? [];
  if (!scheme || (!rest.startsWith("//") && !known.has(scheme.toLowerCase()))) throw new Malformed(t.add.noLink);
  if (!known.has(scheme.toLowerCase())) throw new Malformed(t.add.unknownScheme(scheme));
  const forbidden = /[\u0000-\u0020<>"\\\u007f]/.exec(rest);
  if (forbidden) throw new Malformed(t.add.mustBeEncoded(forbidden[0]));
  const [, authority = ""] = /^\/\/([^/?#]*)/.exec(rest) ?? [];
  if (networkSchemes.includes(scheme.toLowerCase()) && !/^[^:]/.test(authority.slice(authority.lastIndexOf("@") + 1))) throw new Malformed(t.add.noHost);
}

/// A URL with curl's globs (curl(1), URL), by the same rules as dlctl. The last glob varies fastest.
class Pattern {
  #text;
  #place = 0;
  /// Literal texts, and globs as `{count, at}`.
  #parts = [];

  constructor(text) {
    this.#text = text;
    let literal = "";
    const endLiteral = () => {
      if (literal) this.#parts.push(literal);
      literal = "";
    };
    while (this.#place < text.length) {
      const character = text[this.#place];
      const address = character === "[" && this.#literalBracket();
      if (character === "{" || (character === "[" && !address)) {
        endLiteral();
        this.#parts.push(character === "{" ? this.#texts() : this.#range());
      } else if (character === "}" || character === "]") {
        throw new Malformed(t.add.unopened(character));
      } else {
        if (character === "\\" && /[{}[\]]/.test(text[this.#place + 1] ?? "")) this.#place += 1;
        const piece = address || text[this.#place];
        literal += piece;
        this.#place += piece.length;
      }
    }
    endLiteral();
  }

  get count() {
    return this.#parts.reduce((product, part) => product * (part.count ?? 1), 1);
  }

  at(index) {
    let rest = index;
    return this.#parts.reduceRight((url, part) => {
      if (typeof part === "string") return part + url;
      const value = part.at(rest % part.count);
      rest = Math.floor(rest / part.count);
      return value + url;
    }, "");
  }

  /// `[]` or an IPv6 address in brackets, which are no globs.
  #literalBracket() {
    const [bracket, content] = /^\[([^\]]*)\]/.exec(this.#text.slice(this.#place)) ?? [];
    const isAddress = content?.includes(":") && URL.canParse(`http://[${content.replace(/%.{1,17}$/, "")}]/`);
    return bracket !== undefined && (content === "" || isAddress) ? bracket : null;
  }

  #texts() {
    const glob = /^\{((?:\\.|[^\\{}[\]])*)\}/s.exec(this.#text.slice(this.#place));
    if (!glob) throw new Malformed(t.add.badBraces);
    if (glob[1] === "") throw new Malformed(t.add.emptyBraces);
    this.#place += glob[0].length;
    const texts = [""];
    for (const [piece] of glob[1].matchAll(/\\.|[^\\]/gs)) {
      if (piece === ",") texts.push("");
      else texts.push(texts.pop() + piece.replace("\\", ""));
    }
    return { count: texts.length, at: (index) => texts[index] };
  }

  #range() {
    const text = /^\[[^\]]*\]/.exec(this.#text.slice(this.#place))?.[0];
    if (!text) throw new Malformed(t.add.unclosed("["));
    this.#place += text.length;
    const numbers = /^\[(\d+)-[ \t]*(\d+)(?::(\d+))?\]$/.exec(text);
    const letters = /^\[([a-z])-([a-z])(?::(\d+))?\]$/i.exec(text);
    if (!numbers && !letters) throw new Malformed(t.add.noRange(text));
    const [first, last] = numbers ? [Number(numbers[1]), Number(numbers[2])] : [letters[1].charCodeAt(0), letters[2].charCodeAt(0)];
    const step = Number((numbers ?? letters)[3] ?? 1);
    const distance = last - first;
    if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || (letters && distance > 25)) throw new Malformed(t.add.noRange(text));
    if (distance < 0) throw new Malformed(t.add.backwards(text));
    if (step < 1 || step > Math.max(1, distance)) throw new Malformed(t.add.badStep(text));
    const width = numbers && numbers[1].startsWith("0") ? numbers[1].length : 0;
    const name = numbers ? (value) => String(value).padStart(width, "0") : String.fromCharCode;
    return { count: Math.floor(distance / step) + 1, at: (index) => name(first + index * step) };
  }
}
