import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../../src/trace/read.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();

describe('the workdir of --workdir', () => {
  it.each(['.', '..', '/', '.svc', '.svc/fresh', '../home', '../home/.svc/cache'])(
    'is refused when it is %s: the agent could alter the manifest, the trace or what svc runs',
    async (workdir) => {
      const workspace = capsule({ files: taskFile });
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', workdir]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-RUN-029\]: the workdir .* would give the agent what svc itself keeps/);
      expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
    },
  );

  it.each(['.', 'dist', 'node_modules/made', '..'])(
    'is refused when it is %s of the installation: the agent could alter svc itself',
    async (place) => {
      const workspace = capsule({ files: taskFile });
      const workdir = join(import.meta.dirname, '..', '..', place);
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', workdir]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-RUN-029\]: the workdir .* would give the agent what svc itself keeps/);
      expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
    },
  );

  it('is refused when it is a link to nowhere', async () => {
    const workspace = capsule({ files: taskFile });
    symlinkSync('nowhere', join(workspace.folder, 'work'));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', 'work']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-IO-001\]: the directory .* cannot be made/);
  });

  it('may be used again, but not with a link where the agent has its home', async () => {
    const workspace = capsule({ files: taskFile });
    const outside = join(workspace.folder, 'outside');
    mkdirSync(outside);
    mkdirSync(join(workspace.folder, 'work'));
    symlinkSync(outside, join(workspace.folder, 'work', '.svc'));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', 'work']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error\[E-IO-001\]: \.svc\/home\/tmp cannot be made in .*: a link or a file is in its place/,
    );
    expect(readdirSync(outside)).toEqual([]);
  });

  it('is itself the accessible workdir', async () => {
    const workspace = capsule({ files: taskFile });
    expect((await svc(workspace, ['run', '--workdir', 'work'])).code).toBe(0);
    expect(readFileSync(join(workspace.folder, 'work', 'out', 'result.txt'), 'utf8')).toBe('Done.');
  });
});

describe('a home that cannot be written', () => {
  it.skipIf(process.platform !== 'linux').each([['run'], ['run', '--explain-scope'], ['doctor'], ['ps']])(
    'is no reason to hang where directories cannot be made: %s %s',
    async (...args) => {
      const workspace = capsule({ files: taskFile });
      const { code } = await svc(workspace, args, { env: { HOME: '/proc/nohome' } });
      expect(code).toBe(args.length === 1 && args[0] === 'run' ? 1 : 0);
    },
  );

  it('is a coded error before anything is said, and leaves a whole trace', async () => {
    const workspace = capsule({ files: taskFile });
    const { code, stdout, stderr } = await svc(workspace, ['run', '--json'], { env: { HOME: '/dev/null' } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-IO-001\]: the session cannot be listed in \/dev\/null\/\.svc\/running/);
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const [session = ''] = readdirSync(sessions);
    const trace = readTrace(join(sessions, session, 'trace.jsonl'));
    expect(trace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'trapped' });
    expect((await svc(workspace, ['ps'], { env: { HOME: '/dev/null' } })).code).toBe(0);
  });
});
