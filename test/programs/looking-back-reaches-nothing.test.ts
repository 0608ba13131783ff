import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { RemoteMcpServer } from '../support/remote-server.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const canTrace = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0;

const manifest = `name: reviewer
version: 1.0.0
artifacts:
  - { name: style, version: 1.0.0, runtime: skill, source: style }
  - { name: svc-tool-editor, version: 1.0.0 }
  - { name: svc-hook-debug, version: 1.0.0, runtime: hook }
inference:
  model: scripted
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: [sh] }, network: { allow: [example.com] } }
skills: { discover: [.agents/skills] }
`;

/** Two skills, one of them discovered, a program, and a tool of a server on the web. */
const turns = script(
  calls([
    ['s_1', 'style', {}],
    ['s_2', 'forms', {}],
    ['s_3', 'forms', { file: 'list.md' }],
  ]),
  runs('echo fine > made'),
  calls([['m_1', 'server__echo', { text: 'from afar' }]]),
  says('All is fine.'),
);

/** What starts a process, reaches a network or changes a name or a file. */
const traced = [
  'execve,execveat,fork,vfork,clone,clone3',
  'socket,socketpair,connect,bind,listen,sendto,sendmsg',
  'open,openat,openat2,creat,truncate,ftruncate,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,unlink,unlinkat,rmdir',
  'link,linkat,symlink,symlinkat,chmod,fchmodat,chown,fchownat,lchown,utimensat,setxattr',
].join(',');

/**
 * The calls that did more than read what is there, make threads and begin the program; those in the folder for
 * temporary files aside, which newer Nodes name by an open directory that `strace -y` writes as `20</its/path>`.
 */
function acts(log: string, scratch: string): readonly string[] {
  return log
    .split('\n')
    .map((line) => line.replace(/^\d+\s+/, ''))
    .filter((line) => /^[a-z0-9_]+\(/.test(line))
    .filter((line) => !/^clone3?\(.*CLONE_THREAD/.test(line))
    .filter((line) => !/^open(?:at2?)?\(/.test(line) || /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND/.test(line))
    .filter((line) => !line.includes(`"${scratch}/svc-`) && !line.includes(`<${scratch}/svc-`))
    .filter((line) => !line.includes('"/dev/null"'));
}

describe.skipIf(!canTrace)('the program that looks back (skipped without strace)', () => {
  let workspace: Workspace;
  let scratch = '';

  beforeAll(async () => {
    workspace = makeWorkspace({
      'svc.yaml': manifest,
      'script.yaml': turns,
      'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\ndescription: How.\n',
      'style/skill.md': 'Short.\n',
      '.agents/skills/forms/SKILL.md': '---\ndescription: Fills forms.\n---\nFill it.\n',
      '.agents/skills/forms/list.md': 'A list.\n',
    });
    const server = await RemoteMcpServer.start();
    await done(['add', `mcp+${server.url}`]);
    await done(['install']);
    scratch = join(workspace.home, 'scratch');
    mkdirSync(scratch);
    await done(['run', '--task', 'Go.', '--capture', 'content']);
    if (server.methods.at(-1) !== 'tools/call') throw new Error('the tool of the server was not called');
    server.close();
    await done(['test', '--record', 'fine']);
    await done(['trace', 'export', '-o', 'session.zip']);
    rmSync(join(workspace.folder, 'workdir'), { recursive: true, force: true });
  }, 120_000);

  async function done(args: readonly string[]): Promise<void> {
    const { code, stderr } = await svc(workspace, args);
    if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`);
  }

  afterAll(() => workspace.remove());

  it.each([
    [['test']],
    [['test', '--json']],
    [['run', '--replay']],
    [['run', '--replay', './session.zip']],
    [['trace', 'show', './session.zip#2']],
    [['trace', 'diff', './session.zip', 'tests/fine/session.zip']],
  ])('starts no process, opens no socket and writes only what is temporary: svc %j', (args) => {
    const log = join(workspace.home, 'strace.log');
    const options = ['-f', '-y', '-qq', '-e', `trace=${traced}`, '-e', 'signal=none', '-s', '4096', '-o', log];
    const { status, stdout, stderr } = spawnSync('strace', [...options, process.execPath, program, ...args], {
      cwd: workspace.folder,
      env: { PATH: process.env['PATH'], HOME: workspace.home, TMPDIR: scratch },
      encoding: 'utf8',
    });
    expect({ status, stderr: stderr.replace(/^warning\[W-RUN-0(?:59|72)\].*\nhint: .*\n/gm, '') }).toEqual({
      status: 0,
      stderr: '',
    });
    const seen = acts(readFileSync(log, 'utf8'), scratch);
    // The first of all begins the program itself.
    expect(seen.map((line) => line.slice(0, 200))).toEqual([expect.stringMatching(/^execve\(/)]);
    if (args[1] === '--replay') expect(stdout).toContain('the same except for ids and times');
  });

  it('looks back where it runs for real, with skills and a tool of a server on the web', () => {
    const log = join(workspace.home, 'strace.log');
    spawnSync(
      'strace',
      ['-f', '-qq', '-e', `trace=${traced}`, '-o', log, process.execPath, program, 'run', '--task', 'Go.'],
      {
        cwd: workspace.folder,
        env: { PATH: process.env['PATH'], HOME: workspace.home, TMPDIR: scratch, SVC_CONTAINMENT_CEILING: 'advisory' },
        timeout: 60_000,
      },
    );
    const seen = acts(readFileSync(log, 'utf8'), scratch).join('\n');
    expect(seen).toMatch(/^socket\(/m);
    expect(seen).toMatch(/^execve\(.*"sh"/m);
    expect(seen).toMatch(/^openat\(.*journal\.jsonl.*O_CREAT/m);
  }, 90_000);
});
