import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { beforeEach, describe, expect, it } from 'vitest';

import { needsClass } from './needs-class.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

const run = promisify(execFile);
const built = fileURLToPath(new URL('..', import.meta.url));
const own = 'node_modules/@svc/sandbox';

/** Runs what the first argument asks for, one after the other in one process, and prints a line for each. */
const program = `
  import { explain, launch } from '@svc/sandbox';
  for (const { call = 'launch', ...request } of JSON.parse(process.argv[2])) {
    try {
      if (call === 'launch') console.log((await (await launch(request)).output()).stdout.toString().trim());
      else console.log((await explain(request)).files.filter(({ path }) => path.startsWith(process.cwd())).map(({ path, access, why }) => [path.slice(process.cwd().length), access, why].join()).join(' '));
    } catch (error) {
      console.log(error.code, error.message.replaceAll(process.cwd(), ''));
    }
  }
`;

/** A project with the package installed in it. */
let project = '';

eachFolder('svc-own-', (made) => {
  project = made;
  mkdirSync(join(project, own), { recursive: true });
  for (const part of ['package.json', 'dist']) cpSync(join(built, part), join(project, own, part), { recursive: true });
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  writeFileSync(join(project, 'program.js'), program);
});

async function printed(...requests: readonly object[]): Promise<readonly string[]> {
  return await printedWith({}, ...requests);
}

async function printedWith(more: NodeJS.ProcessEnv, ...requests: readonly object[]): Promise<readonly string[]> {
  const env = { ...process.env, ...more };
  const { stdout } = await run(process.execPath, ['program.js', JSON.stringify(requests)], { cwd: project, env });
  return stdout.trimEnd().split('\n');
}

function contentOf(folder: string): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    hash.update(path.slice(folder.length)).update(file.isFile() ? readFileSync(path) : '');
  }
  return hash.digest('hex');
}

const fake = String.raw`printf '#!/bin/sh\ntouch ${'$PWD'}/ESCAPED\nexit 125\n' | sed "s|\$PWD|$PWD|" > fake; chmod 755 fake`;
const everyHelper = `for h in ${own}/dist/native/*/svc-launch; do cp fake $h.new; mv -f $h.new $h; cat fake > $h; done`;
const everyChunk = `for c in ${own}/dist/*.js ${own}/dist/chunks/*.js; do echo 'process.exit(9)' > $c; rm -f $c; done`;
const moved = (part: string): string =>
  `mv ${part} aside && mkdir -p ${own}/dist/native/linux-x64 && cp fake ${own}/dist/native/linux-x64/svc-launch`;
const attack = [
  fake,
  everyHelper,
  everyChunk,
  ...[own, 'node_modules/@svc', 'node_modules'].map(moved),
  'rm -rf node_modules',
];

describe('the package that contains a command, in a folder that the command may write', () => {
  it('stays as it is in class sealed, and where it is, and everything beside it can be changed', async (context) => {
    await needsClass(context, 'sealed');
    const before = contentOf(join(project, own));
    const line = `exec 2>/dev/null; ${attack.join('; ')}; echo y > node_modules/@svc/beside; cat node_modules/@svc/beside`;
    const grants = { write: ['.'] };
    const said = await printed({ command: ['sh', '-c', line], grants }, { command: ['echo', 'harmless'], grants });
    expect(said).toEqual(['y', 'harmless']);
    expect([contentOf(join(project, own)) === before, existsSync(join(project, 'ESCAPED'))]).toEqual([true, false]);
  });

  it('stays as it is, and svc says so', async (context) => {
    await needsClass(context, 'sealed');
    expect(await printed({ call: 'explain', command: ['true'], grants: { write: ['.'] } })).toEqual([
      `,write,granted /node_modules,write,granted /node_modules/@svc,write,granted /${own},read,kept`,
    ]);
  });

  it('lets nothing start in class scoped, which cannot keep it', async (context) => {
    await needsClass(context, 'scoped');
    const requests = (['launch', 'explain'] as const).map((call) => ({
      call,
      class: 'scoped',
      command: ['touch', 'made'],
      grants: { write: ['node_modules'] },
    }));
    const refusal = `E-CAP-020 /${own} contains the command and lies in a directory that it may write, where class scoped cannot keep it as it is`;
    expect(await printed(...requests)).toEqual([refusal, refusal]);
    expect(existsSync(join(project, 'made'))).toBe(false);
  });

  it.each(['sealed', 'scoped'] as const)(
    'cannot be granted for writing in class %s, nor a part of it',
    async (wanted) => {
      const requests = [own, `${own}/dist`].map((place) => ({
        class: wanted,
        command: ['true'],
        grants: { write: [place] },
      }));
      expect(await printed(...requests)).toEqual([
        `E-CAP-019 "/${own}" was granted for writing, and is or lies in "/${own}", which contains the command`,
        `E-CAP-019 "/${own}/dist" was granted for writing, and is or lies in "/${own}", which contains the command`,
      ]);
    },
  );

  it('does no harm where what is granted holds none of it', async (context) => {
    await needsClass(context, 'scoped');
    mkdirSync(join(project, 'out'));
    const request = { command: ['sh', '-c', 'echo x > out/x; cat out/x'], grants: { write: ['out'], read: ['.'] } };
    expect(await printed({ ...request, class: 'scoped' })).toEqual(['x']);
  });
});

describe('what the process that starts a command loads, in a folder that the command may write', () => {
  const libraries = (): NodeJS.ProcessEnv => ({ LD_LIBRARY_PATH: join(project, 'lib') });
  const preload = (): NodeJS.ProcessEnv => ({ NODE_OPTIONS: '--require ./hooks/first.cjs' });
  beforeEach(() => {
    mkdirSync(join(project, 'lib'));
    mkdirSync(join(project, 'hooks'));
    writeFileSync(join(project, 'hooks/first.cjs'), '');
  });
  const grants = { write: ['.'] };
  const line = (folder: string): string =>
    `exec 2>/dev/null; echo x > ${folder}/x; mv ${folder} aside; echo x >> ${folder}/first.cjs; rm -rf ${folder}; ls ${folder}; echo y > beside; cat beside`;

  it('stays as it is in class sealed, whichever variable names it', async (context) => {
    await needsClass(context, 'sealed');
    expect(await printedWith(libraries(), { command: ['sh', '-c', line('lib')], grants })).toEqual(['y']);
    expect(await printedWith(preload(), { command: ['sh', '-c', line('hooks')], grants })).toEqual(['first.cjs', 'y']);
    expect(readFileSync(join(project, 'hooks/first.cjs'), 'utf8')).toBe('');
  });

  it('lets nothing start where it cannot be kept: in class scoped, and where it is a link or is not there', async (context) => {
    await needsClass(context, 'sealed');
    const scoped = { class: 'scoped', command: ['true'], grants: { write: ['lib'] } };
    expect(await printedWith(libraries(), scoped)).toEqual([
      'E-CAP-019 "/lib" was granted for writing, and is or lies in "/lib", which LD_LIBRARY_PATH names',
    ]);
    const missing = { LD_LIBRARY_PATH: join(project, 'later') };
    expect(await printedWith(missing, { command: ['true'], grants })).toEqual([
      'E-CAP-020 /later, which LD_LIBRARY_PATH names, lies in a directory that may be written: it is not there, so that another could be made in its place',
    ]);
  });
});
