/** Where a page gets its sessions from: the server that sent it, or what was exported with it. Answers are looked at before they are used. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import type { Place } from '../messages.ts';
import { countIn, countOrNull, objectIn, objectsIn, textIn, textOrNull, textsIn } from '../trace/checked.ts';
import { ask, faultOf, fromBase64, heldBytes, SourceFault } from '../worker/byte-sources.ts';

/** A row of the list of sessions. */
export interface SessionRow {
  readonly id: string;
  readonly capsule: string;
  readonly version: string;
  /** Unix milliseconds; null where nothing says it. */
  readonly startedAt: number | null;
  readonly status: string;
  readonly tasks: number | null;
  readonly tokens: number | null;
  readonly task: string;
}

export interface SessionFacts {
  readonly id: string;
  readonly isLive: boolean;
  readonly isReadOnly: boolean;
  readonly capture: string;
  readonly hasJournal: boolean;
  readonly hasFiles: boolean;
  readonly notes: readonly string[];
  readonly notStopped: readonly string[];
}

export interface ListedFile {
  readonly path: string;
  readonly bytes: number;
}

export interface FileList {
  readonly files: readonly ListedFile[];
  readonly isCut: boolean;
}

/** Where two sessions part, as far as a page shows it; null where they are the same but for ids and times. */
export interface Parting {
  readonly kind: string;
  readonly steps: { readonly a: number | null; readonly b: number | null };
  readonly name: string;
  readonly turn: number | null;
  readonly task: number | null;
  readonly part: string;
  readonly message: { readonly number: number; readonly role: string } | null;
  readonly difference: { readonly path: string; readonly a: string; readonly b: string } | null;
}

export interface Comparison {
  readonly a: string;
  readonly b: string;
  /** Null where none is known of. */
  readonly parting: Parting | null;
  /** What kept them from being compared as a whole. */
  readonly notes: readonly string[];
  /** Of the other session, where only this is known of it. */
  readonly rowB: SessionRow | null;
}

export interface Source {
  readonly isServed: boolean;
  /** Rejects with a `SourceFault`, as all of these do. */
  sessions(): Promise<readonly SessionRow[]>;
  facts(id: string): Promise<SessionFacts>;
  place(facts: SessionFacts): Place;
  files(id: string): Promise<FileList>;
  file(id: string, path: string): Promise<Uint8Array>;
  /** Null where there is nothing to compare with. */
  compare(a: string, b: string): Promise<Comparison | null>;
  /** What the capsule answered: '' where it did what was asked, or what it says against it. */
  call(id: string, method: 'message/send' | 'tasks/cancel' | 'tasks/answer', params: JsonObject): Promise<string>;
}

export class ServedSource implements Source {
  readonly isServed = true;
  readonly #base: string;
  readonly #token: string;
  #calls = 0;

  /** `base` is the address of the server with `/` at its end. */
  constructor(base: string, token: string) {
    this.#base = base;
    this.#token = token;
  }

  async sessions(): Promise<readonly SessionRow[]> {
    const answer = await this.#json('sessions');
    return objectsIn(answer['sessions'], 100_000).map(rowOf);
  }

  async facts(id: string): Promise<SessionFacts> {
    return factsOf(await this.#json(`s/${encodeURIComponent(id)}`), id);
  }

  place({ id, isLive, hasJournal }: SessionFacts): Place {
    return {
      kind: 'server',
      base: `${this.#base}s/${encodeURIComponent(id)}/`,
      token: this.#token,
      isLive,
      hasJournal,
    };
  }

  async files(id: string): Promise<FileList> {
    const answer = await this.#json(`s/${encodeURIComponent(id)}/files`);
    return { files: objectsIn(answer['files'], 10_000).map(fileOf), isCut: answer['truncated'] === true };
  }

  async file(id: string, path: string): Promise<Uint8Array> {
    const place = path.split('/').map(encodeURIComponent).join('/');
    const answer = await this.#get(`s/${encodeURIComponent(id)}/file/${place}`);
    return new Uint8Array(await answer.arrayBuffer());
  }

  async compare(a: string, b: string): Promise<Comparison> {
    const answer = await this.#json(`compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
    return comparisonOf(answer);
  }

  async call(id: string, method: string, params: JsonObject): Promise<string> {
    this.#calls += 1;
    const request = { jsonrpc: '2.0', id: this.#calls, method, params };
    const answer = await this.#get(`s/${encodeURIComponent(id)}/rpc`, {
      method: 'POST',
      body: JSON.stringify(request),
      headers: { 'content-type': 'application/json' },
    });
    const error = asJsonObject(parseJsonObject(await answer.text())?.['error']);
    return error === null ? '' : textIn(error['message'], 500) || 'The capsule refused it.';
  }

  async #json(path: string): Promise<JsonObject> {
    const answer = await this.#get(path);
    const value = parseJsonObject(await answer.text());
    if (value === null) throw new SourceFault('The server of this page answered what cannot be read.');
    return value;
  }

  async #get(
    path: string,
    asked: {
      readonly method?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Response> {
    const answer = await ask(this.#base + path, {
      ...asked,
      headers: { ...asked.headers, authorization: `Bearer ${this.#token}` },
    });
    if (!answer.ok) throw new SourceFault(await faultOf(answer));
    return answer;
  }
}

/** What stands in the document of an exported page, by the ids of its elements. */
export type HeldTexts = (id: string) => string | null;

export class HeldSource implements Source {
  readonly isServed = false;
  readonly #held: HeldTexts;
  readonly #facts: JsonObject;

  constructor(held: HeldTexts) {
    this.#held = held;
    this.#facts = heldFacts(held('svc-facts') ?? '');
  }

  async sessions(): Promise<readonly SessionRow[]> {
    const row = this.#facts['row'];
    return await Promise.resolve(asJsonObject(row) === null ? [] : [rowOf(objectIn(row))]);
  }

  /** The id of the one session that is held. */
  get id(): string {
    return textIn(this.#facts['id'], 4096);
  }

  async facts(id: string): Promise<SessionFacts> {
    const facts = factsOf(this.#facts, id);
    return await Promise.resolve({
      ...facts,
      isLive: false,
      isReadOnly: true,
      hasFiles: this.#held('svc-files') !== null,
    });
  }

  place(): Place {
    const held = this.#held;
    return { kind: 'held', trace: held('svc-trace') ?? '', journal: held('svc-journal'), bodies: held('svc-bodies') };
  }

  async files(): Promise<FileList> {
    const files = await this.#files();
    return { files: files.map(fileOf), isCut: false };
  }

  async file(_id: string, path: string): Promise<Uint8Array> {
    const file = (await this.#files()).find((each) => each['path'] === path);
    if (typeof file?.['text'] !== 'string') throw new SourceFault('This file was not exported with the session.');
    return new TextEncoder().encode(file['text']);
  }

  async compare(): Promise<Comparison | null> {
    const text = this.#held('svc-compare');
    if (text === null) return null;
    const value = parseJsonObject(await unpacked(text));
    return value === null ? null : comparisonOf(value);
  }

  async call(): Promise<string> {
    return await Promise.resolve('This page is a file: it reaches no capsule.');
  }

  async #files(): Promise<readonly JsonObject[]> {
    const text = this.#held('svc-files');
    if (text === null) return [];
    return (await unpacked(text))
      .split('\n')
      .map(parseJsonObject)
      .filter((file) => file !== null);
  }
}

async function unpacked(base64: string): Promise<string> {
  try {
    return await new Response(heldBytes(base64)).text();
  } catch (error) {
    throw error instanceof SourceFault ? error : new SourceFault('What this page holds is damaged.', { cause: error });
  }
}

/** Facts that are damaged are none: the trace beside them is shown all the same. */
function heldFacts(base64: string): JsonObject {
  try {
    return parseJsonObject(new TextDecoder().decode(fromBase64(base64.trim()))) ?? {};
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    return {};
  }
}

function rowOf(row: JsonObject): SessionRow {
  return {
    id: textIn(row['session_id'], 4096),
    capsule: textIn(row['capsule'], 100),
    version: textIn(row['version'], 40),
    startedAt: countOrNull(row['started_at_ms']),
    status: textIn(row['status'], 30),
    tasks: countOrNull(row['tasks']),
    tokens: countOrNull(row['tokens']),
    task: textIn(row['task'], 300),
  };
}

function factsOf(facts: JsonObject, id: string): SessionFacts {
  const has = objectIn(facts['has']);
  return {
    id,
    isLive: facts['live'] === true,
    isReadOnly: facts['readOnly'] !== false,
    capture: textIn(facts['capture'], 20),
    hasJournal: has['journal'] === true,
    hasFiles: has['files'] === true,
    notes: textsIn(facts['notes'], 50, 500),
    notStopped: textsIn(facts['notStopped'], 100, 500),
  };
}

function fileOf(file: JsonObject): ListedFile {
  return { path: textIn(file['path'], 4096), bytes: countIn(file['bytes']) };
}

function comparisonOf(value: JsonObject): Comparison {
  const parting = asJsonObject(value['parting']);
  const rowB = asJsonObject(value['rowB']);
  const notes = textsIn(value['notes'], 10, 500);
  // A step that one of them lacks may stand behind the damage.
  const isSure = parting !== null && (notes.length === 0 || parting['kind'] !== 'missing');
  return {
    a: textIn(value['a'], 4096),
    b: textIn(value['b'], 4096),
    parting: isSure ? partingOf(parting) : null,
    notes,
    rowB: rowB === null ? null : rowOf(rowB),
  };
}

function partingOf(parting: JsonObject): Parting {
  const steps = objectIn(parting['steps']);
  const message = asJsonObject(parting['message']);
  const difference = asJsonObject(parting['difference']);
  return {
    kind: textIn(parting['kind'], 30),
    steps: { a: countOrNull(steps['a']), b: countOrNull(steps['b']) },
    name: textIn(parting['name'], 100),
    turn: countOrNull(parting['turn']),
    task: countOrNull(parting['task']),
    part: textIn(parting['part'], 30),
    message: message === null ? null : { number: countIn(message['number']), role: textIn(message['role'], 30) },
    difference:
      difference === null
        ? null
        : {
            path: textIn(difference['path'], 300),
            a: textOrNull(difference['a'], 20_000) ?? '',
            b: textOrNull(difference['b'], 20_000) ?? '',
          },
  };
}
