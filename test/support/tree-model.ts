/** Describes trees of files, and makes them. */

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';

/** A tree of files as a value: a text is a file, `link` leads to a path as it is written, anything else is a directory. */
export type TreeNode = string | { readonly link: string } | { readonly entries: Readonly<Record<string, TreeNode>> };

/** Makes the tree at a path where nothing is. */
export function makeTree(node: TreeNode, path: string): void {
  if (typeof node === 'string') writeFileSync(path, node);
  else if ('link' in node) symlinkSync(node.link, path);
  else {
    mkdirSync(path);
    for (const [name, entry] of Object.entries(node.entries)) makeTree(entry, join(path, name));
  }
}

export interface ExportedTree {
  /** Everything there is, as it stands at `base`; a path that leads elsewhere leads outside. */
  readonly world: TreeNode;
  readonly base: string;
  /** Names from `base` to the exported root. */
  readonly root: readonly string[];
  readonly maxBytes: number;
  readonly achieved: ContainmentClass;
}

/** What a reader of the exported root is answered, as `200 <body>` or `<status> <error>`. `path` is decoded. */
export function answerOf(tree: ExportedTree, path: string): string {
  const components = path.split('/');
  if (path.includes('\0') || components.some((name) => ['', '.', '..'].includes(name))) return '403 outside_root';
  const end = new Walk(tree).follow(components);
  const isRefusedLink = tree.achieved === 'scoped' && end.links > 0;
  if (end.kind === 'loop') return isRefusedLink ? '403 symlink_refused' : '500 io_error';
  if (end.kind === 'outside') return '403 outside_root';
  if (isRefusedLink) return '403 symlink_refused';
  if (end.node === undefined) return '404 not_found';
  if (typeof end.node !== 'string') return '403 not_a_regular_file';
  return Buffer.byteLength(end.node) > tree.maxBytes ? '413 too_large' : `200 ${end.node}`;
}

interface End {
  readonly kind: 'found' | 'nothing' | 'outside' | 'loop';
  /** What was found. */
  readonly node?: TreeNode;
  /** Links on the way. */
  readonly links: number;
}

/** One walk over the tree, a name at a time. What leads to nothing after it has left the root counts as outside. */
class Walk {
  readonly #tree: ExportedTree;
  /** Names from `base` to where the walk stands. */
  #place: string[];
  #links = 0;
  #hasLeft = false;
  /** It has gone on from a file as if from a directory. */
  #isLost = false;

  constructor(tree: ExportedTree) {
    this.#tree = tree;
    this.#place = [...tree.root];
  }

  follow(components: readonly string[]): End {
    const pending = [...components];
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      if (typeof this.#here() === 'string') this.#isLost = true;
      if (name === '' || name === '.') continue;
      if (name === '..') {
        if (this.#place.pop() === undefined) return this.#end('outside');
        this.#note();
        continue;
      }
      this.#place.push(name);
      this.#note();
      const node = this.#here();
      if (node === undefined) return this.#end('nothing');
      if (typeof node === 'string' || !('link' in node)) continue;
      this.#links += 1;
      if (this.#links > 40) return this.#end('loop');
      if (!this.#turn(node.link, pending)) return this.#end('outside');
    }
    const node = this.#here();
    if (node === undefined || this.#isLost) return this.#end('nothing');
    return this.#isInside() ? { kind: 'found', node, links: this.#links } : this.#end('outside');
  }

  /** Goes where a link leads; false where that is no part of the world. */
  #turn(target: string, pending: string[]): boolean {
    const { base, root } = this.#tree;
    const absoluteRoot = [base, ...root].join('/');
    this.#place.pop();
    if (!target.startsWith('/')) pending.unshift(...target.split('/'));
    else if (`${target}/`.startsWith(`${absoluteRoot}/`)) {
      this.#place = [...root];
      pending.unshift(...target.slice(absoluteRoot.length).split('/'));
    } else if (`${target}/`.startsWith(`${base}/`)) {
      this.#hasLeft = true;
      this.#place = [];
      pending.unshift(...target.slice(base.length).split('/'));
    } else return false;
    return true;
  }

  #here(): TreeNode | undefined {
    let node: TreeNode | undefined = this.#tree.world;
    for (const name of this.#place) {
      if (node === undefined || typeof node === 'string' || 'link' in node) return undefined;
      node = Object.hasOwn(node.entries, name) ? node.entries[name] : undefined;
    }
    return node;
  }

  #isInside(): boolean {
    return this.#tree.root.every((name, index) => this.#place[index] === name);
  }

  #note(): void {
    if (!this.#isInside()) this.#hasLeft = true;
  }

  #end(kind: 'nothing' | 'outside' | 'loop'): End {
    return { kind: this.#hasLeft ? 'outside' : kind, links: this.#links };
  }
}
