import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { InstalledSvc, packSvc } from '../support/installed-svc.ts';

const manifest = `name: demo
version: 1.0.0
inference: { model: scripted, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }
`;
const script = '- content: [{ type: text, text: Done. }]\n  stop_reason: end_turn\n';

describe('svc in a folder that its user may not write', { timeout: 240_000 }, () => {
  const place = mkdtempSync(join(tmpdir(), 'svc-read-only-'));
  let installed: InstalledSvc;
  let uid: number;
  beforeAll(async () => {
    const { path } = await packSvc(place);
    installed = await InstalledSvc.install(path);
    writeFileSync(join(installed.project, 'svc.yaml'), manifest);
    writeFileSync(join(installed.project, 'script.yaml'), script);
    uid = installed.makeReadOnly()?.uid ?? 0;
  }, 240_000);
  afterAll(() => {
    rmSync(place, { recursive: true, force: true });
    installed.remove();
  });
  beforeEach((context) => {
    context.skip(uid === 0, 'needs a system with users');
    rmSync(join(installed.home, '.svc'), { recursive: true, force: true });
  });

  const folder = (): string => join(installed.home, '.svc', 'cache', 'code');
  const kept = (): string[] => (existsSync(folder()) ? readdirSync(folder()) : []);
  const file = (): string => join(folder(), kept()[0] ?? '');
  /** The number of a file that is gone may be given to the next. */
  const writtenAt = (): bigint => statSync(file(), { bigint: true }).mtimeNs;
  const start = async (env: NodeJS.ProcessEnv = {}): Promise<void> => {
    expect(await installed.svcAs(uid, ['run', '--json', '--task', 'x'], env)).toMatchObject({ code: 0 });
  };

  it('keeps its code cache in the home of the user, for that user alone', async () => {
    await start();
    expect(kept()).toEqual([
      expect.stringMatching(new RegExp(`^svc\\.cjs\\.[0-9a-f]{16}\\.${process.version}-${process.arch}\\.cache$`)),
    ]);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(installed.folder, 'dist')).filter((name) => name.includes('.cache'))).toEqual([]);
  });

  it('reads it at the next start, which has nothing to write', async () => {
    await start();
    const first = writtenAt();
    await start();
    expect(writtenAt()).toBe(first);
    expect(kept()).toHaveLength(1);
  });

  it('reads none that others could have written, and puts its own in the place of it', async () => {
    await start();
    const first = writtenAt();
    chmodSync(file(), 0o622);
    await start();
    expect(writtenAt()).not.toBe(first);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('reads none of another user', async (context) => {
    context.skip(process.getuid?.() !== 0, 'needs root, to give files away');
    await start();
    const first = writtenAt();
    // Only its owner makes it unreadable.
    chmodSync(file(), 0o644);
    chownSync(file(), 54_322, 54_322);
    await start();
    expect(writtenAt()).not.toBe(first);
    expect(statSync(file()).uid).toBe(uid);
  });

  it('neither reads nor keeps any in a folder that others can write into', async () => {
    await start();
    const first = writtenAt();
    chmodSync(folder(), 0o777);
    const name = kept()[0] ?? '';
    chmodSync(file(), 0o600);
    await start();
    expect([kept(), writtenAt()]).toEqual([[name], first]);
    rmSync(file());
    await start();
    expect(kept()).toEqual([]);
  });

  it('keeps the caches of a few builds', async () => {
    await start();
    for (let build = 0; build < 9; build += 1) writeFileSync(join(folder(), `svc.cjs.old${build}.cache`), '');
    spendOwnership();
    rmSync(file());
    await start();
    expect(kept()).toHaveLength(6);
  });

  it('leaves the home of another user alone', async (context) => {
    context.skip(process.getuid?.() !== 0, 'needs root, to have a home of another user');
    const other = join(installed.home, 'other');
    mkdirSync(other, { mode: 0o777 });
    chmodSync(other, 0o777);
    await start({ HOME: other });
    expect(existsSync(join(other, '.svc', 'cache', 'code'))).toBe(false);
  });

  /** What the test has written is the user's. */
  function spendOwnership(): void {
    if (process.getuid?.() === 0) for (const name of kept()) chownSync(join(folder(), name), uid, uid);
  }
});
