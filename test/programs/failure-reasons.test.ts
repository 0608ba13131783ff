import { describe, expect, it } from 'vitest';

import { closedPort } from '../support/closed-port.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { asking, reasonOf, reasonsOf } from '../support/failed-runs.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

function asked(endpoint: string): Workspace {
  return capsule({ files: asking(endpoint) });
}

describe('the standard error of a piped svc run', () => {
  it('because nothing listens at the endpoint, in each of 3 runs', async () => {
    const endpoint = `http://127.0.0.1:${await closedPort()}`;
    expect(await reasonsOf(3, () => asked(endpoint))).toEqual([`cannot reach ${endpoint}: connection refused`]);
  });

  it('because the endpoint has a name that no host has', async () => {
    const workspace = asked('https://no-such-host.invalid');
    expect(reasonOf(await svc(workspace, ['run']), workspace)).toMatch(
      /^cannot reach https:\/\/no-such-host\.invalid: the name (?:does not resolve|server does not answer)$/,
    );
  });

  it.each([401, 403, 404, 429, 500])('because the provider answered %i', async (status) => {
    const provider = await startFakeOpenAi([{ kind: 'refuse', status, message: 'Not today, thanks.' }]);
    const workspace = asked(provider.endpoint);
    const reason = reasonOf(await svc(workspace, ['run']), workspace);
    await provider.close();
    expect(reason).toBe(`provider answered ${status}: Not today, thanks.`);
  });

  it('because the provider closed the connection', async () => {
    const provider = await startFakeOpenAi([{ kind: 'drop' }]);
    const workspace = asked(provider.endpoint);
    const reason = reasonOf(await svc(workspace, ['run']), workspace);
    await provider.close();
    expect(reason).toBe(`cannot reach ${provider.endpoint}: connection closed before a response`);
  });

  it('because the driver exited, with the first and the last lines of what it said', async () => {
    const says =
      'console.error("no licence found"); for (let n = 1; n <= 90; n++) console.error(`  at frame ${n}`); process.exit(3);';
    const workspace = capsule({
      files: {
        ...taskFile,
        'svc.yaml': `name: demo
version: 1.2.3
inference:
  model: any
  transport: process
  command: [${JSON.stringify(process.execPath)}, -e, ${JSON.stringify(says)}]
`,
      },
    });
    expect(reasonOf(await svc(workspace, ['run']), workspace)).toBe(
      'the driver exited with status 3 before its response: no licence found at frame 1 … at frame 86 at frame 87 at frame 88 at frame 89 at frame 90',
    );
  });

  it('says that the task failed, and nothing when none failed', async () => {
    const workspace = capsule({ files: taskFile });
    expect(await svc(workspace, ['run'], { tellsClass: true })).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('a piped svc run whose programs get less than scoped', () => {
  it.each([[['run']], [['run', '--json']]])('says so in one line with the class: svc %j', async (args) => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand('true'),
      files: taskFile,
    });
    for (let run = 0; run < 2; run++) {
      expect(await svc(workspace, args, { tellsClass: true })).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(
          /^warning\[W-RUN-059\]: class advisory \([^)]+\) for commands, which keeps no file of this user from them: SVC_CONTAINMENT_CEILING is advisory\n$/,
        ),
      });
    }
  });

  it('says it of a driver that is a process', async () => {
    const workspace = capsule({
      files: {
        ...taskFile,
        'svc.yaml':
          'name: demo\nversion: 1.2.3\ninference: { model: any, transport: process, command: [sh, -c, exit] }\n',
      },
    });
    const { stderr } = await svc(workspace, ['run'], { tellsClass: true });
    expect(stderr).toMatch(/^warning\[W-RUN-059\]: class advisory \([^)]+\) for the program of the driver, which/);
  });
});
