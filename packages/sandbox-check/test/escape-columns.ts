import { execFile } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { build } from 'esbuild';

import { containmentClasses, type ContainmentClass } from '@svc/protocol/containment-class.ts';

/** What became of every attempt: without containment, or in a class. */
export interface EscapeColumn {
  readonly name: 'alone' | ContainmentClass;
  /** By the name of the attempt; null where the host cannot give the class, for that reason. */
  readonly answers: Readonly<Record<string, string>> | null;
  readonly reason: string | null;
}

const native = fileURLToPath(new URL(`../../../dist/native/linux-${process.arch}/`, import.meta.url));
const entry = fileURLToPath(new URL('escape-child.ts', import.meta.url));

const nothingMade = (['alone', ...containmentClasses] as const).map((name): EscapeColumn => ({
  name,
  answers: null,
  reason: 'attempts need Linux',
}));

/**
 * Makes all attempts as a user, the one of the tests when absent. All that this user has to read is copied to where it can:
 * a checkout may lie in the home of somebody else.
 */
export async function makeEscapes(user: number | undefined): Promise<readonly EscapeColumn[]> {
  if (!existsSync(join(native, 'svc-attempts'))) return nothingMade;
  const folder = mkdtempSync(join(tmpdir(), 'svc-escape-'));
  try {
    const packageRoot = join(folder, 'package');
    const copies = join(packageRoot, 'dist', 'native', `linux-${process.arch}`);
    const program = join(packageRoot, 'escape-child.mjs');
    const directory = join(folder, 'attempts');
    mkdirSync(copies, { recursive: true });
    mkdirSync(directory, { mode: 0o700 });
    for (const name of ['svc-launch', 'svc-attempts']) copyFileSync(join(native, name), join(copies, name));
    await bundleTo(program);
    const setuid = process.getuid?.() === 0 ? setuidCopy(folder, user) : '';
    if (user !== undefined) for (const path of [folder, directory]) chownSync(path, user, user);
    const options = user === undefined ? {} : { uid: user, gid: user };
    const { stdout } = await promisify(execFile)(process.execPath, [program, packageRoot, directory, setuid], {
      ...options,
      cwd: '/',
      env: { HOME: directory },
    });
    return JSON.parse(stdout) as readonly EscapeColumn[];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function bundleTo(outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    logLevel: 'warning',
  });
}

/** Root's, and where only that user gets at it. */
function setuidCopy(folder: string, user = 0): string {
  const path = join(folder, 'setuid', 'svc-attempts');
  mkdirSync(dirname(path), { mode: 0o700 });
  copyFileSync(join(native, 'svc-attempts'), path);
  chmodSync(path, 0o4755);
  chownSync(dirname(path), user, user);
  return path;
}
