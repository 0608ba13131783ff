import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { message, rpc, startCapsule, svc } from '../support/svc-process.ts';

const capsule = useCapsules();

describe('svc run --json', () => {
  it('writes exactly one line, as soon as the listener is up [D1-CORE-09, D1-CLI-05]', async () => {
    const workspace = capsule({ files: taskFile });
    const { code, stdout, stderr } = await svc(workspace, ['run', '--json', '-v']);
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('shows where and what is running [D1-RESULT-01, D1-RESULT-03, D1-RESULT-04, D1-RESULT-05, D1-RESULT-06, D1-RESULT-07, D1-MAN-01, D1-MAN-11, D1-SHAPE-01]', async () => {
    const workspace = capsule();
    const { process, line } = await startCapsule(workspace);
    expect(line).toEqual({
      url: expect.stringMatching(/^localhost:\d+$/),
      pid: process.child.pid,
      session_id: onlySession(workspace),
      name: 'demo',
      version: '1.2.3',
      workdir: join(workspace.folder, 'workdir', line.session_id),
    });
    expect(line.session_id).toMatch(/^ses_[0-9a-f]{32}$/);
    const card = await (await fetch(`http://${line.url}/.well-known/agent-card.json`)).json();
    expect(card).toMatchObject({ name: 'demo', version: '1.2.3', url: line.url, session_id: line.session_id });
    await rpc(line.url, 'message/send', message('Go on.'));
    expect((await process.ended).code).toBe(0);
    expect(readTrace(tracePath(workspace, line.session_id))[0]).toMatchObject({ session_id: line.session_id });
  });

  it('keeps localhost under --bind 0.0.0.0 and accepts other machines [D1-RESULT-02, D1-CLI-06, D1-CLI-07]', async (context) => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.family === 'IPv4' && !address.internal);
    context.skip(outside === undefined, 'this machine has no interface but loopback');
    const workspace = capsule();
    const { process, line } = await startCapsule(workspace, ['--bind', '0.0.0.0']);
    expect(line.url).toMatch(/^localhost:\d+$/);
    const port = line.url.split(':')[1];
    const answers = await fetch(`http://${outside?.address}:${port}/.well-known/agent-card.json`);
    expect(answers.status).toBe(200);
    process.child.kill('SIGTERM');
    const { code, stderr } = await process.ended;
    expect(stderr).toContain('warning[W-SEC-031]');
    expect(code).toBe(0);
  });
});
