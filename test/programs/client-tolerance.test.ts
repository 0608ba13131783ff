import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

import { closedPort } from '../support/closed-port.ts';
import { PlayedCapsule, streamHead } from '../support/played-capsule.ts';
import { SvcProcess, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace } from '../support/workspace.ts';

/** Makes the time pass in a program. */
const later = fileURLToPath(new URL('../support/later.cjs', import.meta.url));

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** What `svc watch` comes to on a stream of exactly these bytes. */
async function watched(stream: string, ...options: readonly string[]): Promise<SvcEnd> {
  const capsule = await PlayedCapsule.open();
  const workspace = makeWorkspace({});
  const watch = new SvcProcess(workspace, ['watch', capsule.address, ...options]);
  cleanups.push(() => {
    watch.child.kill('SIGKILL');
    capsule.close();
    workspace.remove();
  });
  const { socket } = await capsule.connection();
  socket.end(streamHead + stream);
  return await watch.ended;
}

const ack = 'event: connection-ack\ndata: {"role":"observer","conversation_mode":"stateless"}\n\n';
const closed = 'event: capsule-closed\ndata: {}\n\n';

function text(id: string, task: string, words: string): string {
  return `id: ${id}\nevent: text\ndata: {"id":"${task}","text":"${words}","final":true}\n\n`;
}

describe('svc watch', () => {
  it('passes over events it does not know, whatever they hold [D1-TOL-01, D1-VER-03]', async () => {
    const later = 'id: 3\nevent: later\ndata: {"text":"from later","status":{"state":"working","message":"later"}}\n\n';
    const { code, stdout, stderr } = await watched(
      `${ack}${later}event: blank\ndata: no JSON\n\n${text('4', 't', 'Hello')}${closed}`,
    );
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '| Hello\n',
      stderr: 'the capsule closed its stream\n',
    });
  });

  it('passes over keys it does not know, at any depth [D1-TOL-02, D1-VER-03]', async () => {
    const more = '"later":{"text":"x","list":[{"state":"y"}]}';
    const status = `id: 1\nevent: status\ndata: {${more},"id":"t","status":{${more},"state":"working","message":"on"},"final":false}\n\n`;
    const said = `id: 2\nevent: text\ndata: {${more},"id":"t","text":"Hello","final":true}\n\n`;
    const { code, stdout } = await watched(`${ack.replace('{', `{${more},`)}${status}${said}${closed}`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '[working] on\n| Hello\n' });
  });

  it('passes over comment lines, between frames and in them [D1-TOL-03]', async () => {
    const { code, stdout } = await watched(
      `${ack}:heartbeat\n\n: event: text\n:data: {"text":"no"}\n\nid: 1\n:heartbeat\nevent: text\n:\ndata: {"id":"t","text":"Hello","final":true}\n\n${closed}`,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '| Hello\n' });
  });

  it('takes ids for labels: neither a jump nor a fall is a loss, and a repeat is another frame [D1-ID-13]', async () => {
    const frames = [
      ['5', 'one'],
      ['4611686018427387903', 'one'],
      ['3', 'one'],
      ['3', 'two'],
      ['18446744073709551615', 'two'],
      ['0', 'two'],
    ].map(([id = '', task = ''], index) => text(id, task, `line ${index}`));
    const { code, stdout, stderr } = await watched(`${ack}${frames.join('')}${closed}`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: frames.map((_, index) => `| line ${index}\n`).join('') });
    expect(stderr).toBe('the capsule closed its stream\n');
  });

  it('warns at a gap that earlier frames may be gone, and goes on [D1-REPLAY-14]', async () => {
    const { code, stdout, stderr } = await watched(
      `${ack}event: gap\ndata: {"first_available_id":9}\n\n${text('9', 't', 'Hello')}${closed}`,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '| Hello\n' });
    expect(stderr).toBe(
      'warning: earlier frames may be gone; the first available id is 9\nthe capsule closed its stream\n',
    );
  });

  it('takes a pause of ten minutes for a capsule that is busy, and follows what comes after it [D1-BEAT-06]', async () => {
    const capsule = await PlayedCapsule.open();
    const workspace = makeWorkspace({});
    const watch = new SvcProcess(workspace, ['watch', capsule.address], {
      env: { NODE_OPTIONS: `--require=${later}` },
    });
    cleanups.push(() => {
      watch.child.kill('SIGKILL');
      capsule.close();
      workspace.remove();
    });
    const { socket } = await capsule.connection();
    socket.write(`${streamHead}${ack}${text('1', 't', 'Before')}`);
    await watch.printed(/Before/);
    watch.child.kill('SIGUSR2');
    await watch.complained(/ten minutes have passed/);
    socket.end(`:heartbeat\n\n${text('2', 't', 'After')}${closed}`);
    expect(await watch.ended).toMatchObject({
      code: 0,
      stdout: '| Before\n| After\n',
      stderr: 'ten minutes have passed\nthe capsule closed its stream\n',
    });
  });

  it('tries again, with longer and longer waits, where nothing listens yet [D1-CLI-23]', async () => {
    const address = `127.0.0.1:${await closedPort()}`;
    const workspace = makeWorkspace({});
    cleanups.push(() => workspace.remove());
    const started = performance.now();
    const { code, stderr } = await new SvcProcess(workspace, ['watch', address]).ended;
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-IO-003]') });
    // The waits together, which its own start adds to.
    expect(performance.now() - started).toBeGreaterThan(750);
  });
});
