import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();
const patience = 60_000;

const makers = {
  pipe: (path: string) => void execFileSync('mkfifo', [path]),
  file: (path: string) => writeFileSync(path, 'x\n'),
  folder: (path: string) => mkdirSync(path),
};

/** What `svc` says where something else stands at the place of a file or folder of its own; `~` is the home. */
async function saidWith(kind: keyof typeof makers, place: string, command: string): Promise<string> {
  const workspace = capsule({ files: { 'task.md': 'Say that you are done.\n' } });
  const path = place.startsWith('~/') ? join(workspace.home, place.slice(2)) : join(workspace.folder, place);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  makers[kind](path);
  const { code, stderr } = await svc(workspace, command.split(' '));
  return `${code} ${stderr.replaceAll(workspace.folder, '').replaceAll(workspace.home, '~').split('\n')[0]}`;
}

describe('a pipe that nobody writes into', () => {
  it.each([
    ['svc.yaml', 'run'],
    ['svc.yaml', 'run --explain-scope'],
    ['svc.yaml', 'install'],
    ['svc.yaml', 'verify'],
    ['svc.yaml', 'test'],
    ['svc.yaml', 'add svc-hook-debug'],
    ['.svc/config.yaml', 'run --explain-scope'],
    ['~/.svc/config.yaml', 'search x'],
    ['svc.lock', 'verify'],
    ['script.yaml', 'run -p hi'],
    ['task.md', 'run'],
  ])(
    'makes %s fail in svc %s',
    async (place, command) => {
      expect(await saidWith('pipe', place, command)).toMatch(/^1 error\[E-[A-Z]+-\d+\]: .*: it is not a regular file$/);
    },
    patience,
  );
});

describe('a file', () => {
  it.each([
    ['workdir', 'the directory /workdir cannot be made'],
    ['.svc/sessions', 'the directory /.svc/sessions cannot be made'],
    ['.svc', '/.svc'],
    ['~/.svc', '~/.svc'],
  ])(
    'in the place of the folder %s causes an error that says so',
    async (place, named) => {
      const said = await saidWith('file', place, 'run -p hi');
      expect(said).toMatch(/^1 error\[E-[A-Z]+-\d+\]: /);
      expect(said).toContain(named);
    },
    patience,
  );
});

describe('a folder', () => {
  it.each([
    ['svc.yaml', 'run -p hi'],
    ['script.yaml', 'run -p hi'],
    ['svc.lock', 'run -p hi'],
    ['.svc/config.yaml', 'run -p hi'],
    ['~/.svc/config.yaml', 'search x'],
    ['~/.svc/door-tokens.json', 'token add x --scope read'],
  ])(
    'in the place of the file %s causes an error of svc %s',
    async (place, command) => {
      const said = await saidWith('folder', place, command);
      expect(said).toMatch(/^1 error\[E-[A-Z]+-\d+\]: /);
      expect(said).toContain(place);
    },
    patience,
  );
});
