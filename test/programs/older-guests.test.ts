import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

import { describe, expect, it, onTestFinished } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const fixtures = fileURLToPath(new URL('../fixtures/older-guests/', import.meta.url));
const guests = readdirSync(fixtures, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

interface Fixture {
  readonly name: string;
  readonly kind: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Each component of a folder by its name; fails when the bytes are not those that were committed. */
function componentsOf(guest: string): ReadonlyMap<string, Buffer> {
  const folder = join(fixtures, guest);
  const { components } = JSON.parse(readFileSync(join(folder, 'components.json'), 'utf8')) as {
    readonly components: readonly Fixture[];
  };
  const all = brotliDecompressSync(readFileSync(join(folder, 'components.br')));
  let at = 0;
  return new Map(
    components.map(({ name, bytes, sha256 }) => {
      const component = all.subarray(at, at + bytes);
      at += bytes;
      expect(createHash('sha256').update(component).digest('hex')).toBe(sha256);
      return [name, component];
    }),
  );
}

const manifest = `name: elders
version: 1.0.0
artifacts:
  - { name: oracle, version: 0.1.0, runtime: driver, source: oracle }
  - { name: measure, version: 0.1.0, source: measure }
  - { name: manners, version: 0.1.0, runtime: hook, source: manners }
inference: { model: any, endpoint: "\${SERVER}", api_key: "\${KEY}", driver: { artifact: oracle } }
capabilities: { filesystem: { scope: in }, network: { allow: ["\${SERVER}"] } }
`;

/** A project with the three artifacts of a guest. */
function projectOf(guest: string): Workspace {
  const workspace = makeWorkspace({ 'svc.yaml': manifest, 'desk/in/letter.txt': 'Dear Sam' });
  onTestFinished(() => workspace.remove());
  for (const [name, component] of componentsOf(guest)) {
    workspace.write(`${name}/svc.yaml`, readFileSync(join(fixtures, guest, `${name}.svc.yaml`), 'utf8'));
    writeFileSync(join(workspace.folder, name, 'component.wasm'), component);
  }
  return workspace;
}

interface Server {
  readonly origin: string;
  /** What came with each request: the path, and `authorization` where there is one. */
  readonly requests: string[];
  readonly bodies: string[];
}

/** Plays the model that the driver asks, one answer after another, and has what the tool looks up. */
async function startServer(...answers: readonly object[]): Promise<Server> {
  const requests: string[] = [];
  const bodies: string[] = [];
  const left = [...answers];
  const server = createServer((request, response) => {
    requests.push(`${request.url} ${request.headers.authorization ?? ''}`.trim());
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      bodies.push(body);
      const answer = request.url === '/limit' ? { limit: 40 } : (left.shift() ?? { text: 'Nothing is left to say.' });
      response.end(JSON.stringify(answer));
    });
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, bodies };
}

describe('a tool, a driver and a hook that an older guest built', { timeout: 120_000 }, () => {
  it('belong to the repository', () => {
    expect(guests).toEqual(['copied-library']);
  });

  it.each(guests)('work in a current capsule: %s', async (guest) => {
    const workspace = projectOf(guest);
    const server = await startServer();
    const answers = [
      { call: { id: 'c1', name: 'measure', input: { file: 'secret.txt' } } },
      { call: { id: 'c2', name: 'measure', input: { file: 'absent.txt' } } },
      { call: { id: 'c3', name: 'measure', input: { file: 'letter.txt', url: `${server.origin}/limit` } } },
      { text: 'Measured.' },
      { text: 'A completion for the hook.' },
      { text: 'Measured. Thank you.' },
    ];
    const model = await startServer(...answers);
    const env = { SERVER: model.origin, KEY: 'a key that is long enough' };
    workspace.write('svc.yaml', manifest.replace('allow: ["${SERVER}"]', `allow: ["${server.origin}"]`));
    const { process, line } = await startCapsule(workspace, ['--workdir', 'desk'], { env });
    onTestFinished(() => void process.child.kill('SIGKILL'));
    const client = new CapsuleClient({ url: line.url });
    const seen: string[] = [];
    const run = client.run('Measure the letter.', {
      onInput: ({ prompt }) => {
        seen.push(prompt);
        return 'plenty';
      },
    });
    let next = await run.next();
    for (; next.done !== true; next = await run.next()) {
      if (next.value.kind === 'frame' && next.value.frame.event === 'text') seen.push(next.value.frame.text);
    }
    expect(next.value).toMatchObject({ state: 'completed' });
    expect(seen).toEqual(
      expect.arrayContaining(['8 characters', 'Are 8 enough?', 'Measured.', 'Measured. Thank you.']),
    );
    expect(await process.ended).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(workspace.folder, 'desk', 'out', 'result.txt'), 'utf8')).toBe('Measured. Thank you.');

    expect(model.requests).toEqual(answers.map(() => '/next Bearer a key that is long enough'));
    expect(server.requests).toEqual(['/limit']);
    const session = join(workspace.folder, '.svc', 'sessions', line.session_id);
    for (const answer of ['No secrets, please.', 'no-entry', '8 of 40; enough: plenty']) {
      expect(model.bodies[3]).toContain(answer);
    }
    expect(model.bodies[4]).toContain('What is missing?');
    expect(model.bodies[5]).toContain('A completion for the hook.');
    const log = readdirSync(join(session, 'logs')).find((file) => file.includes('manners')) ?? '';
    expect(readFileSync(join(session, 'logs', log), 'utf8')).toContain(
      'elders starts\nturn 1 ends with tool_call after 2 tokens\n',
    );
  });
});

describe('a component of a guest that is newer than this svc', { timeout: 120_000 }, () => {
  it('makes svc install fail, which says what to do', async () => {
    const workspace = projectOf('copied-library');
    const path = join(workspace.folder, 'measure', 'component.wasm');
    const later = readFileSync(path).toString('latin1').replaceAll('svc:tool/run@0.1.0', 'svc:tool/run@0.9.0');
    writeFileSync(path, Buffer.from(later, 'latin1'));
    const env = { SERVER: 'http://127.0.0.1:9', KEY: 'k' };
    const { code, stderr } = await svc(workspace, ['install'], { env });
    expect(code).toBe(1);
    expect(stderr).toContain(
      'error[E-ART-016]: the component of measure cannot be used: it is built for svc:tool/run@0.9.0, and this svc has svc:tool 0.1.0\n' +
        'hint: update svc, or build it with the @svc/guest of a folder that svc new makes\n',
    );
  });
});
