import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import type { Reply } from '@svc/kit/http/reply.ts';
import type { Handler, RequestHead } from '@svc/kit/http/route.ts';
import { PeerHandles } from '../../src/files/peer-handles.ts';
import { RefusedRequests } from '../../src/files/refused-requests.ts';
import { exportedPlanes } from '../../src/files/resource-planes.ts';
import { resourceDoor, type ResourcePlanesOptions } from '../../src/files/resource-routes.ts';
import { containmentClasses, type ContainmentClass } from '@svc/protocol/containment-class.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

/** Reads in each class. `npm run test:long -- tests` makes it 100,000. */
const reads = Number(process.env['RESOURCE_RACE_READS'] ?? 5000);

const audience = 'reader@127.0.0.1:1';

const writerProgram = fileURLToPath(new URL('../../../../test/support/swap-writer.mjs', import.meta.url));

/** The sizes of what is read at once, held in memory, and spooled. */
const sizes = { small: 100, held: 70_000, spooled: 8_400_000 } as const;

const secretHashes = new Set(
  Object.values(sizes).map((size) => createHash('sha256').update('S'.repeat(size)).digest('hex')),
);

let base = '';
let workdir = '';

eachFolder('svc-race-', (made) => {
  base = made;
  workdir = join(base, 'workdir');
  for (const [letter, directory] of [
    ['i', join(workdir, 'out')],
    ['i', join(workdir, 'out', 'dir')],
    ['i', join(workdir, 'out', 'dir', 'sub')],
    ['S', join(base, 'outside')],
    ['S', join(base, 'outside', 'dir')],
    ['S', join(base, 'outside', 'dir', 'sub')],
    ['S', join(base, 'outside', 'sub')],
    ['S', join(workdir, 'out', 'other', 'sub')],
  ] as const) {
    mkdirSync(directory, { recursive: true });
    for (const [name, size] of Object.entries(sizes)) writeFileSync(join(directory, name), letter.repeat(size));
  }
});

interface Swap {
  /** What is replaced, below the workdir. */
  readonly place: string;
  /** What the link that replaces it leads to. */
  readonly target: string;
  readonly paths: readonly string[];
}

const swaps: readonly (readonly [string, Swap])[] = [
  ['a file', { place: 'out/small', target: 'outside/small', paths: ['small'] }],
  ['a larger file', { place: 'out/held', target: 'outside/held', paths: ['held'] }],
  ['a directory', { place: 'out/dir', target: 'outside/dir', paths: ['dir/small', 'dir/sub/small', 'dir/held'] }],
  ['a directory further down', { place: 'out/dir/sub', target: 'outside/sub', paths: ['dir/sub/small'] }],
  ['the root', { place: 'out', target: 'outside', paths: ['small', 'dir/small', 'dir/sub/held'] }],
];

const planned = reads / swaps.length;

const planes = ['operator', 'peer'] as const;

/** Every this many reads one of what goes through a spool file, and a listing. */
const largeEvery = 500;

describe.each(containmentClasses)('under %s, while another process swaps it for a link out,', (achieved) => {
  it.each(swaps)(
    '%s never gives out a byte from there [D3-PATH-05] [D3-PATH-06] [D3-PATH-09] [D3-PEER-07]',
    { timeout: 600_000 },
    async (_what, swap) => {
      const met = await race(achieved, swap, '403 outside_root');
      expect(met.filter((outcome) => !outcome.endsWith('not_found'))).toEqual([
        'operator: 200',
        'operator: 403 outside_root',
        'peer: 200',
        'peer: 403 outside_root',
      ]);
    },
  );
});

describe('under scoped, while another process swaps it for a link to what else is exported,', () => {
  it.each([
    ['a file', { place: 'out/small', target: 'workdir/out/other/small', paths: ['small'] }],
    ['a directory', { place: 'out/dir', target: 'workdir/out/other', paths: ['dir/small', 'dir/sub/held'] }],
  ])(
    '%s never gives out a byte from there [D3-PATH-08] [D3-ERR-07] [D3-PEER-07]',
    { timeout: 600_000 },
    async (_what, swap) => {
      const met = await race('scoped', swap, '403 symlink_refused');
      // What is set aside between its opening and the look at where it is, is outside.
      expect(met.filter((outcome) => !/not_found|outside_root/.test(outcome))).toEqual([
        'operator: 200',
        'operator: 403 symlink_refused',
        'peer: 200',
        'peer: 403 symlink_refused',
      ]);
    },
  );
});

/**
 * Reads what is swapped until each plane has met both sides of the swap again and again: the file, and `refusal` for the link. All outcomes
 * that were met, except for a path that was swapped at each of its look-ups, which is refused as the link that it may be.
 */
async function race(achieved: ContainmentClass, swap: Swap, refusal: string): Promise<string[]> {
  const readers = new Readers(achieved);
  const hasMetAll = (): boolean =>
    planes.every((plane) => ['200', refusal].every((outcome) => readers.count(`${plane}: ${outcome}`) >= 10));
  const turns = await whileSwapping(swap, async () => {
    for (let read = 0; read < planned || (!hasMetAll() && read < 100 * planned); read += 1) {
      const path = swap.paths[read % swap.paths.length] ?? '';
      await readers.read(planes[read % planes.length] ?? 'operator', path);
      if (read % largeEvery > 0) continue;
      for (const plane of planes) await readers.read(plane, largeOf(swap));
      await readers.list();
    }
  });
  expect(turns).toBeGreaterThan(100);
  expect(hasMetAll()).toBe(true);
  const expected = (outcome: string): boolean => outcome.endsWith(refusal) || !outcome.endsWith('symlink_refused');
  return [...readers.outcomes.keys()].filter(expected).sort();
}

/** The spooled file that the swapped link would lead to. */
function largeOf({ place, paths }: Swap): string {
  const [path = ''] = paths;
  return place === 'out' || path.includes('/') ? path.replace(/[^/]*$/, 'spooled') : path;
}

/** Reads on both planes; each body is held to what is inside. */
class Readers {
  readonly outcomes = new Map<string, number>();
  readonly #handles = new PeerHandles({ issuer: 'ses_race', now: () => 0, randomBytes: (size) => randomBytes(size) });
  readonly #tokens = new Map<string, string>();
  readonly #handle: Handler<RequestHead>;

  constructor(achieved: ContainmentClass) {
    mkdirSync(join(base, 'session'));
    const files = { root: 'out', max_bytes: 100_000_000 };
    const options: ResourcePlanesOptions = {
      workdir,
      files,
      peerFiles: { ...files, handles: this.#handles },
      achieved,
      generation: () => 0,
      spoolDirectory: join(base, 'session'),
      onAccepted: () => undefined,
      refusals: new RefusedRequests({ clock: new FakeClock(), write: () => true }),
    };
    this.#handle = resourceDoor(options, exportedPlanes(options)).answer;
  }

  count(outcome: string): number {
    return this.outcomes.get(outcome) ?? 0;
  }

  async read(plane: 'operator' | 'peer', path: string): Promise<void> {
    const { reply, bytes } = await this.#answer(
      plane === 'operator' ? `files/${path}` : `peer/${this.#tokenFor(path)}`,
    );
    if (reply.kind === 'json') {
      const { error } = JSON.parse(bytes.toString('utf8')) as { error: string };
      this.#note(`${plane}: ${reply.status} ${error}`);
      return;
    }
    this.#note(`${plane}: 200`);
    const inside = Buffer.alloc(bytes.length, 'i');
    if (!bytes.equals(inside) || !Object.values<number>(sizes).includes(bytes.length)) {
      throw new Error(`${path} gave out ${bytes.length} bytes: ${bytes.toString('latin1', 0, 40)}`);
    }
  }

  async list(): Promise<void> {
    const { reply, bytes } = await this.#answer('files');
    const text = bytes.toString('utf8');
    if (reply.kind === 'stream' || reply.status !== 200) return;
    const { entries } = JSON.parse(text) as { entries: { path: string; sha256: string }[] };
    for (const { path, sha256 } of entries) {
      if (!path.startsWith('other/') && secretHashes.has(sha256))
        throw new Error(`${path} was listed with the hash of what is outside`);
    }
  }

  #tokenFor(path: string): string {
    const known = this.#tokens.get(path);
    if (known !== undefined) return known;
    const { handle } = this.#handles.mint({ path, audience, ttlMs: 1 });
    this.#tokens.set(path, handle);
    return handle;
  }

  async #answer(below: string): Promise<{ reply: Reply; bytes: Buffer }> {
    const path = `/resources/${below}`;
    const reply = await this.#handle({ method: 'GET', path, query: '', headers: { 'x-svc-audience': audience } });
    if (reply.kind === 'json') return { reply, bytes: Buffer.from(reply.text) };
    if (reply.kind === 'bytes') {
      const bytes = Buffer.from(reply.bytes);
      reply.onDone?.(true);
      return { reply, bytes };
    }
    if (reply.kind === 'file') {
      const pieces = (await reply.file.createReadStream({ start: 0 }).toArray()) as Buffer[];
      return { reply, bytes: Buffer.concat(pieces) };
    }
    if (reply.kind !== 'readable') throw new Error(`an answer of the kind ${reply.kind}`);
    const pieces = (await reply.source.toArray()) as (Buffer | string)[];
    return { reply, bytes: Buffer.concat(pieces.map((piece) => Buffer.from(piece))) };
  }

  #note(outcome: string): void {
    this.outcomes.set(outcome, this.count(outcome) + 1);
  }
}

/** Swaps a place for a link until `during` has settled; how often that was. */
async function whileSwapping({ place, target }: Swap, during: () => Promise<void>): Promise<number> {
  const link = join(base, 'link');
  symlinkSync(join(base, target), link);
  const args = [writerProgram, join(workdir, place), link, join(base, 'away')];
  const writer = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  writer.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(writer.stdout, 'data');
  try {
    await during();
  } finally {
    const closed = once(writer, 'close');
    writer.stdin.end();
    await closed;
  }
  expect(writer.exitCode).toBe(0);
  return Number(said.trim().split('\n').at(-1));
}
