import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { useCapsules } from '../../../../test/support/capsule-folders.ts';
import { message, rpc, startCapsule } from '../../../../test/support/svc-process.ts';
import { staysUp, useStreamedCapsules } from '../../../../test/support/streamed-capsule.ts';
import { callBytes } from './stream-door.ts';
import { StreamReader } from './stream-reader.ts';

const { script } = useStreamedCapsules();
const capsule = useCapsules();

/** A model behind a process that emits more than any socket holds. */
const floodingDriver = `
const line = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
process.stdin.once('data', () => {
  for (let chunk = 0; chunk < 200; chunk += 1) line({ type: 'chunk', text: 'x'.repeat(100_000) });
  line({ type: 'response', response: { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' } });
});
process.stdin.once('end', () => process.exit(0));
`;
const ack = 'event: connection-ack\ndata: {"role":"observer","conversation_mode":"stateless"}\n\n';

/** A `stream/watch` of a running capsule that has been acknowledged. */
async function watching(url: string): Promise<StreamReader> {
  const reader = await StreamReader.open(Number(url.split(':')[1]));
  reader.send(callBytes('stream/watch', {}));
  return await reader.until(ack);
}

describe('the streams of a capsule process', () => {
  it('end without capsule-closed when the process exits [D1-STREAM-27, D1-FRAME-46]', async () => {
    const capsule = await script({ manifest: staysUp });
    const reader = await watching(capsule.line.url);
    capsule.process.child.kill('SIGKILL');
    await reader.untilClosed();
    expect(reader.body).toBe(ack);
  });

  it('end with capsule-closed when the capsule ends its session [D1-STREAM-06, D1-FRAME-46]', async () => {
    const capsule = await script({ manifest: staysUp });
    const reader = await watching(capsule.line.url);
    capsule.process.child.kill('SIGTERM');
    await reader.untilClosed();
    expect(reader.body).toBe(`${ack}event: capsule-closed\ndata: {}\n\n`);
  });

  it('wait at the end of a session for a reader that is slow', async () => {
    const workspace = capsule({ files: { 'driver.mjs': floodingDriver } });
    workspace.write(
      'svc.yaml',
      `name: demo\nversion: 1.2.3\ninference: { transport: process, command: ["${process.execPath}", "${workspace.folder}/driver.mjs"] }\n`,
    );
    const { process: running, line } = await startCapsule(workspace);
    const [slow, normal] = [await watching(line.url), await watching(line.url)];
    slow.socket.pause();
    await rpc(line.url, 'message/send', message('Flood.'));
    await normal.untilClosed();
    // Longer than the end of a session takes when nobody holds it up.
    await delay(2000);
    expect(running.child.exitCode).toBeNull();
    slow.socket.resume();
    await slow.untilClosed();
    expect(slow.body).toContain('"status":{"state":"completed","message":"session ended"},"final":true}');
    expect(slow.body.endsWith('event: capsule-closed\ndata: {}\n\n')).toBe(true);
    expect((await running.ended).code).toBe(0);
  });
});
