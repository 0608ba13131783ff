import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { AuthorizationServer } from '../support/authorization-server.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const canary = 'canary-key-0123456789';
const env = { SERVICE_TOKEN: canary, SVC_CONTAINMENT_CEILING: 'scoped' };
const workspaces: Workspace[] = [];
const seen: { readonly path: string; readonly key: string | undefined }[] = [];
let server: Server;
let authority: string;

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
  server.closeAllConnections();
  server.close();
});

function answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
  seen.push({ path: url, key: headers.authorization });
  if (url === '/repos/echo') response.end(JSON.stringify(headers));
  else if (url === '/repos/away')
    response.writeHead(302, { location: `http://${authority}/?${headers.authorization}` }).end();
  else response.end(headers.authorization === `Bearer ${canary}` ? 'known' : 'unknown');
}

function capsule({ forWhom = 'web', more = '' } = {}): string {
  return `trace: { capture: content, components: true }
artifacts: [{ name: web, version: 1.0.0, source: ./web }, { name: other, version: 1.0.0, source: ./other }]
capabilities:
  network: { allow: [{ host: "http://${authority}", rules: ["GET /repos/*"], credential: service }] }
  credentials: { service: { value: "\${SERVICE_TOKEN}", for: [${forWhom}], env: SERVICE_TOKEN } }
  env: { allow: [SERVICE_TOKEN] }
${more}`;
}

async function run(
  manifest: string,
  variables: Readonly<Record<string, string>>,
  ...asked: readonly (readonly [string, string, object?])[]
): Promise<{ readonly workspace: Workspace; readonly said: string; readonly code: number | null }> {
  const turns = asked.map(([tool, path, more = {}], at) =>
    calls([[`c${at}`, tool, { method: { tag: 'get' }, scheme: { tag: 'HTTP' }, authority, path, ...more }]]),
  );
  const workspace = scriptCapsule({ manifest, script: script(...turns, says('Done.')) });
  workspaces.push(workspace);
  for (const name of ['web', 'other']) addComponentTool(workspace, name, await fixtureComponent('http-tool'));
  const { code, stdout, stderr } = await svc(workspace, ['run', '--task', 'Go.'], { env: { ...env, ...variables } });
  return { workspace, said: stdout + stderr, code };
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

function kept({ folder }: Workspace): string {
  return filesIn(join(folder, '.svc'))
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

describe('a credential of a capsule', () => {
  it('reaches the host with the requests of those it is for, and no file, answer or word of the session', async () => {
    seen.length = 0;
    const { workspace, said, code } = await run(
      capsule(),
      {},
      ['web', '/repos/one'],
      ['other', '/repos/one'],
      ['web', '/repos/echo'],
      ['web', '/repos/away'],
      ['web', '/admin'],
      ['web', '/repos/two', { headers: [['authorization', 'Bearer of-somebody-else']] }],
    );
    expect([code, said]).toEqual([0, expect.not.stringContaining('canary')]);
    expect(seen).toEqual([
      { path: '/repos/one', key: `Bearer ${canary}` },
      { path: '/repos/one', key: undefined },
      { path: '/repos/echo', key: `Bearer ${canary}` },
      { path: '/repos/away', key: `Bearer ${canary}` },
    ]);
    const written = kept(workspace);
    expect(written).not.toContain('canary');
    expect(written).toContain('known');
    expect(written).toContain('unknown');
    const rules = [...written.matchAll(/"event_type":"refusal".*?"rule":"([^"]*)","by":"([^"]*)"/g)].map(
      ([, rule, by]) => `${by} ${rule}`,
    );
    expect(rules).toEqual([
      'web capabilities.credentials.service',
      'web capabilities.credentials.service',
      'web capabilities.network.allow[].rules',
      'web capabilities.credentials.service',
    ]);
  });

  it('shows no value to --explain-scope, and keeps programs that would reach its host from starting', async () => {
    const { workspace } = await run(capsule(), {});
    const shown = await svc(workspace, ['run', '--explain-scope', '--task', 'Go.'], { env });
    expect(shown.stdout).toContain(`http://${authority} with the credential service and no other, for GET /repos/*`);
    expect(shown.stdout).toContain('service for web: bearer in authorization, a placeholder in SERVICE_TOKEN');
    expect(shown.stdout + shown.stderr).not.toContain('canary');
    const { said, code } = await run(
      capsule({ more: '  shell: { allow: [true] }\n' }).replace('[true]', '["true"]'),
      {},
    );
    expect(code).not.toBe(0);
    expect(said).toContain('E-CAP-031');
    expect(said).toContain('commands');
  });

  it('stays with svc where it is renewed, as does what svc gets for it', async () => {
    const issuer = await AuthorizationServer.start();
    onTestFinished(() => issuer.close());
    const refreshToken = issuer.refreshToken();
    const shown: string[] = [];
    const service = createServer(({ url, headers }, response) => {
      const token = headers.authorization?.replace('Bearer ', '') ?? '';
      shown.push(token);
      response.end(url === '/echo' ? token : issuer.isKnown(token) ? 'known' : 'unknown');
    });
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    onTestFinished(() => void service.close());
    const at = `127.0.0.1:${(service.address() as AddressInfo).port}`;
    const manifest = `trace: { capture: content, components: true }
artifacts: [{ name: web, version: 1.0.0, source: ./web }, { name: other, version: 1.0.0, source: ./other }]
capabilities:
  network: { allow: [{ host: "http://${at}", credential: service }] }
  credentials:
    service: { value: "\${SERVICE_TOKEN}", for: [web], scheme: oauth2, user: svc, token_endpoint: "${issuer.issuer}/token" }
`;
    const more = { authority: at };
    const calls = [
      ['web', '/one', more],
      ['web', '/two', more],
      ['web', '/echo', more],
      ['other', '/three', more],
    ] as const;
    const { workspace, said, code } = await run(manifest, { SERVICE_TOKEN: refreshToken }, ...calls);
    expect(code).toBe(0);
    expect(issuer.refreshes).toBe(1);
    expect(shown).toEqual([shown[0], shown[0], shown[0], '']);
    expect(issuer.isKnown(shown[0] ?? '')).toBe(true);
    expect(said).toMatch(
      /warning\[W-CAP-033\]: 127\.0\.0\.1:\d+ gave another refresh token for the credential service/,
    );
    const written = kept(workspace);
    expect(written).toContain('known');
    for (const secret of [refreshToken, shown[0] ?? '']) expect(written + said).not.toContain(secret);
    expect(written).toMatch(/"event_type":"refusal".*"rule":"capabilities\.credentials\.service","by":"web"/);
  });
});
