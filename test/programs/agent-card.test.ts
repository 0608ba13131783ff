import { describe, expect, it } from 'vitest';

import { taskFile } from '../support/capsule-folders.ts';
import { message, rpc } from '../support/svc-process.ts';
import { useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';

const { script } = useStreamedCapsules();

const queue = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';
/** Its first task goes on until it is stopped. */
const holdsOn = `- content: [{ type: text, text: Done. }]
  stop_reason: end_turn
  delay_ms: 600000
`;
const alwaysServed = ['stream/watch', 'tasks/get', 'tasks/cancel', 'session/stop'];

interface Card {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serves: { readonly methods: readonly string[]; readonly planes: readonly string[] };
}

async function cardOf(capsule: StreamedCapsule): Promise<Card> {
  return (await (await fetch(`http://${capsule.line.url}/.well-known/agent-card.json`)).json()) as Card;
}

describe('the card that a capsule serves', () => {
  it('says of a capsule with everything what its manifest declares, with all keys in order [D1-CARD-01, D1-CARD-02, D1-CARD-03, D1-CARD-04, D1-CARD-05, D1-CARD-06, D1-CARD-07, D1-CARD-08, D1-CARD-09, D1-CARD-10, D1-CARD-11, D1-CARD-12, D1-CARD-14, D1-CARD-16, D1-CARD-21, D1-CARD-22]', async () => {
    const capsule = await script({
      manifest: `${queue}artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]
capabilities: { shell: { allow: [sh] }, network: { allow: [example.org] } }
exports: { peer_files: { root: out, max_ttl: 5m }, files: { root: out } }
doors: { serve: [] }
`,
    });
    const { url, session_id: sessionId } = capsule.line;
    const card = await fetch(`http://${url}/.well-known/agent-card.json`);
    expect(await card.text()).toBe(
      `{"name":"demo","version":"1.2.3","url":"${url}","session_id":"${sessionId}",` +
        '"capabilities":{"tools":["svc-tool-editor"],"shell":true,"network":true,"streaming":true},' +
        '"serves":{"methods":["message/send","message/stream","stream/watch","tasks/get","tasks/cancel","session/stop"],' +
        '"planes":["files","peer_files"]}}',
    );
  });

  it('says of a capsule with nothing that it has no tool, command, destination or plane [D1-CARD-05, D1-CARD-06, D1-CARD-07, D1-CARD-11]', async () => {
    const capsule = await script({ manifest: `${queue}doors: { serve: [] }\n` });
    const { capabilities, serves } = await cardOf(capsule);
    expect(capabilities).toEqual({ tools: [], shell: false, network: false, streaming: true });
    expect(serves.planes).toEqual([]);
  });

  it('keeps commands and destinations, and one plane and the other, apart [D1-CARD-06, D1-CARD-07, D1-CARD-21, D1-CARD-22]', async () => {
    const [commands, destinations] = await Promise.all([
      script({ manifest: `${queue}capabilities: { shell: { allow: [sh] } }\nexports: { files: { root: out } }\n` }),
      script({
        manifest: `${queue}capabilities: { network: { allow: [example.org] } }\nexports: { peer_files: { root: out, max_ttl: 5m } }\n`,
      }),
    ]);
    const shell = await cardOf(commands);
    expect(shell.capabilities).toMatchObject({ shell: true, network: false });
    expect(shell.serves.planes).toEqual(['files']);
    const network = await cardOf(destinations);
    expect(network.capabilities).toMatchObject({ shell: false, network: true });
    expect(network.serves.planes).toEqual(['peer_files']);
  });

  it.each([
    ['single', ['message/send', 'message/stream', ...alwaysServed], true],
    ['none', alwaysServed, false],
  ])(
    'lists what a capsule that takes %s answers, and the capsule answers nothing else [D1-CARD-08, D1-CARD-09, D1-CARD-14, D1-CARD-16, D1-CARD-17, D1-CARD-18, D1-CARD-19, D1-CARD-20, D1-MAN-10, D1-ERR-12, D1-HTTP-06, D1-HTTP-07]',
    async (acceptance, methods, streaming) => {
      const capsule = await script({
        manifest: `lifecycle: { task_acceptance: ${acceptance} }\n`,
        script: holdsOn,
        files: taskFile,
      });
      const card = await cardOf(capsule);
      expect(card.serves.methods).toEqual(methods);
      expect(card.capabilities['streaming']).toBe(streaming);
      const notFound = { code: -32601, message: 'Method not found' };
      const { url } = capsule.line;
      const asked = ['message/send', 'Message/send', 'message/send ', 'tasks/get', 'Tasks/get', 'tasks/list'];
      const served = await Promise.all(asked.map(async (name) => (await rpc(url, name, message('Hi.')))['error']));
      expect(asked.filter((_, index) => JSON.stringify(served[index]) === JSON.stringify(notFound))).toEqual(
        asked.filter((name) => !methods.includes(name)),
      );
      if (!streaming) expect(await rpc(url, 'message/stream', message('Hi.'))).toMatchObject({ error: notFound });
    },
  );
});
