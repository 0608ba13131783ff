import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CheckoutCopy } from '../../scripts/mutation-copy.mjs';
import { parts } from '../../scripts/parts.mjs';
import { partsIn } from '../support/part-names.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

describe('a build without the parts that not everybody needs', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-without-'));
  const capsule = join(home, 'hello');
  const manifest = join(capsule, 'svc.yaml');
  let copy: CheckoutCopy;
  beforeAll(() => {
    copy = new CheckoutCopy(checkout);
    const made = spawnSync(
      process.execPath,
      [join(copy.folder, 'scripts/build.mjs'), '--without', Object.keys(parts).join()],
      { encoding: 'utf8' },
    );
    if (made.status !== 0) throw new Error(`the build failed: ${made.stderr}`);
    cpSync(join(checkout, 'examples/hello'), capsule, {
      recursive: true,
      filter: (path) => !/\/(workdir|\.svc|svc\.lock)$/.test(path),
    });
  }, 900_000);
  afterAll(() => {
    copy.remove();
    rmSync(home, { recursive: true, force: true });
  });

  const run = async (
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> =>
    await new Promise((resolve) => {
      const asked = [join(copy.folder, 'bin', `${program}.cjs`), ...args];
      const options = { env: { PATH: process.env['PATH'], HOME: home, ...env } };
      execFile(process.execPath, asked, options, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  const runCapsule = async (more: string, env?: Readonly<Record<string, string>>): ReturnType<typeof run> => {
    const file = join(capsule, 'other.yaml');
    writeFileSync(file, `${copy.read('examples/hello/svc.yaml')}\n${more}`);
    return await run('svc', ['run', '--manifest', file], env);
  };

  it('runs the hello example to its end', async () => {
    const { code, stdout } = await run('svc', ['run', '-v', '--manifest', manifest]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\nstatus: {2}ok\n$/)]);
  });

  it.each<[string, string, Record<string, string>]>([
    ['openai', 'doors: { serve: [openai] }', {}],
    ['push', 'doors: { push: { allow: [example.com] } }', {}],
    ['telemetry', '', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }],
  ])('refuses a capsule that needs its part %s, and says how to get it', async (part, more, env) => {
    const { code, stderr } = await runCapsule(more, env);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`error[E-RUN-190]: this build of svc leaves out its part ${part}`),
    ]);
    expect(stderr).toContain(
      `hint: install svc as it is published, or build it with ${part} not named behind --without`,
    );
  });

  it('refuses a driver for another program', async () => {
    writeFileSync(
      join(capsule, 'other.yaml'),
      'name: other\nversion: 1.0.0\ninference: { model: x, transport: process, command: claude }\n',
    );
    const { code, stderr } = await run('svc', ['run', '--manifest', join(capsule, 'other.yaml')]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('leaves out its part programs')]);
  });

  it('refuses a registry on S3', async () => {
    const env = {
      REGISTRY_API_KEY: 'k'.repeat(32),
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
      AWS_REGION: 'c',
    };
    const { code, stderr } = await run('svc-registry', ['--store', 's3://bucket/x', '--data', home], env);
    expect([code, stderr]).toEqual([1, expect.stringContaining('leaves out its part s3')]);
  });

  it('has no code of them in any file', () => {
    const files = ['dist', 'dist/late']
      .flatMap((folder) => readdirSync(join(copy.folder, folder)).map((file) => `${folder}/${file}`))
      .filter((file) => file.endsWith('.cjs'));
    expect(partsIn(files.map((file) => copy.read(file)).join('\n'))).toEqual([]);
    expect(partsIn(readFileSync(join(checkout, 'dist/svc-registry.cjs'), 'utf8'))).toEqual(['pages', 's3']);
  });

  it('refuses a part that does not exist, with the list of those that do', () => {
    const args = [join(copy.folder, 'scripts/build.mjs'), '--without', 'openai,telepathy'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(
        '--without takes openai, pages, programs, push, s3, telemetry, with commas between them; "telepathy" is not there',
      ),
    ]);
  });
});
