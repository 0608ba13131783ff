import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { key, RegistryKit } from '../../packages/registry/test/registry-kit.ts';
import { archiveBytes, componentBytes, manifestText } from '../../packages/artifacts/test/store/artifacts.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { age, nthChange, sha256Of, temporaryFiles, wholeArchives } from './whole-store.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 6);
const capsule = useCapsules();
const mebibyte = 1024 * 1024;

let workspace: Workspace;
let archive: Buffer;
beforeEach(() => {
  workspace = capsule();
});

/** A tool of twenty megabytes, in a file: it takes a while to be read, copied or sent. */
async function writeArchive(version: string): Promise<void> {
  archive = await archiveBytes([
    { name: 'svc.yaml', data: Buffer.from(manifestText({ name: 'large', version: `"${version}"`, runtime: 'tool' })) },
    { name: 'component.wasm', data: Buffer.concat([componentBytes, Buffer.alloc(20 * mebibyte, version)]) },
  ]);
  writeFileSync(join(workspace.folder, 'large.zip'), archive);
}

/** Nothing but where it was published. */
const said: unknown = expect.stringMatching(/^published to .*\n$/);

interface Kill {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly moment: Promise<void>;
}

/** Whether it was killed before it had ended. */
async function killed({ args, env, moment }: Kill): Promise<boolean> {
  const running = new SvcProcess(workspace, args, { env });
  await Promise.race([running.ended, moment]);
  running.child.kill('SIGKILL');
  return (await running.ended).signal === 'SIGKILL';
}

describe(`svc publish to the store of the user killed at any moment, ${rounds} rounds`, () => {
  it(
    'leaves each variant whole or absent, and the next one succeeds',
    async () => {
      const store = join(workspace.home, '.svc', 'artifacts');
      mkdirSync(store, { recursive: true });
      const platforms = ['linux-x86_64', 'linux-aarch64'];
      const flags = platforms.flatMap((platform) => ['--platform', platform]);
      const args = ['publish', 'large.zip', '--registry', 'local', ...flags];
      let count = 0;
      for (let round = 0; round < rounds; round += 1) {
        const version = `1.${round}.0`;
        await writeArchive(version);
        const { moment, close } = nthChange(store, 1 + ((round * 5) % 14));
        if (await killed({ args, env: {}, moment })) count += 1;
        close();

        const variants = platforms.map((platform) => `large-${version}-${platform}`);
        const there = wholeArchives(store);
        for (const variant of variants) expect([undefined, sha256Of(archive)]).toContain(there.get(variant));
        age(temporaryFiles(store));
        expect(await svc(workspace, args), `after round ${round}`).toMatchObject({ code: 0, stderr: said });
        const after = wholeArchives(store);
        for (const variant of variants) expect(after.get(variant)).toBe(sha256Of(archive));
        expect(temporaryFiles(store)).toEqual([]);
      }
      expect(count).toBeGreaterThan(rounds / 2);
    },
    60_000 + rounds * 30_000,
  );
});

describe(`svc publish to a registry killed at any moment, ${rounds} rounds`, () => {
  it(
    'has the version there with its hash or not at all, and the next one says which',
    async () => {
      const registry = await RegistryKit.open({ maxBytes: 64 * mebibyte });
      const [own = ''] = readdirSync(join(registry.data, 'staging'));
      const staging = join(registry.data, 'staging', own);
      const temporary = join(workspace.home, 'temporary');
      mkdirSync(temporary);
      const env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key, TMPDIR: temporary };
      const args = ['publish', 'large.zip', '--platform', 'linux-x86_64'];
      const outcomes = { stored: 0, absent: 0 };
      for (let round = 0; round < rounds; round += 1) {
        const version = `1.${round}.0`;
        await writeArchive(version);
        // Something appears there with the first byte of the body, and leaves with the commit; between the two is the body.
        const { moment, close } = nthChange(staging, round % 3 === 2 ? 2 : 1);
        const at = round % 3 === 0 ? moment : moment.then(async () => await delay(round));
        await killed({ args, env, moment: at });
        close();
        await vi.waitUntil(() => registry.staged.length === 0, { timeout: 60_000 });

        const path = `/v1/artifacts/large/${version}?platform=linux-x86_64`;
        const first = await registry.ask(`HEAD ${path}`);
        const again = await svc(workspace, args, { env });
        if (first.status === 200) {
          outcomes.stored += 1;
          expect(again.stderr, `after round ${round}`).toMatch(/^error\[E-REG-003\]: large@/);
        } else {
          outcomes.absent += 1;
          expect(first.status).toBe(404);
          expect(again, `after round ${round}`).toMatchObject({ code: 0, stderr: said });
        }
        const { status, body, headers } = await registry.ask(`GET ${path}`);
        expect([status, headers['x-svc-sha256']]).toEqual([200, sha256Of(archive)]);
        expect(sha256Of(Buffer.from(body, 'latin1'))).toBe(sha256Of(archive));
      }
      expect(outcomes.absent).toBeGreaterThan(0);
      expect([registry.faults, registry.bugs, readdirSync(temporary)]).toEqual([[], [], []]);
    },
    60_000 + rounds * 30_000,
  );
});
