import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';

import { renderKey } from './key-path.ts';

export interface NodeFault {
  readonly code: 'E-MAN-002' | 'E-MAN-003';
  readonly message: string;
  /** Offsets into the text. */
  readonly start: number;
  readonly end: number;
}

export interface NodeReading {
  readonly value: unknown;
  readonly faults: readonly NodeFault[];
  /** The node an alias stands for; any other node itself. */
  target(node: Node | null): Node | null;
}

/** A key as it is written: the parser was told that every key is text. */
export function keyText(key: Node | null): string {
  return isScalar(key) && typeof key.value === 'string' ? key.value : '';
}

const deepest = 64;
const mostValues = 100_000;
const mostFaults = 100;

/** Plain data of a node tree; aliases are followed within a budget, so that a small file cannot grow without bound. */
export function readNodes(root: Node | null): NodeReading {
  const reader = new NodeReader();
  const value = reader.read(root, 0);
  return { value, faults: reader.faults, target: (node) => reader.target(node) };
}

class NodeReader {
  readonly faults: NodeFault[] = [];
  readonly #anchors = new Map<string, Node>();
  readonly #targets = new Map<Node, Node>();
  #values = 0;

  read(node: Node | null, depth: number): unknown {
    if (node === null) return null;
    this.#values += 1;
    if (this.#values > mostValues) return this.#stop(node, 'the file holds more than 100000 values');
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

  #fault(code: NodeFault['code'], message: string, node: Node): void {
    if (this.faults.length >= mostFaults) return;
    const [start, end] = node.range ?? [0, 0];
    this.faults.push({ code, message, start, end });
  }
}
