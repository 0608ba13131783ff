/** Brings grants and requests of a session into the form in which a test compares them, with a path to each part that says what it is. */

import { createHash, hash } from 'node:crypto';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { InferenceRequest, Message } from '@svc/session/model/driver.ts';
import { valueDifference } from '@svc/record/journal/json-difference.ts';

/** Two values that differ: where, and what is there; undefined where one has nothing at that place. */
export interface Unequal {
  /** A JSON pointer, in which tools and artifacts stand under their names. */
  readonly path: string;
  readonly recorded: unknown;
  readonly now: unknown;
}

type Tree = Readonly<Record<string, unknown>>;

/** The first difference outside of the paths that are ignored; null when nothing differs. `at` is the path of the two values. */
export function firstUnequal(recorded: unknown, now: unknown, at: string, ignored: readonly string[]): Unequal | null {
  const below = ignored.flatMap((path) => (path === at || at.startsWith(`${path}/`) ? [''] : belowOf(path, at)));
  if (below.includes('')) return null;
  const found = valueDifference(without(recorded, below), without(now, below), at);
  return found === null ? null : { path: found.path, recorded: found.a, now: found.b };
}

function belowOf(path: string, at: string): readonly string[] {
  return path.startsWith(`${at}/`) ? [path.slice(at.length)] : [];
}

/** A copy that lacks what these pointers lead to. */
function without(value: unknown, pointers: readonly string[]): unknown {
  return pointers.reduce((rest, pointer) => changed(rest, keysOf(pointer), undefined), value);
}

/** The keys of a JSON pointer. */
export function keysOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** One key of a JSON pointer, after its slash. */
export function pointerKey(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** A copy with another value at the end of these keys; undefined takes it away. */
export function changed(value: unknown, [key, ...more]: readonly string[], to: unknown): unknown {
  if (value === undefined && to !== undefined) return changed({}, [key ?? '', ...more], to);
  if (key === undefined || typeof value !== 'object' || value === null) return value;
  const own = Object.hasOwn(value, key) ? (value as Tree)[key] : undefined;
  const next = more.length === 0 ? to : changed(own, more, to);
  if (next === own) return value;
  if (Array.isArray(value)) return value.map((item: unknown, index) => (String(index) === key ? next : item));
  if (more.length === 0 && next === undefined) {
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
  }
  return { ...value, [key]: next };
}

/** Grants by what they grant. What the host decides is left out: classes that are achieved, what holds a limit, paths of this machine. */
export function comparableGrants(scope: ScopeObject): Tree {
  const {
    containment,
    limits,
    command_reads: _,
    project_folder: __,
    proxied: ___,
    project_text: ____,
    preopens,
    ...rest
  } = scope;
  const lists = Object.entries(rest).map(([key, value]) => [key, Array.isArray(value) ? granted(value) : value]);
  const flags = Object.fromEntries(lists.filter(([, value]) => value !== null)) as Tree;
  const folders = preopens.map(({ artifact, path, state = [], ...folder }) => [
    artifact,
    { ...folder, ...(path === null ? {} : { path }), state: granted(state) },
  ]);
  const most = limits.flatMap(({ resource, of, max }) => (max === null ? [] : [[`${resource} of a ${of}`, max]]));
  return {
    containment: containment.declared,
    ...flags,
    preopens: Object.fromEntries(folders) as Tree,
    limits: Object.fromEntries(most) as Tree,
  };
}

/** Things with more to say have their names first. */
function granted(things: readonly (string | object)[]): Tree {
  return Object.fromEntries(
    things.map((thing) => {
      if (typeof thing === 'string') return [thing, 'granted'];
      const [[, name] = [], ...rest] = Object.entries(thing) as [string, unknown][];
      const told = rest.filter(([, value]) => value !== null);
      return [
        String(name),
        Object.fromEntries(told.map(([key, value]) => [key, Array.isArray(value) ? granted(value) : value])),
      ];
    }),
  );
}

/** What has to change in the grants of a recording for them to be those of now: paths, and what is there; null for nothing. */
export function grantChanges(recorded: unknown, now: unknown, at = ''): readonly (readonly [string, Granted])[] {
  if (now === undefined) return [[at, null]];
  if (!isTree(now)) return recorded === now ? [] : [[at, now as Granted]];
  const before = isTree(recorded) ? recorded : {};
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].flatMap((key) =>
    grantChanges(before[key], now[key], `${at}/${pointerKey(key)}`),
  );
}

type Granted = string | number | boolean | null;

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null;
}

/** Everything of a request but its messages and its ids, in the order in which it is compared. */
function fixedPart({ system, tools, model, maxTokens }: InferenceRequest): Tree {
  return {
    system,
    tools: Object.fromEntries(tools.map(({ name, ...tool }) => [name, tool])),
    model,
    maxTokens,
  };
}

/** Compares the requests of a session one after the other. What requests have in common is looked at once. */
export class RequestComparison {
  readonly #ignored: readonly string[];
  /** Messages that are the same, by the recorded one. */
  readonly #same = new WeakMap<Message, Message>();
  readonly #texts = new WeakMap<object, string>();
  readonly #hash = createHash('sha256');
  /** The messages of the request before, and for each the hash of the list that ends with it. */
  #before: readonly Message[] = [];
  #hashes: readonly string[] = [];

  constructor(ignored: readonly string[]) {
    this.#ignored = ignored;
  }

  /** The first difference of a request; null when it is the same. */
  compare(recorded: InferenceRequest, now: InferenceRequest): Unequal | null {
    this.#note(now);
    const [before, after] = [fixedPart(recorded), fixedPart(now)];
    const fixed = this.#firstOf(Object.keys(before), (key) =>
      firstUnequal(before[key], after[key], `/${key}`, this.#ignored),
    );
    return fixed ?? this.#orderOfTools(recorded, now) ?? this.#messages(recorded.messages, now.messages);
  }

  /** Sixteen digits that are others for other requests, what is ignored in them aside. */
  fingerprint(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  #orderOfTools(recorded: InferenceRequest, now: InferenceRequest): Unequal | null {
    const [before, after] = [recorded, now].map(({ tools }) => tools.map(({ name }) => name));
    const isSame = JSON.stringify(before) === JSON.stringify(after) || before?.length !== after?.length;
    return isSame || this.#ignored.includes('/tools') ? null : { path: '/tools', recorded: before, now: after };
  }

  #messages(recorded: readonly Message[], now: readonly Message[]): Unequal | null {
    const indexes = [...Array(Math.max(recorded.length, now.length)).keys()];
    return this.#firstOf(indexes, (index) => {
      const [before, after] = [recorded[index], now[index]];
      if (before !== undefined && this.#same.get(before) === after) return null;
      const found = firstUnequal(before, after, `/messages/${index}`, this.#ignored);
      if (found === null && before !== undefined && after !== undefined) this.#same.set(before, after);
      return found;
    });
  }

  #firstOf<Item>(items: readonly Item[], find: (item: Item) => Unequal | null): Unequal | null {
    for (const item of items) {
      const found = find(item);
      if (found !== null) return found;
    }
    return null;
  }

  /** What a request has in common with the one before it is neither made a text nor hashed again. */
  #note(request: InferenceRequest): void {
    const { messages } = request;
    const fixed = Object.entries(fixedPart(request)).map(([key, value]) => this.#pruned({ [key]: value }, ''));
    const changed = messages.findIndex((message, index) => message !== this.#before[index]);
    const hashes = this.#hashes.slice(0, changed === -1 ? messages.length : changed);
    for (const [index, message] of messages.entries()) {
      if (index < hashes.length) continue;
      hashes.push(hash('sha256', `${hashes.at(-1) ?? ''}${this.#textOf(message, index)}`));
    }
    this.#before = [...messages];
    this.#hashes = hashes;
    this.#hash.update(`${JSON.stringify(fixed)}${hashes.at(-1) ?? ''}`);
  }

  #textOf(message: Message, index: number): string {
    const at = `/messages/${index}`;
    const known = this.#texts.get(message);
    if (known !== undefined) return known;
    const isIgnored = this.#ignored.some((path) => path === '/messages' || path === at);
    const text = isIgnored ? '' : JSON.stringify(this.#pruned(message, at));
    this.#texts.set(message, text);
    return text;
  }

  #pruned(value: unknown, at: string): unknown {
    return without(
      value,
      this.#ignored.flatMap((path) => belowOf(path, at)),
    );
  }
}
