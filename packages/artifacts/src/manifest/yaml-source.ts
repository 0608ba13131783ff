/** Reads a YAML file and finds the place of each key in its text. */

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

import { Diagnostic, DiagnosticList, type SourceLocation } from '@svc/kit/diagnostics/diagnostic.ts';
import { holdsFewItems, maxList } from '@svc/protocol/json-object.ts';
import { type KeyPath, renderKey } from './key-path.ts';

/** A YAML file as data, with the way back from a key to its place in the text. */
export interface YamlSource {
  readonly file: string;
  /** Is null for an empty file. */
  readonly value: unknown;
  /** What is wrong with single nodes (a key twice, an alias without an anchor). The rest of `value` can be used. */
  readonly problems: readonly Diagnostic[];
  /** Returns the place of a key or of its value. When the file does not have the key, returns the place of the nearest enclosing key. */
  locate(path: KeyPath, part: 'key' | 'value'): SourceLocation;
}

const largestFile = 256 * 1024;
/** The most faults of each kind that are reported: there are errors of the syntax, and faults of single nodes. */
const maxFaults = 100;

/**
 * Reads one YAML 1.2 document. Bounded in size, depth and in what aliases may expand to.
 * Throws a `DiagnosticList` of `E-MAN-002` naming every syntax error.
 */
export function parseYaml(file: string, text: string): YamlSource {
  if (Buffer.byteLength(text) > largestFile) throw tooMuch(file, 'the file is larger than 256 KiB');
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    schema: 'core',
    stringKeys: true,
    resolveKnownTags: false,
    // `NodeReader` finds a key that appears twice: the parser would compare each key with all others.
    uniqueKeys: false,
  });
  const at = placesIn({ file, text, lines });
  const told = ({ code, message, start, end }: Fault): Diagnostic =>
    new Diagnostic(code, message, { location: at(start, end) });
  const syntaxFaults = syntaxFaultsOf(document);
  if (syntaxFaults.length > 0) throw new DiagnosticList(syntaxFaults.map(told));
  const reading = readNodes(document.contents);
  const problems = reading.faults.map(told);
  if (!holdsFewItems(reading.value)) {
    const tooLong = tooMuch(file, `the file has lists of more than ${maxList} items`);
    throw new DiagnosticList([...problems, ...tooLong.diagnostics]);
  }
  return {
    file,
    value: reading.value,
    problems,
    locate: (path, part) => locateIn({ root: document.contents, reading, at }, path, part),
  };
}

function tooMuch(file: string, message: string): DiagnosticList {
  return new DiagnosticList([new Diagnostic('E-MAN-002', message, { location: { file, line: 1, column: 1 } })]);
}

type PlaceOf = (start: number, end: number) => SourceLocation;

function placesIn({ file, text, lines }: { file: string; text: string; lines: LineCounter }): PlaceOf {
  return (start, end) => {
    const from = Math.min(start, text.length);
    const { line, col } = lines.linePos(from);
    const lineEnd = text.indexOf('\n', from);
    const stop = Math.min(end, lineEnd === -1 ? text.length : lineEnd);
    const length = text.slice(from, stop).trimEnd().length;
    return { file, line: Math.max(1, line), column: Math.max(1, col), length: Math.max(1, length) };
  };
}

function syntaxFaultsOf({ errors, warnings }: Document.Parsed): readonly Fault[] {
  return [...errors, ...warnings].slice(0, maxFaults).map(({ code, message, pos: [start, end] }) => {
    return { code: 'E-MAN-002', message: messageOf(code, message), start, end };
  });
}

function messageOf(code: string, message: string): string {
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'a tab stands where spaces must indent';
    case 'MULTIPLE_DOCS':
      return 'the file holds more than one document; keep one and remove the "---" lines';
    case 'RESOURCE_EXHAUSTION':
      return 'blocks are nested too deeply';
    case 'TAG_RESOLVE_FAILED':
      return 'a tag ("!…") is not allowed here';
    default: {
      // What follows a colon repeats the text of the file, which may be a credential.
      const [clause = message] = message.split(': ', 1);
      return `not valid YAML: ${clause.slice(0, 1).toLowerCase()}${clause.slice(1)}`;
    }
  }
}

interface Located {
  readonly root: Node | null;
  readonly reading: NodeReading;
  readonly at: PlaceOf;
}

function locateIn({ root, reading, at }: Located, path: KeyPath, part: 'key' | 'value'): SourceLocation {
  let node = root;
  let key: Node | null = null;
  for (const segment of path) {
    const next = childOf(reading.target(node), segment);
    if (next === undefined) return placeOf(key ?? firstKey(root), at);
    key = next.key ?? (isBlock(next.value) ? (firstKey(next.value) ?? next.value) : next.value);
    node = next.value;
  }
  const isInline = isScalar(node) || isAlias(node) || isFlow(node);
  if (part === 'value' && isInline && !isEmpty(node)) return placeOf(node, at);
  return placeOf(key ?? firstKey(root), at);
}

function childOf(
  node: Node | null,
  segment: string | number,
): { readonly key: Node | null; readonly value: Node | null } | undefined {
  if (isMap(node)) {
    const pair = (node.items as Pair<Node, Node | null>[]).find((item) => keyText(item.key) === String(segment));
    return pair === undefined ? undefined : { key: pair.key, value: pair.value };
  }
  if (isSeq(node) && typeof segment === 'number') {
    const item = node.items[segment] as Node | null | undefined;
    return item === undefined ? undefined : { key: null, value: item };
  }
  return undefined;
}

function isFlow(node: Node | null): boolean {
  return (isMap(node) || isSeq(node)) && node.flow === true;
}

function isBlock(node: Node | null): boolean {
  return (isMap(node) || isSeq(node)) && node.flow !== true;
}

function isEmpty(node: Node | null): boolean {
  return isScalar(node) && node.source === '' && node.value === null;
}

function firstKey(node: Node | null): Node | null {
  if (!isMap(node)) return node;
  return (node.items[0]?.key as Node | undefined) ?? node;
}

function placeOf(node: Node | null, at: PlaceOf): SourceLocation {
  const [start, end] = node?.range ?? [0, 0];
  return at(start, end);
}

interface Fault {
  readonly code: 'E-MAN-002' | 'E-MAN-003';
  readonly message: string;
  /** Offsets into the text. */
  readonly start: number;
  readonly end: number;
}

interface NodeReading {
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** The node an alias stands for; any other node itself. */
  target(node: Node | null): Node | null;
}

/** A key as it is written: the parser takes every key as text. */
function keyText(key: Node | null): string {
  return isScalar(key) && typeof key.value === 'string' ? key.value : '';
}

const deepest = 64;
const maxValues = 100_000;

/** Makes plain data of a node tree. The number of values is bounded, aliases included, so that a small file cannot grow without bound. */
function readNodes(root: Node | null): NodeReading {
  const reader = new NodeReader();
  const value = reader.read(root, 0);
  return { value, faults: reader.faults, target: (node) => reader.target(node) };
}

class NodeReader {
  readonly faults: Fault[] = [];
  readonly #anchors = new Map<string, Node>();
  readonly #targets = new Map<Node, Node>();
  #values = 0;

  read(node: Node | null, depth: number): unknown {
    if (node === null) return null;
    this.#values += 1;
    if (this.#values > maxValues) return this.#stop(node, 'the file holds more than 100000 values');
    if (depth > deepest) return this.#stop(node, 'blocks are nested too deeply');
    if (isAlias(node)) return this.#follow(node, depth);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isMap(node)) return this.#map(node, depth);
    if (isSeq(node)) return this.#list(node, depth);
    return isScalar(node) ? node.value : null;
  }

  target(node: Node | null): Node | null {
    return node === null ? null : (this.#targets.get(node) ?? node);
  }

  #follow(alias: Node & { source: string }, depth: number): unknown {
    const target = this.#targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined) {
      this.#fault('E-MAN-002', 'an alias names an anchor that is not set before it', alias);
      return null;
    }
    this.#targets.set(alias, target);
    return this.read(target, depth + 1);
  }

  #map(map: YAMLMap, depth: number): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    const seen = new Set<string>();
    for (const { key: keyNode, value } of map.items as Pair<Node, Node | null>[]) {
      const key = keyText(keyNode);
      if (key === '__proto__') this.#fault('E-MAN-003', '"__proto__" is not allowed as a key', keyNode);
      else if (seen.has(key)) this.#fault('E-MAN-002', `the key ${renderKey(key)} appears twice in one block`, keyNode);
      else result[key] = this.read(value, depth + 1);
      seen.add(key);
    }
    return result;
  }

  #list(list: YAMLSeq, depth: number): unknown[] {
    return (list.items as (Node | null)[]).map((item) => this.read(item, depth + 1));
  }

  #stop(node: Node, message: string): null {
    if (!this.faults.some((fault) => fault.message === message)) this.#fault('E-MAN-002', message, node);
    return null;
  }

  #fault(code: Fault['code'], message: string, node: Node): void {
    if (this.faults.length >= maxFaults) return;
    const [start, end] = node.range ?? [0, 0];
    this.faults.push({ code, message, start, end });
  }
}
