import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { archiveBytes, skillFiles } from '../../packages/artifacts/test/store/artifacts.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { age, nthChange, sha256Of, temporaryFiles, wholeArchives } from './whole-store.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 6);
const capsule = useCapsules();

const names = ['style', 'tone', 'voice'];
const manifest = `artifacts:\n${names.map((name) => `  - { name: ${name}, version: 1.0.0, runtime: skill }\n`).join('')}`;
const pieceBytes = 64 * 1024;

/** A registry whose bodies come in pieces with pauses between them, so that a client is in the middle of its downloads for long. */
async function slowRegistry(): Promise<{ readonly url: string; readonly hashes: ReadonlyMap<string, string> }> {
  const archives = new Map<string, Buffer>();
  for (const name of names) archives.set(name, await archiveBytes(skillFiles(name, 'x'.repeat(600_000))));
  const server = await StandInServer.open((request, response) => {
    const [, name = ''] = /^\/v1\/artifacts\/(\w+)\/1\.0\.0/.exec(request.url ?? '') ?? [];
    const bytes = archives.get(name);
    if (bytes === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-length': bytes.length, 'x-svc-sha256': sha256Of(bytes) });
    const send = (at: number): void => {
      if (at >= bytes.length) response.end();
      else response.write(bytes.subarray(at, at + pieceBytes), () => setTimeout(() => send(at + pieceBytes), 5));
    };
    send(0);
  });
  return { url: server.url, hashes: new Map([...archives].map(([name, bytes]) => [`${name}-1.0.0`, sha256Of(bytes)])) };
}

/** Every few rounds end at a change in the store, and one in the folder of the project, where svc.lock is written; the rest at any moment. */
function momentOf(
  round: number,
  workspace: Workspace,
  wholeMs: number,
): { readonly moment: Promise<void>; readonly close: () => void } {
  const store = join(workspace.folder, '.svc', 'artifacts');
  if (round % 5 === 0) return nthChange(workspace.folder, 1 + (round % 3));
  if (round % 2 === 0) return nthChange(store, 1 + ((round * 7) % 24));
  return { moment: delay((wholeMs * (round + 0.5)) / rounds), close: () => undefined };
}

describe(`svc install killed at any moment, ${rounds} rounds`, () => {
  it(
    'leaves whole artifacts and a whole svc.lock, old, new or none, and the next one succeeds',
    async () => {
      const workspace = capsule({ manifest });
      const store = join(workspace.folder, '.svc', 'artifacts');
      const lockPath = join(workspace.folder, 'svc.lock');
      const { url, hashes } = await slowRegistry();
      const env = { SVC_REGISTRY_URL: url };
      const startedMs = performance.now();
      expect(await svc(workspace, ['install'], { env })).toMatchObject({ code: 0, stderr: '' });
      const wholeMs = performance.now() - startedMs;
      const newLock = readFileSync(lockPath, 'utf8');
      const { artifacts } = JSON.parse(newLock) as { artifacts: { name: string }[] };
      const oldLock = JSON.stringify({ lock_version: 1, artifacts: artifacts.filter(({ name }) => name !== 'tone') });

      let killed = 0;
      for (let round = 0; round < rounds; round += 1) {
        rmSync(store, { recursive: true });
        mkdirSync(store);
        const before = round % 4 < 2 ? null : oldLock;
        if (before === null) rmSync(lockPath, { force: true });
        else writeFileSync(lockPath, before);

        const running = new SvcProcess(workspace, ['install'], { env });
        const { moment, close } = momentOf(round, workspace, wholeMs);
        await Promise.race([running.ended, moment]);
        running.child.kill('SIGKILL');
        if ((await running.ended).signal === 'SIGKILL') killed += 1;
        close();

        const there = wholeArchives(store);
        for (const [archive, hash] of there) {
          expect([undefined, hash], `${archive} after round ${round}`).toContain(hashes.get(archive));
        }
        const lock = existsSync(lockPath) ? readFileSync(lockPath, 'utf8') : null;
        expect([before, newLock], `svc.lock after round ${round}`).toContain(lock);
        // The lock is written last: with it, all that it records is there.
        if (lock === newLock) expect([...there.keys()]).toEqual(expect.arrayContaining([...hashes.keys()]));

        const left = temporaryFiles(workspace.folder);
        age(left);
        expect(await svc(workspace, ['install'], { env }), `after round ${round}`).toMatchObject({
          code: 0,
          stderr: '',
        });
        expect(Object.fromEntries(wholeArchives(store))).toMatchObject(Object.fromEntries(hashes));
        expect(readFileSync(lockPath, 'utf8')).toBe(newLock);
        expect(temporaryFiles(store), `of ${left.length} after round ${round}`).toEqual([]);
      }
      expect(killed).toBeGreaterThan(rounds / 2);
    },
    60_000 + rounds * 30_000,
  );
});
