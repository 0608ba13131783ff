/** Writes HTML of elements and text. Whatever text comes in, it stays text: there is no way to give it as markup. */

import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';

type Tag =
  | 'a'
  | 'bdi'
  | 'code'
  | 'dd'
  | 'dl'
  | 'dt'
  | 'form'
  | 'h1'
  | 'h2'
  | 'header'
  | 'input'
  | 'label'
  | 'main'
  | 'nav'
  | 'p'
  | 'table'
  | 'tbody'
  | 'td'
  | 'th'
  | 'thead'
  | 'tr';

/** None that runs anything or fetches something; `href` and `action` are paths of this server, which their maker has escaped. */
type Attribute = 'action' | 'class' | 'href' | 'maxlength' | 'method' | 'name' | 'rel' | 'scope' | 'type' | 'value';

/** A piece of a page; a string is text. */
export type Content = string | Element;

export class Element {
  readonly #tag: Tag;
  readonly #attributes: Readonly<Partial<Record<Attribute, string>>>;
  readonly #children: readonly Content[];

  constructor(tag: Tag, attributes: Readonly<Partial<Record<Attribute, string>>>, children: readonly Content[]) {
    this.#tag = tag;
    this.#attributes = attributes;
    this.#children = children;
  }

  get html(): string {
    const attributes = Object.entries(this.#attributes).map(([name, value]) => ` ${name}="${escaped(value)}"`);
    const opening = `<${this.#tag}${attributes.join('')}>`;
    return this.#tag === 'input' ? opening : `${opening}${this.#children.map(htmlOf).join('')}</${this.#tag}>`;
  }
}

/** An element with these children. */
export function element(tag: Tag, ...children: readonly Content[]): Element {
  return new Element(tag, {}, children);
}

/** What a page shows of one text of others. */
const maxText = 4_000;

/** Text of others: what is invisible or turns lines around is spelt out, and it turns nothing around it. */
export function theirs(text: string, most: number = maxText): Element {
  return element('bdi', printable(shortened(text, most)));
}

/** A link to a path of this server. */
export function link(href: string, ...children: readonly Content[]): Element {
  return new Element('a', { href }, children);
}

function htmlOf(content: Content): string {
  return typeof content === 'string' ? escaped(content) : content.html;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** A whole document; `style` is that of this program, as it is. */
export function documentOf({ title, style, body }: { title: string; style: string; body: readonly Content[] }): string {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`;
  return `<!doctype html><html lang="en"><head>${head}<title>${escaped(printable(title))}</title><style>${style}</style></head><body>${body.map(htmlOf).join('')}</body></html>\n`;
}
