import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

import { calls, says, type FakeReply } from '@svc/testing/fake-reply.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { giveAway, ofOneUser, scoped, sealed, type Setup } from './contained-capsule.ts';
import { fill, output, task, told } from './first-minute-task.ts';
import { hasProgram, needsPrograms } from './use-capsule.ts';

const setups: readonly Setup[] = [...sealed, ...scoped];
const sealedOfOne = ofOneUser.filter((setup) => setup.class === 'sealed');
const scopedOfOne = ofOneUser.filter((setup) => setup.class === 'scoped');

const opened: FirstMinute[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.dispose();
});

/** Skipped where the host lacks the class: it would give no command then. */
function fresh(setup: Setup, name?: string): FirstMinute {
  const minute = new FirstMinute({ ceiling: setup.class, uid: setup.uid, ...(name === undefined ? {} : { name }) });
  opened.push(minute);
  return minute;
}

/** A server of one tool, which says what an expression is. */
const notesServer = `import { createInterface } from 'node:readline';
import { readFileSync, writeFileSync } from 'node:fs';
const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: 'notes', version: '1' };
  if (method === 'initialize') say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
  if (method === 'tools/list') say(id, { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] });
  if (method !== 'tools/call') return;
  const said = await eval('(async () => ' + params.arguments.expression + ')()').catch((error) => 'failed: ' + error.message);
  say(id, { content: [{ type: 'text', text: String(said) }] });
});
`;

const secrets = { '.env': 'SECRET', 'api/.env.local': 'SECRET', '.env.d/x': 'SECRET', 'secrets/prod': 'SECRET' };

describe.each(setups)('a task without a manifest in $name', (setup) => {
  const isSealed = setup.class === 'sealed';

  it('reads the folder, begins in it, and has files of its own elsewhere', async (context) => {
    const minute = fresh(setup);
    minute.write({ 'src/cart.txt': 'discount\n' });
    const { stderr } = await task(context, minute, [
      'grep -rn discount *',
      'ls',
      'cat src/cart.txt | wc -l',
      'echo mine > ~/mine && cat ~/mine',
      'ls -a ..',
    ]);
    expect(told(minute).slice(0, 4)).toEqual([
      output('src/cart.txt:1:discount'),
      output('src'),
      output('1'),
      output('mine'),
    ]);
    expect(readdirSync(minute.folder, { recursive: true })).toEqual(['src', 'src/cart.txt']);
    expect(stderr).toBe('');
    expect(minute.asked.tools).toEqual(
      ['awk', 'cat', 'diff', 'find', 'grep', 'head', 'ls', 'sed', 'sh', 'sort', 'tail', 'wc']
        .filter(hasProgram)
        .toSpliced(-2, 0, 'svc-tool-editor'),
    );
    const [start = ''] = minute.ofSession('trace.jsonl').split('\n');
    expect(JSON.parse(start)).toMatchObject({
      containment: { achieved: setup.class },
      effective_grants: { project_folder: { path: minute.folder, writable: false, masked: [] }, network_allow: [] },
    });
  });

  it('changes nothing in it, and names the flag', async (context) => {
    const minute = fresh(setup);
    minute.write({ 'a.txt': 'a', 'sub/b.txt': 'b' });
    const { stderr } = await task(
      context,
      minute,
      [
        'echo x > new',
        'echo x >> a.txt',
        'echo x > sub/b.txt',
        'rm a.txt; mv sub other; mkdir made; ln -s a b; chmod 600 a.txt',
      ],
      ['--allow', 'rm,mv,mkdir,ln,chmod'],
    );
    expect(stderr).toBe('refused: ./shop (read only): --write\n');
    expect(readdirSync(minute.folder).sort()).toEqual(['a.txt', 'sub']);
    expect(readFileSync(join(minute.folder, 'a.txt'), 'utf8')).toBe('a');
    expect(readFileSync(join(minute.folder, 'sub/b.txt'), 'utf8')).toBe('b');
    // A mode is the one thing that scoped does not keep (docs/containment.md).
    expect(lstatSync(join(minute.folder, 'a.txt')).mode & 0o777).toBe(isSealed ? 0o644 : 0o600);
  });

  it('does not see what is masked, under any of its names, and stays in the folder in spite of links', async (context) => {
    const minute = fresh(setup);
    minute.write({ ...secrets, 'seen.txt': 'seen', 'api/seen.txt': 'seen' });
    symlinkSync('secrets/prod', join(minute.folder, '.envlink'));
    symlinkSync('.env', join(minute.folder, 'config'));
    symlinkSync(join(minute.folder, '.env'), join(minute.folder, 'absolute'));
    writeFileSync(join(minute.base, 'outside'), 'OUTSIDE');
    mkdirSync(join(minute.base, 'beside'));
    writeFileSync(join(minute.base, 'beside', 'x'), 'OUTSIDE');
    symlinkSync('../outside', join(minute.folder, 'file'));
    symlinkSync(join(minute.base, 'beside'), join(minute.folder, 'directory'));
    symlinkSync('/proc/self/root/etc/shadow', join(minute.folder, 'shadow'));
    const { stderr } = await task(context, minute, [
      'cat .env api/.env.local .env.d/x .envlink secrets/prod config absolute; cat < .env; head -c 3 ./api/../.env',
      'grep -rs SECRET . ..',
      'cp .env ~/x; sed -n p .env; while read line; do echo $line; done < .env; awk 1 .env; find . -name ".env*" -size +0 -exec cat {} ";"',
      `cat ${minute.folder}/.env; cat seen.txt api/seen.txt`,
      'cat file directory/x shadow; ls directory/; cat ../outside ../../outside',
      `cat ${minute.base}/outside ${minute.home}/.svc/running/*; ls ${minute.base}`,
      'cat ../.svc/sessions/*/trace.jsonl ../../../.svc/sessions/*/* ../../../../cache/containment.json',
    ]);
    const all = told(minute).join('\n');
    expect(all).not.toMatch(/SECRET/);
    expect(all).not.toMatch(/OUTSIDE|"url"|session_start|obstacles/);
    expect(all).toMatch(/cat: file: /);
    expect(all).toMatch(/cat: \.env: Permission denied/);
    expect(all).toMatch(/seenseen/);
    expect(stderr).toMatch(/^refused: \.env \(masked, and no flag shows it\)$/m);
  });
});

describe.each(ofOneUser)('a task without a manifest in $name', (setup) => {
  it('reaches no network, and names the flag for who tried', async (context) => {
    needsPrograms(context, 'curl');
    const minute = fresh(setup);
    const server = createServer((_, response) => response.end('reached'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { stderr } = await task(context, minute, [`curl -s http://127.0.0.1:${port}/`, 'curl http://a.example/x']);
    expect(told(minute).join('\n')).not.toMatch(/reached/);
    expect(stderr).toBe(`refused: curl (not allowed): --allow curl --net 127.0.0.1:${port}\n`);
    const second = await task(
      context,
      minute,
      [`curl -sS --noproxy '*' http://127.0.0.1:${port}/`, 'curl -sS http://a.example/x'],
      ['--allow', 'curl'],
    );
    expect(told(minute).join('\n')).not.toMatch(/reached/);
    expect(second.stderr).toBe(
      'refused: 127.0.0.1 (no network there): --net 127.0.0.1\nrefused: a.example (no network there): --net a.example\n',
    );
    const third = await task(
      context,
      minute,
      [`curl -sS http://127.0.0.1:${port}/`],
      ['--allow', 'curl', '--net', `127.0.0.1:${port}`],
    );
    expect(told(minute)).toEqual([output('reached')]);
    expect(third.stderr.replace(/^warning\[W-SEC-032\][^]*$/, '')).toBe('');
    server.close();
  });

  it('sees no variable that was not named', async (context) => {
    const minute = fresh(setup);
    await minute.runs('echo "$GIVEN-$KEPT"');
    const env = { GIVEN: 'given', KEPT: 'kept' };
    await minute.svc(['--env', 'GIVEN', 'look around'], { env });
    context.skip(minute.asked.tools.length === 0, 'needs a host that holds commands');
    expect(told(minute)).toEqual([output('given-')]);
  });

  it('does not see a masked file that comes while it works', async (context) => {
    const minute = fresh(setup);
    minute.write({ 'sub/x': 'x' });
    let turn = 0;
    const late = (reply: FakeReply): FakeReply => ({
      ...(reply as Extract<FakeReply, { kind: 'stream' }>),
      pace: async () => {
        turn += 1;
        if (turn === 1) minute.write({ 'sub/.env': 'SECRET' });
        if (setup.uid !== null) chownSync(join(minute.folder, 'sub/.env'), setup.uid, setup.uid);
      },
    });
    await minute.plays(
      calls('sh', { command: 'cat sub/x' }, 'a'),
      late(calls('sh', { command: 'cat sub/.env sub/x' }, 'b')),
    );
    await minute.svc(['look around']);
    context.skip(minute.asked.tools.length === 0, 'needs a host that holds commands');
    expect(told(minute)).toEqual([output('x'), output('x', 'cat: sub/.env: Permission denied', 1)]);
  });
});

describe.each(ofOneUser)('a task in an odd folder in $name', (setup) => {
  it.for(['-rf a b\n"c\' $d\\\té\u202Eturned\u001B[31m', "o'clock: #${HOME}"])(
    'works in a folder that is named %j',
    async (name, context) => {
      const minute = fresh(setup, name);
      minute.write({ 'a.txt': 'a', '.env': 'SECRET' });
      await minute.runs('cat a.txt .env; echo x > b');
      const { code, stderr } = await minute.svc(['look around']);
      context.skip(minute.asked.tools.length === 0, 'needs a host that holds commands');
      expect(code).toBe(0);
      expect(told(minute)[0]).toMatch(/^exit code: \d\nstdout:\na\nstderr:\ncat: \.env: Permission denied\n/);
      expect(stderr).toMatch(/^refused: .* \(read only\): --write\n/);
      expect(stderr.includes('\u001B') || stderr.includes('\u202E')).toBe(false);
      expect(minute.ofSession('svc.yaml')).toMatch(/^name: task$/m);
      if (setup !== ofOneUser[0]) return;
      const [id = ''] = minute.sessions;
      expect(await minute.svc(['new', 'capsule', 'x', '--dir', join(minute.base, 'made'), '--from', id])).toMatchObject(
        {
          code: 0,
        },
      );
    },
  );

  it('lets an MCP server that the command line names see the folder and nothing else, and its model no node', async (context) => {
    needsPrograms(context, 'node');
    const minute = fresh(setup);
    minute.write({ 'a.txt': 'of the folder', ...secrets, 'tools/notes.mjs': notesServer });
    const look = (expression: string, id: string): FakeReply => calls('notes__tell', { expression }, id);
    const read = (path: string): string => `readFileSync(${JSON.stringify(path)}, 'utf8')`;
    await minute.plays(
      look(`process.argv.slice(2) + ' ' + ${read('a.txt')}`, 'a'),
      look(read('.env'), 'b'),
      look(`writeFileSync('b.txt', 'x')`, 'c'),
      look(read(join(minute.home, '.svc', 'cache', 'containment.json')), 'd'),
      look(`await fetch(${JSON.stringify(minute.model?.endpoint)})`, 'e'),
      calls('node', { command: '--version' }, 'f'),
    );
    const end = await minute.svc(['--mcp', "node ./tools/notes.mjs . 'two words'", 'look around']);
    expect(end).toMatchObject({ code: 0, stdout: 'Done.\n' });
    expect(minute.asked.tools).toContain('notes__tell');
    expect(minute.asked.tools).not.toContain('node');
    const [seen, masked, written, outside, network, model] = minute.results;
    expect(seen).toBe('.,two words of the folder');
    for (const refused of [masked, written, outside, network, model])
      expect(refused).toMatch(/^failed|unknown|no tool|not/i);
    expect(masked).not.toContain('SECRET');
    expect(existsSync(join(minute.folder, 'b.txt'))).toBe(false);
    const report = await minute.svc(['--mcp', 'npx -y @acme/server-files@1.2.3 .', '--explain-scope', 'look around']);
    expect(report.stdout).toMatch(/files \(tool\) .*; runs npx, which the model does not/);
  }, 60_000);

  it('goes on without a folder that is removed, or replaced, while it works', async (context) => {
    const minute = fresh(setup);
    minute.write({ 'a.txt': 'a' });
    let turn = 0;
    const after = (reply: FakeReply, then: () => void): FakeReply => ({
      ...(reply as Extract<FakeReply, { kind: 'stream' }>),
      pace: async (event) => {
        if (event !== 0) return;
        turn += 1;
        then();
      },
    });
    await minute.plays(
      calls('sh', { command: 'cat a.txt' }, 'a'),
      after(calls('sh', { command: 'ls' }, 'b'), () => renameSync(minute.folder, `${minute.folder}.old`)),
      after(calls('sh', { command: 'ls' }, 'c'), () => {
        mkdirSync(minute.folder);
        writeFileSync(join(minute.folder, 'other'), 'OTHER');
      }),
    );
    const { code, stdout } = await minute.svc(['look around']);
    context.skip(minute.asked.tools.length === 0, 'needs a host that holds commands');
    expect({ code, stdout, turn }).toEqual({ code: 0, stdout: 'Done.\n', turn: 2 });
    expect(told(minute)).toEqual([
      output('a'),
      `sh could not be started: the folder ${minute.folder} cannot be opened: no such file or directory`,
      `sh could not be started: ${minute.folder} is another folder than when the session began`,
    ]);
  });

  it('finds its way through 5000 files, one of them masked', async (context) => {
    const minute = fresh(setup);
    fill(minute.folder, { folders: 100, filesInEach: 50 });
    await task(context, minute, ['ls | wc -l', 'find . -type f ! -name .env | wc -l', 'cat .env']);
    expect(told(minute)).toEqual([output('100'), output('5000'), output('(empty)', 'cat: .env: Permission denied', 1)]);
  });
});

describe.each(sealed)('--write in $name', (setup) => {
  it('changes the folder, except for masked places, and reports what it came to', async (context) => {
    const minute = fresh(setup);
    minute.write({ 'a.txt': 'old', '.env': 'SECRET', 'sub/.env': 'SECRET' });
    const { stderr } = await task(
      context,
      minute,
      [
        'echo new > a.txt; mkdir made; echo x > made/x; rm .env; mv .env y; ln .env z; cp .env c; echo x > .env',
        'mv sub moved; cat moved/.env',
        'cat moved/.env; ls -a moved',
      ],
      ['--write', '--allow', 'mkdir,rm,mv,ln,cp'],
    );
    expect(told(minute).join('\n')).not.toMatch(/SECRET/);
    expect(told(minute)[2]).toMatch(/cat: moved\/\.env: Permission denied/);
    expect(readFileSync(join(minute.folder, 'a.txt'), 'utf8')).toBe('new\n');
    expect(readFileSync(join(minute.folder, 'made/x'), 'utf8')).toBe('x\n');
    expect(readFileSync(join(minute.folder, '.env'), 'utf8')).toBe('SECRET');
    expect(readFileSync(join(minute.folder, 'moved/.env'), 'utf8')).toBe('SECRET');
    expect(lstatSync(join(minute.folder, 'made/x')).uid).toBe(setup.uid ?? process.getuid?.());
    expect(stderr).not.toMatch(/--write/);
    const [start = ''] = minute.ofSession('trace.jsonl').split('\n');
    expect(JSON.parse(start)).toMatchObject({
      effective_grants: { project_folder: { writable: true, masked: ['.env', 'sub/.env'] } },
    });
  });
});

/** Installs this checkout's `svc` in the folder; the file that starts it. */
function installIn(minute: FirstMinute): string {
  const place = join(minute.folder, 'node_modules/svc');
  const checkout = fileURLToPath(new URL('../../', import.meta.url));
  for (const part of ['package.json', 'bin', 'dist']) {
    cpSync(join(checkout, part), join(place, part), { recursive: true, filter: (path) => !isCodeCache(path) });
  }
  return join(place, 'bin/svc.cjs');
}

/** A code cache, and one that a start is writing. */
function isCodeCache(path: string): boolean {
  return /\.cache(\.\d+)?$/.test(path);
}

/** What of an installation is run: its code cache is made anew by a start. */
function programsOf(minute: FirstMinute): readonly string[] {
  const place = join(minute.folder, 'node_modules/svc');
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((path) => lstatSync(join(place, path)).isFile() && !isCodeCache(path))
    .map(
      (path) =>
        `${path} ${createHash('sha256')
          .update(readFileSync(join(place, path)))
          .digest('hex')}`,
    )
    .sort();
}

describe.each(sealedOfOne)('svc itself, installed in the folder of --write in $name', (setup) => {
  it('stays as it is and where it is, whatever commands and tools do', async (context) => {
    const minute = fresh(setup);
    const installed = installIn(minute);
    const before = programsOf(minute);
    const h = 'node_modules/svc/dist/native/linux-x64';
    await minute.plays(
      ...[
        `printf '#!/bin/sh\\ntouch ${minute.folder}/ESCAPED\\nexit 125\\n' > fake; chmod 755 fake`,
        `cp fake ${h}/new; mv -f fake ${h}/svc-launch; cat fake > ${h}/svc-launch; rm -rf node_modules/svc/dist/late`,
        `mv node_modules/svc aside; mv node_modules aside; mkdir -p ${h}; cp fake ${h}/svc-launch`,
        'echo y > node_modules/beside; cat node_modules/beside',
      ].map((command, turn) => calls('sh', { command }, `call_${turn}`)),
      calls('svc-tool-editor', { command: 'write', path: 'project/node_modules/svc/dist/x', content: 'x' }, 'edit_0'),
      calls('svc-tool-editor', { command: 'write', path: 'project/node_modules/other', content: 'x' }, 'edit_1'),
    );
    const { code, stdout, stderr } = await minute.svc(['--write', '--allow', 'chmod,cp,mv,rm,mkdir', 'do it'], {
      installed,
    });
    context.skip(minute.asked.tools.length === 1, 'needs a host that holds commands');
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'Done.\n' });
    expect(told(minute)[3]).toBe(output('y'));
    expect(programsOf(minute)).toEqual(before);
    expect(existsSync(join(minute.folder, 'ESCAPED'))).toBe(false);
    expect(minute.results.slice(4)).toEqual([
      'project/node_modules/svc/dist/x may not be accessed',
      'created project/node_modules/other (1 bytes)',
    ]);
    expect(readdirSync(join(minute.folder, 'node_modules')).sort()).toEqual(['beside', 'other', 'svc']);
  });
});

describe.each(scopedOfOne)('svc itself, installed in the folder of --write in $name', (setup) => {
  it('keeps such a task from being begun, and no other', async (context) => {
    const minute = fresh(setup);
    const installed = installIn(minute);
    await minute.plays();
    const { code, stderr } = await minute.svc(['--write', 'do it'], { installed });
    context.skip(code === 0, 'needs a host that holds commands');
    expect(stderr).toContain(
      `error[E-CAP-025]: svc itself cannot be kept from this task: ${minute.folder}/node_modules/svc lies in ${minute.folder}, where`,
    );
    expect(minute.model?.requests).toEqual([]);
    const inside = await minute.svc(['--write', 'do it'], {
      installed,
      cwd: join(minute.folder, 'node_modules/svc/bin'),
    });
    expect(inside.stderr).toContain('error[E-CAP-025]: svc itself cannot be kept from this task: ');
    expect(await minute.svc(['only read'], { installed })).toMatchObject({ code: 0, stdout: 'Done.\n' });
  });
});

/** A repository of the user whose commands are given, with a commit in it. */
function repository(minute: FirstMinute, setup: Setup): void {
  const git = (...args: readonly string[]): void => {
    const user = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', '-c', 'safe.directory=*'];
    execFileSync('git', [...user, ...args], { cwd: minute.folder, stdio: 'pipe' });
  };
  minute.write({ 'a.txt': 'old\n' });
  git('init', '-q', '-b', 'main', '.');
  for (const [key, value] of [
    ['user.name', 'Ann'],
    ['user.email', 'ann@example.com'],
    ['safe.directory', '*'],
  ] as const)
    git('config', key, value);
  git('add', '.');
  git('commit', '-qm', 'First');
  if (setup.uid !== null) giveAway(minute.base, setup.uid);
}

const withGit = ['--write', '--allow', 'git,mv,cp,rm,mkdir,chmod'];

describe.each(sealedOfOne)('the repository of a folder in $name', (setup) => {
  it('works for git, and what git runs stays as it is', async (context) => {
    needsPrograms(context, 'git');
    const minute = fresh(setup);
    repository(minute, setup);
    const config = readFileSync(join(minute.folder, '.git/config'), 'utf8');
    const { stderr } = await task(
      context,
      minute,
      [
        'echo new > a.txt; git status --short; git commit -qam Second && git log --oneline | wc -l',
        'git switch -qc side && echo b > b.txt && git add b.txt && git commit -qm Third && git switch -q main && git merge -q side && git gc -q && git status --short',
        'echo evil > .git/hooks/pre-commit; cp a.txt .git/hooks/post-commit; rm -rf .git/hooks; mv .git/hooks h; mv .git g',
        'git config core.fsmonitor evil; echo evil >> .git/config; rm .git/config; mv a.txt .git/config; cp a.txt .git/config',
        'ls -a; ls .git/hooks | grep -v sample; cat .git/config | grep evil',
      ],
      withGit,
    );
    const [status, branches, ...attempts] = told(minute);
    expect(status).toBe(output('M a.txt\n2'.replace('M', ' M')));
    expect(branches).toMatch(/^exit code: 0\n/);
    expect(attempts[0]).toMatch(/Read-only file system[^]*busy/);
    expect(attempts[1]).toMatch(/could not write config file[^]*Read-only file system/);
    expect(readFileSync(join(minute.folder, '.git/config'), 'utf8')).toBe(config);
    expect(readdirSync(join(minute.folder, '.git/hooks')).filter((name) => !name.endsWith('.sample'))).toEqual([]);
    expect(stderr).toMatch(
      /^changed: a\.txt\nnew: b\.txt, h\/[^\n]*\nrefused: \.git\/hooks and \.git\/config \(read only\): --write-git\n$/,
    );
  });

  it('opens with --write-git', async (context) => {
    needsPrograms(context, 'git');
    const minute = fresh(setup);
    repository(minute, setup);
    await task(
      context,
      minute,
      ['echo mine > .git/hooks/pre-commit; git config core.pager mine'],
      ['--write-git', '--allow', 'git'],
    );
    expect(readFileSync(join(minute.folder, '.git/hooks/pre-commit'), 'utf8')).toBe('mine\n');
    expect(readFileSync(join(minute.folder, '.git/config'), 'utf8')).toContain('pager = mine');
  });
});

describe.each(scopedOfOne)('--write in $name', (setup) => {
  it('fails in a repository whose hooks it could not keep, unless they are opened', async (context) => {
    const minute = fresh(setup);
    minute.write({ 'a.txt': 'old', '.git/HEAD': 'ref: refs/heads/main\n' });
    await minute.plays();
    const { code, stderr } = await minute.svc(['--write', 'look around']);
    expect({ code, asked: minute.model?.requests }).toEqual({ code: 1, asked: [] });
    expect(stderr).toMatch(/^error\[E-CAP-024\]: .* in class sealed\nhint: --write-git /);
    await task(context, minute, ['echo new > a.txt'], ['--write-git']);
    expect(readFileSync(join(minute.folder, 'a.txt'), 'utf8')).toBe('new\n');
  });

  it('fails beside a masked file, which it could not keep', async () => {
    const minute = fresh(setup);
    minute.write({ 'a.txt': 'old', '.env': 'SECRET' });
    await minute.plays();
    const { code, stderr } = await minute.svc(['--write', 'look around']);
    expect({ code, asked: minute.model?.requests }).toEqual({ code: 1, asked: [] });
    expect(stderr).toMatch(/^error\[E-CAP-023\]: .* holds \.env, which is only kept .* in class sealed\n/);
  });

  it('changes a folder without one', async (context) => {
    const minute = fresh(setup);
    minute.write({ 'a.txt': 'old' });
    await task(context, minute, ['echo new > a.txt'], ['--write']);
    expect(readFileSync(join(minute.folder, 'a.txt'), 'utf8')).toBe('new\n');
  });
});

const isRoot = process.getuid?.() === 0;

describe.runIf(isRoot)('a folder of another owner (only as root)', () => {
  it.each(setups.filter(({ uid }) => uid !== null))(
    'can be read in $name as far as it lets everybody',
    async (setup) => {
      const minute = fresh(setup);
      minute.write({ 'open.txt': 'open', 'closed.txt': 'CLOSED' });
      const base = join('/tmp', `svc-others-${process.pid}`);
      rmSync(base, { recursive: true, force: true });
      renameSync(minute.folder, base);
      execFileSync('chmod', ['600', join(base, 'closed.txt')]);
      await minute.runs('cat open.txt closed.txt; echo x > made');
      const { code } = await minute.svc(['look around'], { cwd: base });
      expect(code).toBe(0);
      expect(told(minute)[0]).toMatch(/stdout:\nopen\nstderr:\ncat: closed\.txt: Permission denied\n/);
      expect(existsSync(join(base, 'made'))).toBe(false);
      rmSync(base, { recursive: true });
    },
  );
});

it('a task without a manifest fails in the places that no agent may see', async () => {
  const minute = fresh(setups[0] as Setup);
  await minute.plays();
  for (const cwd of ['/', minute.home, minute.base, join(minute.home, '.svc', 'adhoc')]) {
    mkdirSync(cwd, { recursive: true });
    const { code, stdout, stderr } = await minute.svc(['look around'], { cwd });
    expect({ code, stdout, cwd }).toEqual({ code: 1, stdout: '', cwd });
    expect(stderr).toMatch(/^error\[E-CAP-022\]: "\/.*" is not given to an agent: it /);
  }
  expect(minute.model?.requests).toEqual([]);
});

it('a capsule answers a task without looking anywhere', async () => {
  const minute = fresh(setups[0] as Setup);
  await minute.plays(says('Hello.'));
  expect(await minute.svc(['say hello'])).toMatchObject({ code: 0, stdout: 'Hello.\n' });
});
