/** Where a page gets its sessions from: the server that sent it, or what was exported with it. */

import { decodeSettledApproval } from '@svc/protocol/approval.ts';
import { asJsonObject, type JsonObject, stringOr } from '@svc/protocol/json-object.ts';
import type {
  ViewedComparison,
  ViewedFacts,
  ViewedFile,
  ViewedFiles,
  ViewedList,
} from '@svc/protocol/viewed-session.ts';
import type { Place } from '../messages.ts';
import { ask, faultOf, fromBase64, heldBytes, SourceFault } from '../worker/byte-sources.ts';

/** All that is asked of one rejects with a `SourceFault` where the answer says why it is missing. */
export type Source = ServedSource | HeldSource;

export class ServedSource {
  readonly isServed = true;
  readonly #base: string;
  readonly #token: string;

  /** `base` is the address of the server with `/` at its end. */
  constructor(base: string, token: string) {
    this.#base = base;
    this.#token = token;
  }

  async sessions(): Promise<ViewedList> {
    return await this.#json('sessions');
  }

  async facts(id: string): Promise<ViewedFacts> {
    return await this.#json(pathOf(id));
  }

  place(id: string): Place {
    return { kind: 'server', base: `${this.#base + pathOf(id)}/`, token: this.#token };
  }

  async files(id: string): Promise<ViewedFiles> {
    return await this.#json(`${pathOf(id)}/files`);
  }

  async file(id: string, path: string): Promise<Uint8Array> {
    const place = path.split('/').map(encodeURIComponent).join('/');
    const answer = await this.#get(`${pathOf(id)}/file/${place}`);
    return new Uint8Array(await answer.arrayBuffer());
  }

  async compare(a: string, b: string): Promise<ViewedComparison> {
    return await this.#json(`compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
  }

  /** What the capsule answered: '' where it did what was asked, or what it says against it. */
  async call(
    id: string,
    method: 'message/send' | 'tasks/cancel' | 'tasks/answer' | 'approvals/answer',
    params: JsonObject,
  ): Promise<string> {
    const { error } = await this.#json<JsonObject>(`${pathOf(id)}/rpc`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      headers: { 'content-type': 'application/json' },
    });
    const settled = decodeSettledApproval(asJsonObject(error)?.['data']);
    if (settled !== null) return `It was settled before: ${settled.decision} by ${settled.by}`.slice(0, 500);
    return error === undefined
      ? ''
      : stringOr(asJsonObject(error)?.['message'], '').slice(0, 500) || 'The capsule refused it.';
  }

  /** What the server answers, which is of the same version as this page. */
  async #json<Answer>(path: string, asked?: Asked): Promise<Answer> {
    const answer = await this.#get(path, asked);
    return (await answer.json()) as Answer;
  }

  async #get(path: string, asked?: Asked): Promise<Response> {
    const headers = { ...asked?.headers, authorization: `Bearer ${this.#token}` };
    const answer = await ask(this.#base + path, { ...asked, headers });
    if (!answer.ok) throw new SourceFault(await faultOf(answer));
    return answer;
  }
}

interface Asked {
  readonly method: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function pathOf(id: string): string {
  return `s/${encodeURIComponent(id)}`;
}

/** What stands in the document of an exported page, by the ids of its elements. */
export type HeldTexts = (id: string) => string | null;

/** While nothing is known of a session, its trace is shown all the same. */
export const unknownFacts: ViewedFacts = {
  id: 'session',
  live: false,
  readOnly: true,
  capture: 'none',
  has: { trace: true, journal: false, files: false },
  notes: [],
  notStopped: [],
  granted: null,
};

export class HeldSource {
  readonly isServed = false;
  readonly #held: HeldTexts;
  readonly #facts: ViewedFacts;

  constructor(held: HeldTexts) {
    this.#held = held;
    this.#facts = { ...unknownFacts, ...heldFacts(held('svc-facts') ?? '') };
  }

  /** The id of the one session that is held. */
  get id(): string {
    return this.#facts.id;
  }

  async facts(): Promise<ViewedFacts> {
    return await Promise.resolve(this.#facts);
  }

  place(): Place {
    const held = this.#held;
    const [rows = '', lines = '', answers = ''] = ['rows', 'lines', 'answers'].map((name) => held(`svc-${name}`) ?? '');
    return { kind: 'held', rows, lines, answers };
  }

  async files(): Promise<ViewedFiles> {
    return { files: await this.#files(), truncated: false };
  }

  async file(_id: string, path: string): Promise<Uint8Array> {
    const file = (await this.#files()).find((each) => each.path === path);
    if (typeof file?.text !== 'string') throw new SourceFault('This file was not exported with the session.');
    return new TextEncoder().encode(file.text);
  }

  async #files(): Promise<readonly (ViewedFile & { readonly text: string | null })[]> {
    const lines = await new Response(heldBytes(this.#held('svc-files') ?? '')).text();
    return JSON.parse(`[${lines.trim().replaceAll('\n', ',')}]`) as (ViewedFile & { readonly text: string | null })[];
  }
}

function heldFacts(base64: string): Partial<ViewedFacts> {
  try {
    return JSON.parse(new TextDecoder().decode(fromBase64(base64.trim()))) as Partial<ViewedFacts>;
  } catch (error) {
    if (!(error instanceof SourceFault || error instanceof SyntaxError)) throw error;
    return {};
  }
}
