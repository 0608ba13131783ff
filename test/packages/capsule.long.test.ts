import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { InstalledPackage } from '../support/installed-package.ts';

const readme = readFileSync(new URL('../../packages/capsule/README.md', import.meta.url), 'utf8');
const [, manifest = ''] = /```yaml\n([^]*?)```/.exec(readme) ?? [];
const [provided = '', asked = ''] = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, program]) => program);
const withModel = `name: kettle
version: 1.0.0
artifacts:
  - { name: svc-driver-openai, version: 1.0.0, runtime: driver }
inference:
  driver: { artifact: svc-driver-openai }
  endpoint: \${MODEL_ENDPOINT}
  model: any
`;
const sleeper = `name: sleeper
version: 1.0.0
inference: { driver: { artifact: svc-driver-script } }
capabilities: { shell: { allow: [sleep] } }
`;

describe('the package @svc/capsule, installed from its tarball', { timeout: 240_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await InstalledPackage.install('capsule', 'testing');
    installed.write('svc.yaml', manifest);
    installed.write('model/svc.yaml', withModel);
    mkdirSync(at('home'));
    mkdirSync(at('tmp'));
  }, 240_000);
  afterAll(() => installed.remove());
  const at = (path: string): string => join(installed.folder, path);
  const env = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], HOME: at('home'), TMPDIR: at('tmp') });

  it('passes publint and "are the types wrong"', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('brings svc and the protocol along, and the licences of all that is in it', () => {
    expect(readdirSync(at('node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@svc']);
    expect(readdirSync(at('node_modules/@svc'))).toEqual(['capsule', 'protocol', 'svc', 'testing']);
    const files = readdirSync(at('node_modules/@svc/capsule'), { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES', 'dist/index.js']));
    expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
    const licences = readFileSync(at('node_modules/@svc/capsule/THIRD-PARTY-LICENSES'), 'utf8');
    expect(licences).toMatch(/^yaml \d[^]*^zod \d/m);
  });

  it('runs a capsule with a model of the program as its README shows, and ends with it', async () => {
    const said = await installed.printedBy(provided, [], env());
    expect(said).toBe("svc-tool-editor\nok [ 'completed: The tea is ready.' ]\nGreen, 80 degrees.\n\n");
    expect(readdirSync(at('tmp'))).toEqual([]);
  });

  it('runs one with the driver of its manifest as its README shows', async () => {
    expect(await installed.printedBy(asked, [], env())).toBe('The kettle is on.\n');
    expect(readdirSync(at('tmp'))).toEqual([]);
  });

  it('ends with its signal, and leaves no command and no listener of it behind', async () => {
    installed.write('sleeper/svc.yaml', sleeper);
    const program = `
      import { spawnSync } from 'node:child_process';
      import { getEventListeners } from 'node:events';
      import { runCapsule, type ModelProvider } from '@svc/capsule';

      const aborting = new AbortController();
      const { signal } = aborting;
      const provider: ModelProvider = {
        infer: async () => {
          const timer = setInterval(() => {
            if (spawnSync('pgrep', ['-f', 'sleep 98765']).status !== 0) return;
            clearInterval(timer);
            aborting.abort();
          }, 50);
          const call = { type: 'tool_call', id: 'c1', name: 'sleep', input: { command: '98765' } } as const;
          return { content: [call], stopReason: 'tool_call' };
        },
      };
      const { tasks } = await runCapsule({ manifest: 'sleeper/svc.yaml', task: 'Wait.', provider, signal });
      console.log(tasks[0]?.state, getEventListeners(signal, 'abort').length);
    `;
    expect(await installed.printedBy(program, [], env())).toBe('canceled 0\n');
    const { stdout } = await promisify(execFile)('ps', ['-e', '-o', 'args']);
    expect(stdout).not.toContain('sleep 98765');
    expect(readdirSync(at('tmp'))).toEqual([]);
  });

  it('rejects with a code where it cannot be launched', async () => {
    const program = `
      import { CapsuleError, runCapsule } from '@svc/capsule';

      const error = await runCapsule({ manifest: 'gone.yaml' }).catch((thrown: unknown) => thrown);
      if (error instanceof CapsuleError) console.log(error.code, error.hint, error.problems.length);
    `;
    expect(await installed.printedBy(program, [], env())).toMatch(/^E-\S+ .* 1\n$/);
  });
});
