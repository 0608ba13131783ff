import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';

import {
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  dictionary,
  letrec,
  oneof,
  tuple,
  type Arbitrary,
} from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { PeerHandles } from '../../src/files/peer-handles.ts';
import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { answerOf, makeTree, type TreeNode } from '../../../../test/support/tree-model.ts';
import { ExportedWorkdir, refusalOf } from './exported-workdir.ts';
import { ask, type RawResponse } from '../../../kit/test/http/raw-client.ts';

const maxBytes = 20;
const audience = 'reader@127.0.0.1:1';

/** Few names, so that random paths meet what random trees have. */
const name = constantFrom('a', 'b', 'ä', 'c d');

describe('any path, in any tree with any links', () => {
  const plane = new ExportedWorkdir();
  const handles = new PeerHandles({ issuer: 'ses_model', now: () => 0, randomBytes: (size) => randomBytes(size) });
  const ports = new Map<string, number>();
  const seen = new Set<string>();

  beforeAll(async () => {
    for (const achieved of containmentClasses) {
      const files = { root: 'out', max_bytes: maxBytes };
      ports.set(achieved, await plane.open({ files, peerFiles: { ...files, handles }, achieved }));
    }
  });
  afterAll(() => plane.close());

  const target: Arbitrary<string> = tuple(
    oneof(
      { weight: 6, arbitrary: constant('') },
      constantFrom('/', `${plane.base}/`, `${plane.base}/workdir/`, `${plane.out}/`, '/none/'),
    ),
    array(oneof({ weight: 3, arbitrary: name }, constantFrom('..', '..', '.', 'out', 'out-side', 'back', 'none')), {
      minLength: 1,
      maxLength: 4,
    }),
  ).map(([start, names]) => start + names.join('/'));

  const link = target.map((to) => ({ link: to }));
  const file = constantFrom('one', 'two', '', 'exactly twenty bytes', 'twenty-one bytes long');
  const { directory } = letrec<{ node: TreeNode; directory: TreeNode }>((tie) => ({
    node: oneof({ maxDepth: 3, withCrossShrink: true }, file, link, tie('directory')),
    directory: dictionary(name, tie('node'), { maxKeys: 4, noNullPrototype: true }).map((entries) => ({ entries })),
  }));

  function worldWith(out: TreeNode): TreeNode {
    const beside = { entries: { a: 'secret', back: { link: '../out' }, b: { link: '../out/a' } } };
    return { entries: { a: 'secret', b: 'secret', workdir: { entries: { a: 'secret', 'out-side': beside, out } } } };
  }

  function answered(response: RawResponse): string {
    if (response.status !== 200) return refusalOf(response);
    expect(response.headers['content-length']).toBe(String(response.body.length));
    return `200 ${response.body}`;
  }

  /** Makes a tree anew and asks for paths in it, on every class; `asked` answers what one of them is asked by. */
  async function holds(
    out: TreeNode,
    paths: readonly (string | null)[],
    asked: (port: number, index: number) => Promise<RawResponse>,
  ): Promise<void> {
    rmSync(plane.out, { recursive: true });
    makeTree(out, plane.out);
    const tree = { world: worldWith(out), base: plane.base, root: ['workdir', 'out'], maxBytes };
    for (const achieved of containmentClasses) {
      for (const [index, path] of paths.entries()) {
        const expected = path === null ? '403 outside_root' : answerOf({ ...tree, achieved }, path);
        const answer = answered(await asked(ports.get(achieved) ?? 0, index));
        expect([achieved, path, answer]).toEqual([achieved, path, expected]);
        seen.add(`${achieved}: ${answer.startsWith('200') ? '200' : answer}`);
      }
    }
  }

  /** How a part of a path is sent, and what it decodes to: null where to nothing. */
  type Part = readonly [raw: string, decoded: string | null];

  const escapedName: Arbitrary<Part> = tuple(name, constantFrom('plain', 'lower', 'upper')).map(([text, how]) => {
    if (how === 'plain') return [encodeURIComponent(text), text];
    const hex = Buffer.from(text, 'utf8').toString('hex').replaceAll(/../g, '%$&');
    return [how === 'upper' ? hex.toUpperCase() : hex, text];
  });

  const odd: Arbitrary<Part> = constantFrom<Part[]>(
    ['', ''],
    ['.', '.'],
    ['..', '..'],
    ['%2e%2E', '..'],
    ['.%2e', '..'],
    ['%252e%252e', '%2e%2e'],
    ['..%5c', '..\\'],
    ['a%00', 'a\0'],
    ['%c0%ae%c0%ae', null],
    ['%ff', null],
    ['%zz', null],
    ['%', null],
    ['out-side', 'out-side'],
  );

  const rawPath: Arbitrary<Part> = tuple(
    array(oneof({ weight: 12, arbitrary: escapedName }, odd), { minLength: 1, maxLength: 4 }),
    constantFrom('/', '/', '/', '%2F', '%2f'),
  ).map(([parts, slash]) => [
    parts.map(([raw]) => raw).join(slash),
    parts.some(([, decoded]) => decoded === null) ? null : parts.map(([, decoded]) => decoded).join('/'),
  ]);

  it(
    'gets the answer of a walk over the tree on the operator plane [D3-PATH-01] [D3-PATH-02] [D3-PATH-04] [D3-PATH-05] [D3-PATH-08] [D3-PATH-09]',
    { timeout: 120_000 },
    async () => {
      const agrees = asyncProperty(directory, array(rawPath, { minLength: 6, maxLength: 6 }), async (out, paths) => {
        await holds(
          out,
          paths.map(([, decoded]) => decoded),
          (port, index) => ask(port, `GET /resources/files/${paths[index]?.[0] ?? ''} HTTP/1.1`),
        );
      });
      await assert(agrees, { numRuns: 150 });
      expectAllMet();
    },
  );

  it(
    'gets the same answer on the peer plane, but without decoding [D3-PATH-01] [D3-PEER-07]',
    { timeout: 120_000 },
    async () => {
      const path = array(oneof({ weight: 12, arbitrary: name }, constantFrom('', '.', '..', '%2e%2e', 'a\0')), {
        minLength: 1,
        maxLength: 4,
      }).map((names) => names.join('/'));
      const agrees = asyncProperty(directory, array(path, { minLength: 6, maxLength: 6 }), async (out, paths) => {
        await holds(out, paths, (port, index) => {
          const { handle } = handles.mint({ path: paths[index] ?? '', audience, ttlMs: 1 });
          return ask(port, `GET /resources/peer/${handle} HTTP/1.1`, { headers: [`X-Svc-Audience: ${audience}`] });
        });
      });
      await assert(agrees, { numRuns: 150 });
      expectAllMet();
    },
  );

  /** A property that only ever met `not_found` would say nothing. */
  function expectAllMet(): void {
    const everywhere = ['200', '404 not_found', '403 outside_root', '403 not_a_regular_file', '413 too_large'];
    const answers = containmentClasses.flatMap((achieved) => everywhere.map((answer) => `${achieved}: ${answer}`));
    expect([...answers, 'scoped: 403 symlink_refused'].filter((answer) => !seen.has(answer))).toEqual([]);
    seen.clear();
  }

  it('ends at links that lead to each other', async () => {
    const out = { entries: { a: { link: 'b' }, b: { link: 'a' }, ä: { link: 'ä/ä' }, 'c d': { link: '../out/c d' } } };
    const paths = ['a', 'b/a', 'ä', 'c d'];
    await holds(out, paths, (port, index) =>
      ask(port, `GET /resources/files/${encodeURIComponent(paths[index] ?? '').replaceAll('%2F', '/')} HTTP/1.1`),
    );
    expect([...seen].sort()).toEqual([
      'advisory: 403 outside_root',
      'advisory: 500 io_error',
      'scoped: 403 outside_root',
      'scoped: 403 symlink_refused',
      'sealed: 403 outside_root',
      'sealed: 500 io_error',
    ]);
  });
});
