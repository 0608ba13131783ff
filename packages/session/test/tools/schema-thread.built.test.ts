import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

const program = fileURLToPath(new URL('../../../../bin/svc.cjs', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** Somebody of whom nothing else runs. */
const uid = 61_234;

/** The folder of a native tool whose schema may take any time, open to everybody. */
function toolFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-schema-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'svc.yaml'),
    "name: t\nversion: 1.0.0\nruntime: tool\ndescription: x\nimplementation: native\ninput_schema: { type: object, properties: { a: { type: string, pattern: '^(a+)+$' } } }\n",
  );
  writeFileSync(join(folder, 'bin', 't'), '#!/bin/sh\n', { mode: 0o755 });
  for (const path of [folder, join(folder, 'bin')]) chmodSync(path, 0o777);
  return folder;
}

it('a schema for which the system starts no thread is refused, whatever the limit of processes', (context) => {
  context.skip(!isRoot, 'needs root, to run as somebody of whom nothing else runs');
  const folder = toolFolder();
  const outcomes = Array.from({ length: 12 }, (_, index) => {
    const limit = 8 + index;
    const asUser = ['--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', 'prlimit', `--nproc=${limit}:${limit}`];
    const run = (...args: string[]): ReturnType<typeof spawnSync> =>
      spawnSync('setpriv', [...asUser, process.execPath, ...args], {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder },
        encoding: 'utf8',
      });
    // Node itself needs some: what it does without them is not ours.
    if (run('-e', 'setImmediate(() => require("node:fs").promises.stat("/"))').status !== 0) return 'no Node';
    const { status, stderr } = run(program, 'build', folder);
    if (status === 0) return 'built';
    const isTold = String(stderr).includes(
      'input_schema of t cannot be used: no thread can be started for it: too many',
    );
    return isTold ? 'told' : `ended with ${status}: ${String(stderr)}`;
  });
  context.skip(
    outcomes.every((outcome) => outcome === 'no Node'),
    'needs setpriv, prlimit and a checkout that all may read',
  );
  expect(new Set(outcomes.filter((outcome) => outcome !== 'no Node'))).toEqual(new Set(['told', 'built']));
});
