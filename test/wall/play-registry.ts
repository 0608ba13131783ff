/** Plays what an OCI registry sent, to the commands that publish to one and install from it. */

import type { IncomingMessage, ServerResponse } from 'node:http';

import * as z from 'zod';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { loginOfToken } from '@svc/artifacts/store/sources/oci/logins.ts';
import { archiveBytes, toolFiles } from '../../packages/artifacts/test/store/artifacts.ts';
import { digestOf, MemoryOci } from '../../packages/artifacts/test/sources/memory-oci.ts';
import { accessWith, acmeOf, publishTo, putMarked } from '../../packages/artifacts/test/sources/oci-kit.ts';
import { StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { each, origin } from './read-wall.ts';

const text = z.string();

/** How an answer differs from that of the registry that stands behind. `$registry`, `$tokens` and `$storage` are the addresses of the three servers, `$location` and `$digest` what the request is about. */
const change = z.strictObject({
  status: z.union([z.int(), text.regex(/^\d{3}$|^\$each$/)]).optional(),
  headers: z.record(text, z.union([text, z.array(text)])).optional(),
  /** With it nothing is taken or given. */
  body: text.optional(),
  /** The connection is closed instead. */
  cut: z.literal(true).optional(),
  /** Holds for requests that do not show this. */
  unless: text.optional(),
  /** Holds for bodies larger than this. */
  above: z.int().optional(),
  /** Holds for the request of this number of its kind, counted from 1, and those before it. */
  until: z.int().optional(),
  /** Holds for the request of this number of its kind alone. */
  only: z.int().optional(),
});

/** What is played under one title. */
export const registry = z.strictObject({
  each,
  does: z.enum(['publish', 'sign', 'fetch', 'signatures']),
  login: text.optional(),
  /** The bytes of an archive that is larger than that of a small tool. */
  bytes: z.int().optional(),
  lists_referrers: z.boolean().optional(),
  /** By method and kind: `manifest`, `blob`, `upload`, `referrers`, `token`, `storage`; `*` is every kind of the registry. */
  changes: z.record(text, z.union([change, z.array(change)])),
  /** `done`, `absent`, or the words of a failure; a pattern between slashes. */
  seen: text.min(4),
  /** What a person can do about the failure; a pattern between slashes. */
  hint: text.optional(),
  /** Each fits a line `<server> <method> <path> <authorization>` of what was asked. */
  asks: z.array(text).optional(),
  /** None fits any. */
  never_asks: z.array(text).optional(),
});

/** A file of this folder. */
export const registryFile = z.strictObject({ ...origin, registries: z.record(text, registry) });

type Registry = z.infer<typeof registry>;
type Change = z.infer<typeof change>;

interface Played extends Outcome {
  readonly asked: readonly string[];
}

const small = await archiveBytes(toolFiles('echo'));
const bundle = '{"mediaType":"one"}';

interface Outcome {
  readonly seen: string;
  readonly hint: string | null;
}

/** Publishes to a registry as it is described, or reads what lies there. */
export async function play(given: Registry): Promise<Played> {
  const played = await PlayedRegistry.open(given);
  return { ...(await played.run()), asked: played.asked };
}

class PlayedRegistry {
  readonly asked: string[] = [];
  readonly #given: Registry;
  readonly #behind: MemoryOci;
  readonly #bytes: Buffer;
  readonly #counts = new Map<string, number>();
  #tokens = '';
  #storage = '';

  static async open(given: Registry): Promise<PlayedRegistry> {
    const played = new PlayedRegistry(given, await MemoryOci.open());
    const tokens = await StandInServer.open((request, response) => {
      played.#note('tokens', request);
      if (!played.#changes(request, response, 'token')) response.end('{"token":"t0k3n"}');
    });
    const storage = await StandInServer.open((request, response) => {
      played.#note('storage', request);
      if (!played.#changes(request, response, 'storage')) played.#give(request, response);
    });
    [played.#tokens, played.#storage] = [tokens.url, storage.url];
    return played;
  }

  private constructor(given: Registry, behind: MemoryOci) {
    this.#given = given;
    this.#behind = behind;
    this.#bytes = given.bytes === undefined ? small : Buffer.alloc(given.bytes, 'svc');
    behind.listsReferrers = given.lists_referrers === true;
  }

  async run(): Promise<Outcome> {
    const { does } = this.#given;
    if (does === 'fetch') putMarked(this.#behind, this.#bytes, 'of a test');
    if (does === 'signatures') await publishTo(this.#behind, this.#bytes, { signatures: [bundle] });
    this.#behind.fault = (request, response) => {
      this.#note('registry', request);
      return this.#changes(request, response, kindOf(request));
    };
    try {
      return { seen: await this.#outcome(), hint: null };
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      const { hint } = error;
      return {
        seen: this.#named(`${error.code}: ${error.message}`),
        hint: hint === undefined ? null : this.#named(hint),
      };
    }
  }

  #named(words: string): string {
    return words
      .replaceAll(this.#behind.host, 'registry')
      .replaceAll(this.#tokens, 'tokens')
      .replaceAll(new URL(this.#storage).host, 'storage');
  }

  async #outcome(): Promise<string> {
    const { does, login } = this.#given;
    const known = login === undefined ? null : loginOfToken(new Secret(login));
    const access = accessWith({ login: () => known });
    const sha256 = digestOf(this.#bytes).slice('sha256:'.length);
    const ref = { name: 'echo', version: '1.0.0' };
    if (does === 'signatures') {
      const found = await acmeOf(this.#behind, access).signatures({ ...ref, sha256 });
      return found.includes(bundle) ? 'done' : 'absent';
    }
    if (does === 'fetch') {
      const fetched = await acmeOf(this.#behind, access).fetch(ref, 'linux-x86_64');
      if (fetched === null) return 'absent';
      const chunks: Uint8Array[] = [];
      for await (const chunk of fetched.bytes) chunks.push(chunk);
      return Buffer.concat(chunks).equals(this.#bytes) ? 'done' : 'other bytes';
    }
    await publishTo(this.#behind, this.#bytes, { access, signatures: does === 'sign' ? [bundle] : [] });
    const isThere = this.#behind.blobs.get(digestOf(this.#bytes))?.equals(this.#bytes) === true;
    return isThere && this.#behind.manifests.has('acme/echo 1.0.0') ? 'done' : 'not there';
  }

  #note(server: string, { method, url, headers }: IncomingMessage): void {
    this.asked.push(`${server} ${method} ${url} ${headers.authorization ?? '-'}`);
  }

  /** Storage has what the registry has. */
  #give({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const bytes = this.#behind.blobs.get(decodeURIComponent(url.slice(1).split('?')[0] ?? ''));
    response.writeHead(bytes === undefined ? 404 : 200).end(bytes);
  }

  /** Whether the answer is not that of the registry itself any more. */
  #changes(request: IncomingMessage, response: ServerResponse, kind: string): boolean {
    const { method = '', headers } = request;
    const key = `${method} ${kind}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const keys = kind === 'token' || kind === 'storage' ? [key] : [key, `* ${kind}`, `${method} *`, '* *'];
    const listed = keys.flatMap((each) => this.#given.changes[each] ?? []);
    const found = listed.find(
      ({ unless, above, until = Number.POSITIVE_INFINITY, only = count }) =>
        (unless === undefined || headers.authorization !== unless) &&
        (above === undefined || Number(headers['content-length'] ?? 0) > above) &&
        count <= until &&
        count === only,
    );
    if (found === undefined) return false;
    if (found.cut === true) request.socket.destroy();
    else if (found.body === undefined) this.#alter(request, response, found);
    else request.resume().once('end', () => this.#answer(request, response, found));
    return found.cut === true || found.body !== undefined;
  }

  #answer(request: IncomingMessage, response: ServerResponse, { status = 200, headers = {}, body = '' }: Change): void {
    const filled = Object.entries(headers).map(([name, value]) => [name, this.#filled(value, request, '')]);
    response.writeHead(Number(status), Object.fromEntries(filled)).end(this.#filled(body, request, ''));
  }

  /** Other words for the head of the answer that the registry gives itself. */
  #alter(request: IncomingMessage, response: ServerResponse, { status, headers = {} }: Change): void {
    const write = response.writeHead.bind(response) as (status: number, headers: object) => ServerResponse;
    response.writeHead = ((own: number, given: Readonly<Record<string, string>> = {}) => {
      const filled = Object.entries(headers).map(([name, value]) => [
        name,
        this.#filled(value, request, given['location'] ?? ''),
      ]);
      const kept = Object.entries({ ...given, ...Object.fromEntries(filled) }).filter(([, value]) => value !== '');
      return write(Number(status ?? own), Object.fromEntries(kept));
    }) as typeof response.writeHead;
  }

  #filled<Value extends string | readonly string[]>(
    value: Value,
    { url = '' }: IncomingMessage,
    location: string,
  ): Value {
    const fill = (part: string): string =>
      part
        .replaceAll('$registry', () => this.#behind.server.url)
        .replaceAll('$tokens', () => this.#tokens)
        .replaceAll('$storage', () => this.#storage)
        .replaceAll('$location', () => location)
        .replaceAll('$digest', () => url.split('/').at(-1) ?? '');
    return (typeof value === 'string' ? fill(value) : value.map(fill)) as unknown as Value;
  }
}

function kindOf({ url = '' }: IncomingMessage): string {
  if (url.includes('/blobs/uploads/')) return 'upload';
  return /\/(manifest|blob|referrers)s?\//.exec(url)?.[1] ?? 'other';
}
