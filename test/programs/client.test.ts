import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { InstalledPackage } from '../support/installed-package.ts';
import { asks, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();
const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const readme = fileURLToPath(new URL('../../packages/client/README.md', import.meta.url));

describe('a program of a stranger', () => {
  it('has the form that the README of the client shows', async () => {
    const [, example = ''] = /```js\n([^]*?)```/.exec(readFileSync(readme, 'utf8')) ?? [];
    expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
    const capsule = await capsules.script({
      manifest: asker + staysUp,
      script: script(asks('Which colour?'), says('Painted.')),
    });
    const installed = await InstalledPackage.install('client');
    onTestFinished(() => installed.remove());
    installed.write('example.mjs', example);
    const program = join(installed.folder, 'example.mjs');
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, capsule.line.url, 'Paint.']);
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      'demo 1.2.3',
      '[working] inference turn 1',
      '[input-required] Which colour?',
      '[working] resumed',
      '[working] inference turn 2',
      'Painted.',
      '[completed] session ended',
      'completed: Painted.',
      '',
    ]);
  });

  it('cancels a task, reads the files and stops the session', async () => {
    const capsule = await capsules.script({
      manifest: `${asker}${staysUp}exports: { files: { root: out } }\n`,
      script: script(asks('Which colour?'), says('Done.')),
    });
    const client = new CapsuleClient({
      url: capsule.line.url,
      expect: { name: 'demo', version: '1.2.3', sessionId: capsule.line.session_id },
    });
    const run = client.run('Wait.');
    const states: string[] = [];
    let next = await run.next();
    for (; next.done !== true; next = await run.next()) {
      const { value } = next;
      if (value.kind !== 'frame' || value.frame.event !== 'status') continue;
      states.push(value.frame.state);
      if (value.frame.state === 'input-required') await client.cancel(value.frame.taskId);
    }
    expect(states).toEqual(['working', 'input-required', 'canceled']);
    expect(next.value).toMatchObject({ state: 'canceled', message: 'task canceled' });
    expect(await client.files()).toMatchObject({ root: 'out', files: [] });
    await expect(client.file('none.txt')).rejects.toMatchObject({ code: 'refused', status: 404, refusal: 'not_found' });
    await expect(client.sharedFile('mh1.a.b', 'a@b:1')).rejects.toMatchObject({ code: 'not-served' });
    expect(await client.stop()).toEqual({ sessionId: capsule.line.session_id, canceled: [], residue: [] });
  });

  it('sees every task of a capsule, until that closes its stream', async () => {
    const capsule = await capsules.script({ manifest: staysUp, script: script(says('Done.')) });
    const client = new CapsuleClient({ url: capsule.line.url });
    const watch = client.watch();
    expect((await watch.next()).value).toMatchObject({ kind: 'connected', conversationMode: 'stateless' });
    const { id } = await client.send('Go.');
    const told: string[] = [];
    for await (const event of watch) {
      if (event.kind !== 'frame') continue;
      expect(event.frame.taskId).toBe(id);
      told.push(event.frame.event);
      if (event.frame.event === 'status' && event.frame.final) void capsule.terminate();
    }
    expect(told).toEqual(['status', 'text', 'status']);
  });
});
