import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packedFiles } from '../../scripts/pack-package.mjs';
import { sectionsOf } from '../guide/listings.ts';
import { InstalledPackage } from '../support/installed-package.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(checkout, 'packages/guest/README.md'), 'utf8');
const listings = sectionsOf(readme).flatMap((section) => section.listings);
const vendored = join(checkout, 'dist/guest/svc-guest-0.4.0.tgz');

/** The files in a tarball, by their paths, and the bytes of each. */
function contentOf(tarball: string): Map<string, string> {
  const list = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n').sort();
  return new Map(
    list.map((file) => [file, execFileSync('tar', ['-xzOf', tarball, file], { encoding: 'base64' })] as const),
  );
}

describe('the package @svc/guest, installed from its tarball', { timeout: 120_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await InstalledPackage.install('guest');
  });
  afterAll(() => installed.remove());

  it('passes publint and "are the types wrong"', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('has the same files in the tarball that svc new brings along, without what only the bundled drivers use', () => {
    const packed = contentOf(installed.tarball);
    expect(contentOf(vendored)).toEqual(packed);
    expect([...packed.keys()]).toEqual(
      expect.arrayContaining([
        'package/LICENSE',
        'package/README.md',
        'package/THIRD-PARTY-LICENSES',
        'package/dist/tool.js',
        'package/wit/worlds.wit',
      ]),
    );
    expect([...packed.keys()].filter((file) => /provider|\.test\.|\.inputs/.test(file))).toEqual([]);
    expect(packedFiles(join(checkout, 'packages/guest')).map((file) => `package/${file}`)).toEqual([...packed.keys()]);
  });

  it('works from TypeScript', async () => {
    const program = `
      import { passed, type ToolOutput } from '@svc/guest/tool';
      import { observer, type Lifecycle } from '@svc/guest/hook';
      import { driverExport } from '@svc/guest/driver';
      import { countIn, isObject, parseJson } from '@svc/guest/json';
      import { wellFormed } from '@svc/guest/text';
      import type { HttpResponse, PostRequest } from '@svc/guest/http';

      const value = parseJson('{ "cups": 2 }');
      const output: ToolOutput = passed(\`\${isObject(value) ? countIn(value, 'cups') : null} cups\`);
      const hook: Lifecycle = { ...observer, onTaskEnd: () => ({ tag: 'reopen-task', val: 'More.' }) };
      const { infer } = driverExport(() => { throw new Error('no \\ud800 tea'); });
      const kettle = (request: PostRequest, response: HttpResponse) => [request.url, response.status];
      console.log(output.content, hook.onShell.length, kettle.length, wellFormed('tea\\udc00'));
      try { infer(null as never); } catch (error) { console.log(String(error)); }
    `;
    expect(await installed.printedBy(program)).toBe('2 cups 0 2 tea\ufffd\nError: no \ufffd tea\n');
  });

  it('has nothing that is not exported', async () => {
    expect(await installed.typeProblems("import '@svc/guest/provider/retry';")).toContain('Cannot find module');
  });

  it('makes the tool of its README, which a capsule calls', async () => {
    for (const listing of listings) if (listing.kind === 'file') installed.write(listing.path, listing.text);
    const commands = listings.flatMap((listing) => (listing.kind === 'commands' ? [listing.text] : []));
    expect(commands).toEqual([
      'npx tsc\nsvc build\n',
      'svc run --task "Count" --workdir desk\ncat desk/out/result.txt\n',
    ]);
    for (const name of ['esbuild', 'componentize-qjs']) {
      symlinkSync(join(checkout, 'node_modules', name), join(installed.folder, 'node_modules', name));
    }
    const folder = join(installed.folder, 'count-words');
    await promisify(execFile)(join(checkout, 'node_modules', '.bin', 'tsc'), ['-p', folder]);
    const surroundings: Workspace = {
      folder: installed.folder,
      home: installed.folder,
      write: (path, text) => installed.write(path, text),
      remove: () => {},
    };
    expect(await svc(surroundings, ['build', 'count-words'])).toMatchObject({ code: 0 });
    expect(await svc(surroundings, ['run', '--task', 'Count', '--workdir', 'desk'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(installed.folder, 'desk/out/result.txt'), 'utf8')).toBe('Counted.');
    const traces = execFileSync('bash', ['-c', 'cat .svc/sessions/*/trace.jsonl'], { cwd: installed.folder });
    expect(traces.toString()).toContain('"arguments":{"text":"Two words"},"is_error":false');
  });
});
