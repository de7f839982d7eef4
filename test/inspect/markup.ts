/** A small strict reader of XML, and of HTML as far as reports need it: what is not well-formed throws. */

export interface Element {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: (Element | string)[];
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
};
/** HTML's elements without an end. */
const VOID = new Set(["meta", "br", "link", "input"]);
/** HTML's elements whose text is raw. */
const RAW = new Set(["script", "style"]);
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids them
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\p{Cs}]/u;

/** @throws {SyntaxError} the text is not well-formed */
export function parseXml(text: string): Element {
  return parse(text, false);
}

/** A whole page: its html element. */
export function parseHtml(text: string): Element {
  if (!text.startsWith("<!doctype html>\n")) throw new SyntaxError("no doctype");
  return parse(text.slice("<!doctype html>\n".length), true);
}

/** All elements of a name below an element, in order. */
export function all(element: Element, name: string): Element[] {
  return element.children.flatMap((child) =>
    typeof child === "string" ? [] : [...(child.name === name ? [child] : []), ...all(child, name)],
  );
}

/** Those of a class. */
export function withClass(element: Element, name: string): Element[] {
  return element.children.flatMap((child) => {
    if (typeof child === "string") return [];
    const classes = child.attributes.get("class")?.split(" ") ?? [];
    return [...(classes.includes(name) ? [child] : []), ...withClass(child, name)];
  });
}

export function textOf(element: Element): string {
  return element.children
    .map((child) => (typeof child === "string" ? child : textOf(child)))
    .join("");
}

function parse(text: string, html: boolean): Element {
  const forbidden = FORBIDDEN.exec(text);
  if (forbidden) throw new SyntaxError(`a forbidden character at ${forbidden.index}`);
  const root: Element = { name: "", attributes: new Map(), children: [] };
  const open: Element[] = [root];
  const tags = /<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+(?:="[^"<]*")?)*)\s*(\/?)>/y;
  for (let at = 0; at < text.length; ) {
    const top = open[open.length - 1] as Element;
    const next = text.indexOf("<", at);
    const end = next < 0 ? text.length : next;
    if (end > at) top.children.push(decode(text.slice(at, end)));
    if (next < 0) break;
    tags.lastIndex = next;
    const tag = tags.exec(text);
    if (!tag) throw new SyntaxError(`no tag at ${next}: ${text.slice(next, next + 60)}`);
    at = tags.lastIndex;
    const [, closing, name = "", list = "", empty] = tag;
    if (closing) {
      if (top.name !== name) throw new SyntaxError(`</${name}> closes <${top.name}> at ${next}`);
      open.pop();
      continue;
    }
    const element: Element = { name, attributes: attributesOf(list), children: [] };
    top.children.push(element);
    if (empty || (html && VOID.has(name))) continue;
    if (html && RAW.has(name)) {
      const stop = text.indexOf(`</${name}`, at);
      element.children.push(text.slice(at, stop));
      at = stop;
    }
    open.push(element);
  }
  const elements = root.children.filter((child) => typeof child !== "string");
  const outside = root.children.filter((child) => typeof child === "string").join("");
  if (open.length > 1 || elements.length !== 1 || outside.trim() !== "")
    throw new SyntaxError("one element must hold all");
  return elements[0] as Element;
}

function attributesOf(list: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", value = ""] of list.matchAll(/([\w:-]+)(?:="([^"]*)")?/g)) {
    if (found.has(name)) throw new SyntaxError(`${name} twice`);
    found.set(name, decode(value));
  }
  return found;
}

function decode(text: string): string {
  return text.replaceAll(/&([^;]{0,5});?/g, (_, name: string) => {
    const character = ENTITIES[name];
    if (character === undefined) throw new SyntaxError(`an unknown entity &${name}`);
    return character;
  });
}
