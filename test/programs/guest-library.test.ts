import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { installAuthorPackages } from '../support/author-packages.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace } from '../support/workspace.ts';

const source = `
import { passed, type ToolOutput } from '@svc/guest/tool';
import { get } from '@svc/guest/http';

export const run = {
  run: ({ arguments: text }: { readonly arguments: string }): ToolOutput => {
    const { url } = JSON.parse(text) as { url: string };
    const response = get(url, [['accept', 'text/plain']]);
    const body = [...response.pieces()].join('');
    response.close();
    if (response.status !== 200 || body !== 'soup') throw new Error(\`\${response.status} \${body}\`);
    return passed(body);
  },
};
`;

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function soupServer(): Promise<{ readonly origin: string; readonly requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.end('soup');
  });
  cleanups.push(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

describe('the library @svc/guest in a component', { timeout: 120_000 }, () => {
  it('sends a GET without a body to a host that the capsule grants, and to no other', async () => {
    const { origin, requests } = await soupServer();
    const other = await soupServer();
    const workspace = makeWorkspace({
      'svc.yaml': `name: kitchen
version: 1.0.0
artifacts: [{ name: menu, version: 0.1.0, source: menu }]
inference: { model: script, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }
capabilities: { network: { allow: ["${origin}"] } }
`,
      'script.yaml': `- content: [{ type: tool_call, id: c1, name: menu, input: { url: "${origin}/menu?day=1" } }]
  stop_reason: tool_call
- content: [{ type: tool_call, id: c3, name: menu, input: { url: "${origin}?day=2" } }]
  stop_reason: tool_call
- content: [{ type: tool_call, id: c4, name: menu, input: { url: "${origin}/menu?day=3&of=a/b?c#dessert?not/sent" } }]
  stop_reason: tool_call
- content: [{ type: tool_call, id: c5, name: menu, input: { url: "${origin}#dessert" } }]
  stop_reason: tool_call
- content: [{ type: tool_call, id: c2, name: menu, input: { url: "${other.origin}/" } }]
  stop_reason: tool_call
- content: [{ type: text, text: Done. }]
  stop_reason: end_turn
`,
    });
    cleanups.push(() => workspace.remove());
    expect((await svc(workspace, ['new', 'tool', 'menu'])).code).toBe(0);
    workspace.write('menu/svc.yaml', 'name: menu\nversion: 0.1.0\nruntime: tool\ndescription: Reads the menu.\n');
    workspace.write('menu/component.ts', source);
    installAuthorPackages(join(workspace.folder, 'menu'));
    expect((await svc(workspace, ['build', 'menu'])).code).toBe(0);

    const run = await svc(workspace, ['run', '--task', 'What is there to eat?']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /menu?day=1',
      'GET /?day=2',
      'GET /menu?day=3&of=a/b?c',
      'GET /',
    ]);
    expect(requests[0]?.headers).toMatchObject({ accept: 'text/plain' });
    expect(requests[0]?.headers).not.toHaveProperty('transfer-encoding');
    expect(requests[0]?.headers).not.toHaveProperty('content-length');
    expect(other.requests).toEqual([]);
    const [session = ''] = /ses_[0-9a-f]{32}/.exec(run.stdout) ?? [];
    const trace = readFileSync(join(workspace.folder, '.svc', 'sessions', session, 'trace.jsonl'), 'utf8');
    expect(trace.match(/"is_error":(true|false)/g)).toEqual([
      ...Array.from({ length: 4 }, () => '"is_error":false'),
      '"is_error":true',
    ]);
  });
});
