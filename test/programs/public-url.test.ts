import { afterEach, describe, expect, it } from 'vitest';

import { exchange, parseResponse } from '../../packages/kit/test/http/raw-client.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { says, script } from '../support/scripted-turns.ts';
import { staysUp } from '../support/streamed-capsule.ts';
import { type SvcProcess, startCapsule, svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

let workspace: Workspace | null = null;
let running: SvcProcess | null = null;

afterEach(async () => {
  running?.child.kill('SIGTERM');
  await running?.ended;
  running = null;
  workspace?.remove();
});

function capsule(manifest = ''): Workspace {
  workspace = scriptCapsule({ manifest: `${manifest}${staysUp}`, script: script(says('ok')) });
  return workspace;
}

const token = { SVC_LISTENER_TOKEN: 'open-sesame-4711' };
const toAll = ['--bind', '0.0.0.0'];

interface Started {
  readonly addresses: readonly string[];
  readonly warned: boolean;
}

/** What the card of a capsule names, and whether its operator was warned of it in all that it said. */
async function started(
  manifest: string,
  { env = {}, args = [] }: { readonly env?: Record<string, string>; readonly args?: readonly string[] },
): Promise<Started> {
  const { process, line } = await startCapsule(capsule(manifest), args, { env });
  running = process;
  const port = line.url.split(':').at(-1);
  const answer = await fetch(`http://127.0.0.1:${port}/.well-known/agent-card.json`);
  const { supportedInterfaces = [] } = (await answer.json()) as { supportedInterfaces?: readonly { url: string }[] };
  process.child.kill('SIGTERM');
  const { stderr } = await process.ended;
  return {
    addresses: [...new Set(supportedInterfaces.map(({ url }) => url.replace(/:\d+\//, ':<port>/')))],
    warned: stderr.includes('warning[W-SEC-033]'),
  };
}

describe('the address that a card names', () => {
  it('has the name of this machine, without a word', async () => {
    expect(await started('', {})).toEqual({ addresses: ['http://localhost:<port>/a2a'], warned: false });
  });

  it('may be one that others have, from SVC_PUBLIC_URL', async () => {
    const env = { ...token, SVC_PUBLIC_URL: 'https://agents.example.com:8443/scribe/' };
    expect(await started('', { env, args: toAll })).toEqual({
      addresses: ['https://agents.example.com:<port>/scribe/a2a'],
      warned: false,
    });
  });

  it('causes a warning where other machines get one that is not theirs', async () => {
    const { addresses, warned } = await started('', { env: token, args: toAll });
    expect([addresses.length, warned]).toEqual([1, true]);
    expect(running?.stderr).toContain('the card of the listener on 0.0.0.0 names an address of this machine');
    expect(running?.stderr).toContain('SVC_PUBLIC_URL');
  });

  it('does not exist where no door is served, nor does a warning', async () => {
    expect(await started('doors: { serve: [] }\n', { env: token, args: toAll })).toEqual({
      addresses: [],
      warned: false,
    });
  });

  it.each([
    'agents.example.com',
    'ftp://agents.example.com',
    'https://user@agents.example.com',
    'https://:pw@agents.example.com',
    'https://agents.example.com/?a=b',
    'https://agents.example.com/#a',
    'https://',
    ' ',
  ])('fails where it is invalid: %j', async (url) => {
    const { code, stderr, stdout } = await svc(capsule(), ['run', '--json'], { env: { SVC_PUBLIC_URL: url } });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('error[E-RUN-130]: SVC_PUBLIC_URL is no http or https address');
    expect(stderr).not.toContain('pw@');
  });

  it('does not matter where no door is served, and counts as absent when it is empty', async () => {
    const closed = await started('doors: { serve: [] }\n', { env: { SVC_PUBLIC_URL: 'nonsense' } });
    expect(closed).toEqual({ addresses: [], warned: false });
    workspace?.remove();
    expect((await started('', { env: { SVC_PUBLIC_URL: '' } })).addresses).toEqual(['http://localhost:<port>/a2a']);
  });
});

describe('a web page that has its own name lead to a listener on all addresses', () => {
  const pageName = 'page.example.com';
  const asPage = async (port: number, name: string, headers: readonly string[] = []): Promise<string> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'none' } });
    const origin = `http://${name}:${port}`;
    const head = ['POST / HTTP/1.1', `Host: ${name}:${port}`, `Origin: ${origin}`, 'Content-Type: application/json'];
    const lines = [...head, 'Connection: close', `Content-Length: ${body.length}`, ...headers, '', ''];
    const { status, body: text } = parseResponse(await exchange({ port, bytes: [lines.join('\r\n'), body] }));
    return `${status} ${(JSON.parse(text) as { error?: unknown }).error === 'page_refused' ? 'page_refused' : ''}`;
  };
  const portOf = async (env: Record<string, string>): Promise<number> => {
    const { process, line } = await startCapsule(capsule(), toAll, { env });
    running = process;
    return Number(line.url.split(':').at(-1));
  };

  it('fails, whatever token it shows; a page of an address or of the public name does not, nor does a program', async () => {
    const port = await portOf({ SVC_PUBLIC_URL: 'https://agents.example.com' });
    expect(await asPage(port, pageName)).toBe('403 page_refused');
    expect(await asPage(port, pageName, ['Authorization: Bearer any'])).toBe('403 page_refused');
    expect(await asPage(port, '127.0.0.1')).toBe('200 ');
    expect(await asPage(port, 'localhost')).toBe('200 ');
    expect(await asPage(port, 'agents.example.com')).toBe('200 ');
    const read = async (headers: string): Promise<number> => {
      const head = `GET /.well-known/agent-card.json HTTP/1.1\r\nHost: ${pageName}\r\n${headers}Connection: close\r\n\r\n`;
      return parseResponse(await exchange({ port, bytes: [head] })).status;
    };
    // A page that reads from its own origin sends no `Origin`, and `fetch` of Node sends what a page sends too.
    expect(await read('Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n')).toBe(403);
    expect([await read(''), await read('Sec-Fetch-Mode: cors\r\n')]).toEqual([200, 200]);
  });

  it('may enter with the token of the listener, which only its holder can show', async () => {
    const port = await portOf(token);
    expect(await asPage(port, pageName)).toBe('401 ');
    expect(await asPage(port, pageName, [`Authorization: Bearer ${token.SVC_LISTENER_TOKEN}`])).toBe('200 ');
  });
});
