import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { tracePath, useCapsules } from '../support/capsule-folders.ts';
import { message, startCapsule } from '../support/svc-process.ts';

const capsule = useCapsules();
const token = 'a-token-of-the-listener';
const manifest = 'lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 8 }\n';

describe('a message of megabytes', () => {
  it('appears in the record whole and without secrets, however many come at once, and its line is like that of a short one', async () => {
    const workspace = capsule({ manifest });
    const { process, line } = await startCapsule(workspace, [], { env: { SVC_LISTENER_TOKEN: token } });
    const send = async (method: string, text: string): Promise<void> => {
      const response = await fetch(`http://${line.url}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: message(text) }),
      });
      expect(response.status).toBe(200);
      await response.text();
    };
    const texts = ['短', 'a\n', '"'].map((filling) => `${token} ${filling.repeat(1_200_000)} ${token}.`);
    await send('message/send', `short ${token}`);
    await Promise.all(texts.map((text) => send('message/send', text)));
    await send('message/stream', texts[0] ?? '');
    process.child.kill('SIGTERM');
    await process.ended;

    const received = readFileSync(tracePath(workspace, line.session_id), 'utf8')
      .split('\n')
      .filter((each) => each.includes('"event_type":"task_received"'))
      .map((each) => JSON.parse(each) as Record<string, unknown>);
    const sent = [`short ${token}`, ...texts, texts[0] ?? ''];
    const recorded = sent.map((text) => text.replaceAll(token, '[secret]'));
    expect(received.map((each) => String(each['text'])).toSorted()).toEqual(recorded.toSorted());
    const keys = new Set(received.map((each) => Object.keys(each).join()));
    expect([...keys]).toEqual([
      'event_type,event_id,parent_id,session_id,timestamp,task_id,context_id,origin,trust,lane,principal,text',
    ]);
  });
});
