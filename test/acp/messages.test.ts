import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

import { expect, it, onTestFinished } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { spawnAgent } from './editor.ts';

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const call = (more: string): string => `{"jsonrpc":"2.0","id":1,"method":"session/list"${more}}`;

it.each([
  ['no JSON', '{', null, -32_700],
  ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), null, -32_700],
  ['a text', '"x"', null, -32_600],
  ['a batch', `[${call('')}]`, null, -32_600],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"session/list"}', null, -32_600],
  ['an id of 257 characters', `{"jsonrpc":"2.0","id":"${'x'.repeat(257)}","method":"session/list"}`, null, -32_600],
  ['an id that no double holds', '{"jsonrpc":"2.0","id":9007199254740993,"method":"session/list"}', null, -32_600],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"session/list"}', 1, -32_600],
  ['a method that is none', '{"jsonrpc":"2.0","id":1,"method":7}', 1, -32_600],
  ['the name of an inherited property', '{"jsonrpc":"2.0","id":1,"method":"toString"}', 1, -32_601],
  ['65 levels', call(`,"params":{"x":${nested(64)}}`), 1, -32_600],
  ['half a character', call(',"params":{"cwd":"\\ud800"}'), 1, -32_602],
  ['params that are a list', call(',"params":[]'), 1, -32_602],
  ['longer than 10 MiB', call(`,"params":{"x":"${'x'.repeat(10 * 1024 * 1024)}"}`), null, -32_600],
])('a message to svc serve acp that is %s is refused, and the connection goes on', async (_what, message, id, code) => {
  const agent = spawnAgent(scriptCapsule(), []);
  onTestFinished(() => void agent.kill());
  const lines: string[] = [];
  createInterface({ input: agent.stdout! }).on('line', (line) => lines.push(line));
  agent.stdin?.write(message);
  agent.stdin?.write(
    '\n{"jsonrpc":"2.0","method":"unknown/notification"}\n\n{"jsonrpc":"2.0","id":"last","result":{}}\n',
  );
  agent.stdin?.end('{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}\n');
  expect(await once(agent, 'close')).toEqual([0, null]);
  const [refused, ...more] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(refused).toMatchObject({ jsonrpc: '2.0', id, error: { code } });
  expect(more).toEqual([{ jsonrpc: '2.0', id: 2, result: { sessions: [] } }]);
});

it('an editor that leaves while a session starts leaves nothing running', async () => {
  const workspace = scriptCapsule();
  const cwd = join(dirname(workspace.folder), 'code');
  mkdirSync(cwd);
  const agent = spawnAgent(workspace, []);
  onTestFinished(() => void agent.kill());
  let said = '';
  agent.stdout?.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const params = JSON.stringify({ cwd, mcpServers: [] });
  agent.stdin?.end(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":${params}}\n`);
  expect(await once(agent, 'close')).toEqual([0, null]);
  const error = { code: -32_603, message: expect.stringContaining('the connection has ended') };
  expect(JSON.parse(said)).toMatchObject({ id: 1, error });
});
