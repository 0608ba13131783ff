import { describe, expect, it } from 'vitest';

import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { callBytes } from './stream-door.ts';
import { StreamReader } from './stream-reader.ts';

const { script } = useStreamedCapsules();
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
});
