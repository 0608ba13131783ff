import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { calling, type NamedCall, obedientCapsule } from '../support/obedient-capsule.ts';
import { readTrace } from '../support/read-trace.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const forms = {
  'skills/forms/SKILL.md':
    '---\nname: Fill_Forms\ndescription: Fills forms.\n---\n\nSay <untrusted-content> as it is.\n',
  'skills/forms/references/list.md': 'A list.\n',
};
const entry = '{ name: forms, version: 1.0.0, runtime: skill, source: ./skills/forms }';

/** A capsule that has the skill `forms` and says what its last call gave; `rest` is more of its manifest. */
function withSkill(
  rest = '',
  {
    files = {},
    artifacts = '',
  }: { readonly files?: Readonly<Record<string, string>>; readonly artifacts?: string } = {},
): Workspace {
  const workspace = obedientCapsule('demo', `artifacts: [${entry}${artifacts}]\n${rest}`);
  onTestFinished(() => workspace.remove());
  for (const [name, text] of Object.entries({ ...forms, ...files })) workspace.write(name, text);
  return workspace;
}

interface Ran {
  /** What the last call gave to the model. */
  readonly said: string;
  readonly stderr: string;
  readonly lines: () => readonly Record<string, unknown>[];
}

async function run(workspace: Workspace, ...made: readonly NamedCall[]): Promise<Ran> {
  const { code, stdout, stderr } = await svc(workspace, ['run', '--json', '--task', calling(...made)]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const { session_id: session, workdir } = JSON.parse(stdout.split('\n')[0] ?? '') as Record<string, string>;
  return {
    said: readFileSync(join(workdir ?? '', 'out/result.txt'), 'utf8'),
    stderr,
    lines: () => readTrace(tracePath(workspace, session ?? '')),
  };
}

describe('a standard skill folder in a capsule', { timeout: 240_000 }, () => {
  it('enters svc.lock, and gives its text without a fence', async () => {
    const workspace = withSkill();
    const { said, lines, stderr } = await run(workspace, ['forms', {}]);
    expect(stderr).toBe('');
    expect(said).toBe(
      '[skill forms 1.0.0. Paths in it are below .skills/forms/]\nSay <untrusted-content> as it is.\n[also: references/list.md; call forms with file]',
    );
    const call = lines().find(({ event_type: type }) => type === 'skill_call');
    expect(call).toMatchObject({ skill_name: 'forms', is_error: false });
    expect(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).toContain('"name": "forms"');
  });

  it('counts as a skill under -v', async () => {
    const { stdout } = await svc(withSkill(), ['run', '-v', '--task', calling(['forms', {}])]);
    expect(stdout).toContain('\nskills: 1 installed\n');
  });

  it('cannot run once a file of it has changed, until an install', async () => {
    const workspace = withSkill();
    await run(workspace, ['forms', {}]);
    workspace.write('skills/forms/references/list.md', 'Another list.\n');
    const refused = await svc(workspace, ['run', '--task', calling(['forms', {}])]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('error[E-RUN-003]: artifact forms@1.0.0 has sha256');
    expect(await svc(workspace, ['install'])).toMatchObject({ code: 0, stderr: '' });
    expect((await run(workspace, ['forms', { file: 'references/list.md' }])).said).toBe('Another list.\n');
  });

  describe('that asks for more', () => {
    const lockOf = (workspace: Workspace): string => readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    const withList = (words: string): string =>
      `---\ndescription: d\n${words === '' ? '' : `allowed-tools: ${words}\n`}---\nUse it.\n`;
    const listing = (words: string, more: Readonly<Record<string, string>> = {}, tools = ''): Workspace => {
      const workspace = withSkill('', { files: { 'skills/forms/SKILL.md': withList(words), ...more } });
      const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
      if (tools !== '') workspace.write('svc.yaml', manifest.replace('./skills/forms }', `./skills/forms, ${tools} }`));
      return workspace;
    };

    it('needs --accept-tools, and does not where it asks for less', async () => {
      const workspace = listing('Read Bash(git:*)');
      const first = await svc(workspace, ['install']);
      expect(first).toMatchObject({ code: 0, stderr: 'the skill forms@1.0.0 asks for\n  + Read\n  + Bash(git:*)\n' });
      const before = lockOf(workspace);
      expect(JSON.parse(before)).toMatchObject({ lock_version: 3 });
      // The capsule has no such command, and could have it tomorrow.
      workspace.write('skills/forms/SKILL.md', withList('Read Bash(docker:*)'));
      const refused = await svc(workspace, ['install']);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(
        /^the skill forms@1\.0\.0 asks for\n {2}- Bash\(git:\*\)\n {2}\+ Bash\(docker:\*\)\nerror\[E-REG-016\]: the skill forms@1\.0\.0 lets more through/,
      );
      expect(lockOf(workspace)).toBe(before);
      expect((await svc(workspace, ['run', '--task', '[]'])).stderr).toContain('E-RUN-003');
      expect((await svc(workspace, ['install', '--frozen', '--accept-tools'])).code).toBe(2);
      expect((await svc(workspace, ['install', '--accept-tools'])).code).toBe(0);
      expect(lockOf(workspace)).toContain('Bash(docker:*)');
      workspace.write('skills/forms/SKILL.md', withList('Bash(docker ps)'));
      expect((await svc(workspace, ['install'])).code).toBe(0);
      workspace.write('skills/forms/SKILL.md', withList(''));
      const without = await svc(workspace, ['install']);
      expect(without.stderr).toContain('+ all that the capsule grants, without allowed-tools');
      expect(without.stderr).toContain('E-REG-016');
    });

    it('needs it where another program runs a script, under the list of the operator too', async () => {
      const script = 'skills/forms/scripts/a.py';
      for (const workspace of [
        listing('Bash(scripts/a.py:*)', { [script]: 'print()\n' }),
        listing('', { [script]: 'print()\n' }, 'tools: ["Bash(scripts/a.py:*)"]'),
      ]) {
        expect((await svc(workspace, ['install'])).code).toBe(0);
        workspace.write(script, '#!/bin/sh\n');
        const refused = await svc(workspace, ['install']);
        expect(refused.stderr).toContain('  - python3 for scripts/a.py\n  + sh for scripts/a.py\n');
        expect(refused.stderr).toContain('E-REG-016');
      }
    });

    it('needs it of svc add too, where svc.lock still has the entry', async () => {
      const workspace = listing('Read');
      expect((await svc(workspace, ['install'])).code).toBe(0);
      const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8').replace(entry, '');
      workspace.write('svc.yaml', manifest);
      workspace.write('skills/forms/SKILL.md', withList('Read Write'));
      expect((await svc(workspace, ['add', './skills/forms'])).stderr).toContain('E-REG-016');
      expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toBe(manifest);
      expect((await svc(workspace, ['add', './skills/forms', '--accept-tools'])).code).toBe(0);
      expect(lockOf(workspace)).toContain('"Write"');
    });

    it('needs it with a lock of before, which an install moves on', async () => {
      const workspace = listing('Read');
      expect((await svc(workspace, ['install'])).code).toBe(0);
      const now = lockOf(workspace);
      const { artifacts } = JSON.parse(now) as { readonly artifacts: readonly [{ readonly sha256: string }] };
      const { sha256 } = artifacts[0];
      const old = JSON.stringify({ lock_version: 1, artifacts: [{ name: 'forms', version: '1.0.0', sha256 }] });
      workspace.write('svc.lock', old);
      expect((await run(workspace, ['svc-tool-request-input', {}])).stderr).not.toContain('svc.lock');
      expect(await svc(workspace, ['install'])).toMatchObject({ code: 0, stderr: '' });
      expect(lockOf(workspace)).toBe(now);
      workspace.write('svc.lock', old);
      workspace.write('skills/forms/SKILL.md', withList('Bash(x)'));
      const refused = await svc(workspace, ['install']);
      expect(refused.stderr).toContain('has changed, and svc.lock does not say what it asked for before');
      expect((await svc(workspace, ['install', '--accept-tools'])).code).toBe(0);
    });
  });

  it('adds at most 64 KiB to what a start loads, once its folder was read', async () => {
    const loadedBy = async (workspace: Workspace): Promise<number> => {
      const notes = join(workspace.folder, 'loaded');
      workspace.write(
        'hook.cjs',
        `const fs = require('fs');
const { readFileSync } = fs;
fs.readFileSync = (path, ...rest) => {
  const read = readFileSync(path, ...rest);
  if (/dist.late.[^/]*cjs$/.test(String(path))) fs.appendFileSync(${JSON.stringify(notes)}, path + ' ' + read.length + '\\n');
  return read;
};`,
      );
      expect(await svc(workspace, ['run'])).toMatchObject({ code: 0 });
      const env = { NODE_OPTIONS: `--require ${join(workspace.folder, 'hook.cjs')}` };
      expect(await svc(workspace, ['run'], { env })).toMatchObject({ code: 0 });
      const lines = new Set(readFileSync(notes, 'utf8').trim().split('\n'));
      return [...lines].reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
    };
    const shell = 'capabilities: { shell: { allow: [cat] } }\n';
    const files = { ...taskFile, ...forms };
    const plain = await loadedBy(capsule({ manifest: shell, files }));
    const more = await loadedBy(capsule({ manifest: `artifacts: [${entry}]\n${shell}`, files }));
    expect(plain).toBeGreaterThan(10_000);
    expect(more - plain).toBeGreaterThan(5_000);
    expect(more - plain).toBeLessThan(64 * 1024);
  });

  it('opens its files to a component', async () => {
    const workspace = withSkill('capabilities: { filesystem: { scope: part } }\n', {
      artifacts: ', { name: svc-tool-editor, version: 1.0.0 }',
    });
    const path = '.skills/forms/references/list.md';
    const { said } = await run(workspace, ['svc-tool-editor', { command: 'read', path }]);
    expect(said).toContain('A list.');
    const written = await run(workspace, ['svc-tool-editor', { command: 'write', path, content: 'x' }]);
    expect(written.lines().find(({ event_type: type }) => type === 'tool_call')).toMatchObject({ is_error: true });
  });

  it('names its whole path where commands start in a project folder', async () => {
    const workspace = withSkill('capabilities: { project: { path: . }, shell: { allow: [sh, cat] } }\n');
    const { said } = await run(workspace, ['forms', {}]);
    const [, place = ''] = /Paths in it are below (.*)\]/.exec(said) ?? [];
    expect(place).toMatch(/^\/.*\/\.skills\/forms\/$/);
    // The home lies in the workdir, as .svc/home.
    const read = await run(workspace, ['sh', { command: 'cat "$HOME/../../.skills/forms/references/list.md"' }]);
    expect(read.said).toContain('A list.');
  });

  it.for<[what: string, head: string, told: string]>([
    ['no description', 'name: forms', 'SKILL.md has no description, by which a model chooses a skill'],
  ])('cannot have %s', async ([, head, told]) => {
    const workspace = withSkill('', { files: { 'skills/forms/SKILL.md': `---\n${head}\n---\n` } });
    const { code, stderr } = await svc(workspace, ['run', '--task', '[]']);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^error\[E-ART-004\]/);
    expect(stderr).toContain(told);
  });

  it('cannot stand for a tool', async () => {
    const workspace = capsule({
      manifest: 'artifacts: [{ name: forms, version: 1.0.0, source: ./skills/forms }]\n',
      files: { ...taskFile, ...forms },
    });
    expect((await svc(workspace, ['run'])).stderr).toContain(
      'error[E-ART-005]: forms@1.0.0 is a skill, but the manifest lists it as a tool',
    );
  });

  it('refuses a call that its list does not name, from its text on until the task has ended', async () => {
    const workspace = withSkill(
      'lifecycle: { task_acceptance: single }\ncapabilities: { shell: { allow: [cat, sh] } }\n',
      {
        files: { 'skills/forms/SKILL.md': '---\ndescription: d\nallowed-tools: Read WebSearch\n---\nRead.\n' },
      },
    );
    const before = await run(workspace, ['sh', { command: 'echo fine' }], ['forms', {}]);
    expect(before.stderr).toContain(
      'warning[W-RUN-210]: allowed-tools of the skill forms has words that stand for nothing here: WebSearch',
    );
    expect(before.said).toBe(
      '[skill forms 1.0.0. Paths in it are below .skills/forms/. While it is in use only these answer: cat (read only)]\nRead.\n[also: references/list.md; call forms with file]',
    );
    const refused = await run(workspace, ['forms', {}], ['sh', { command: 'echo no' }]);
    expect(refused.said).toBe('not allowed while the skill forms is in use: it allows cat (read only)');
    const task = calling(['forms', {}], ['sh', { command: 'echo no' }]);
    const { stdout } = await svc(workspace, ['--trust', '-p', task, '--output', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ refused: [{ kind: 'call', what: 'sh', flag: null }] });
    const replayed = await svc(workspace, ['run', '--replay']);
    expect(replayed.code).toBe(0);
  });

  it.for<[tools: string, said: RegExp]>([
    ['capsule', /echo no/],
    ['["Bash(sh:*)"]', /echo no/],
    ['["Bash(cat:*)"]', /it allows cat$/],
  ])('has what the operator allows in place of its list (%s)', async ([tools, said]) => {
    const workspace = withSkill('capabilities: { shell: { allow: [cat, sh] } }\n', {
      files: { 'skills/forms/SKILL.md': '---\ndescription: d\nallowed-tools: Grep\n---\nRead.\n' },
    });
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', manifest.replace('runtime: skill,', `runtime: skill, tools: ${tools},`));
    expect((await run(workspace, ['forms', {}], ['sh', { command: 'echo no' }])).said).toMatch(said);
  });

  it('cannot have a word of the operator that stands for nothing', async () => {
    const workspace = withSkill();
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', manifest.replace('runtime: skill,', 'runtime: skill, tools: [Read, "Bash(a;b)"],'));
    const { code, stderr } = await svc(workspace, ['run', '--task', '[]']);
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      'error[E-MAN-003]: artifacts[].tools of forms has words that stand for nothing here: Read, Bash(a;b)',
    );
  });

  it('stays away from models where its list names nothing of the capsule', async () => {
    const head = '---\ndescription: d\nallowed-tools: WebSearch\n---\n';
    const { said, stderr } = await run(withSkill('', { files: { 'skills/forms/SKILL.md': head } }), ['forms', {}]);
    expect(stderr).toContain(
      'warning[W-RUN-210]: allowed-tools of the skill forms names nothing that this capsule has',
    );
    expect(said).toContain('there is no tool named "forms"');
  });

  it('says which command its scripts lack', async () => {
    const { stderr } = await run(withSkill('', { files: { 'skills/forms/scripts/fill.py': 'print(1)\n' } }), [
      'forms',
      {},
    ]);
    expect(stderr).toContain(
      'warning[W-RUN-210]: the skill forms has scripts for python3, which capabilities.shell.allow does not list: they cannot be run',
    );
  });

  it('stays away from models where it says so', async () => {
    const head = '---\ndescription: d\ndisable-model-invocation: true\n---\n';
    const { said, stderr } = await run(withSkill('', { files: { 'skills/forms/SKILL.md': head } }), ['forms', {}]);
    expect(stderr).toBe('');
    expect(said).toContain('there is no tool named "forms"');
    const neither = head.replace('---\n', '---\nuser-invocable: false\n');
    const ofNobody = await run(withSkill('', { files: { 'skills/forms/SKILL.md': neither } }), ['forms', {}]);
    expect(ofNobody.stderr).toContain('warning[W-RUN-210]: the skill forms says disable-model-invocation and user-inv');
  });

  it('does not take a place that a person has filled', async () => {
    const workspace = withSkill();
    const workdir = join(workspace.folder, '..', 'named');
    mkdirSync(join(workdir, '.skills'), { recursive: true });
    writeFileSync(join(workdir, '.skills/own'), '');
    const { code, stdout, stderr } = await svc(workspace, ['run', '--task', '[]', '--workdir', workdir]);
    expect({ code: code !== 0, stdout }).toEqual({ code: true, stdout: '' });
    expect(stderr).toContain('error[E-RUN-210]: ');
    expect(readFileSync(join(workdir, '.skills/own'), 'utf8')).toBe('');
  });

  it('appears in svc info before it is in a manifest', async () => {
    const head =
      '---\ndescription: d\u001b[31m\nallowed-tools: Read Bash(git:*)\nmodel: x\ncompatibility: git\n---\nText.\n';
    const workspace = capsule({
      files: { ...taskFile, 'a_b/SKILL.md': head, 'a_b/scripts/a.py': '', 'a_b/list.md': '', 'none/x': '' },
    });
    const { code, stdout, stderr } = await svc(workspace, ['info', './a_b']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.replace(/[0-9a-f]{64}/, '\u2026').split('\n')).toEqual([
      'artifact     a-b@0.0.0',
      'kind         skill',
      'sha256       \u2026',
      'description  d\\u{1b}[31m',
      'allows       Read, Bash(git:*)',
      'script       scripts/a.py, which python3 runs',
      'files        list.md, scripts/a.py',
      'needs        git',
      'not used     model',
      '',
    ]);
    expect(JSON.parse((await svc(workspace, ['info', './a_b', '--json'])).stdout)).toMatchObject({
      name: 'a-b',
      kind: 'skill',
      allowed_tools: ['Read', 'Bash(git:*)'],
      scripts: { 'scripts/a.py': 'python3' },
      files: ['list.md', 'scripts/a.py'],
      compatibility: 'git',
      other_fields: ['model'],
    });
    expect((await svc(workspace, ['info', './none'])).stderr).toContain(
      'error[E-ART-008]: "./none" is no folder with SKILL.md',
    );
  });

  it('runs from a folder of skills once svc install has recorded it, and no more once it has changed', async () => {
    const workspace = obedientCapsule('demo', 'skills: { discover: [.agents/skills] }\n');
    onTestFinished(() => workspace.remove());
    const shelf = '.agents/skills/';
    workspace.write(`${shelf}forms/SKILL.md`, forms['skills/forms/SKILL.md']);
    const unrecorded = 'warning[W-RUN-211]: skills are left out that svc.lock does not record: ';
    const first = await svc(workspace, ['run', '-v', '--task', calling(['forms', {}])]);
    expect(first.code).toBe(0);
    expect(first.stderr).toContain(`${unrecorded}forms\n`);
    expect(first.stdout).not.toContain('skills:');
    const installed = await svc(workspace, ['install']);
    expect(installed).toMatchObject({ code: 0, stderr: '' });
    expect(installed.stdout).toMatch(/^forms +0\.0\.0 +source /m);
    workspace.write(`${shelf}more/SKILL.md`, forms['skills/forms/SKILL.md']);
    const { said, stderr, lines } = await run(workspace, ['forms', {}]);
    expect(said).toContain('Say <untrusted-content> as it is.');
    expect(stderr).toContain(`${unrecorded}more\n`);
    expect(stderr).toContain('svc install records them');
    expect(lines()[0]).toMatchObject({ effective_grants: { discovered_skills: { forms: './.agents/skills/forms' } } });
    workspace.write(`${shelf}forms/SKILL.md`, forms['skills/forms/SKILL.md'].replace('as it is', 'and obey'));
    const refused = await svc(workspace, ['run', '--task', '[]']);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('error[E-RUN-003]: artifact forms@0.0.0 has sha256');
  });

  it('gets an entry by svc add, under a name that fits', async () => {
    const workspace = capsule({ files: { ...taskFile, ...forms } });
    expect((await svc(workspace, ['info', './skills/forms'])).stdout).toContain('artifact     fill-forms@0.0.0\n');
    const { code, stderr } = await svc(workspace, ['add', './skills/forms']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toContain(
      '{ name: fill-forms, version: 0.0.0, runtime: skill, source: "./skills/forms" }',
    );
    expect((await svc(workspace, ['run', '-v'])).stdout).toContain('\nskills: 1 installed\n');
  });
});
