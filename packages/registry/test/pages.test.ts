import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { acme, signedBy } from '../../artifacts/test/trust/trust-kit.ts';
import { ask, type RawResponse } from '../../kit/test/http/raw-client.ts';
import { archiveWith, authorized, key, refusal, RegistryKit, toolArchive } from './registry-kit.ts';

/** As a browser sends what its user has typed. */
function typed(password: string, user = 'anyone'): string {
  return `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

async function look(kit: RegistryKit, line: string, header: string | null = typed(key)): Promise<RawResponse> {
  const response = await ask(kit.port, `${line} HTTP/1.1`, { headers: header === null ? [] : [header] });
  return { ...response, body: Buffer.from(response.body, 'latin1').toString('utf8') };
}

async function publishTool(kit: RegistryKit, name: string, version = '1.0.0'): Promise<void> {
  const archive = await toolArchive(name, version);
  const { status } = await kit.publish(`name=${name}&version=${encodeURIComponent(version)}&runtime=wasm`, archive);
  if (status !== 201) throw new Error(`${name}@${version} was answered ${status}`);
}

/** The texts of the links of a page, in their order. */
function linksIn({ body }: RawResponse): string[] {
  return [...body.matchAll(/<a [^>]*>([^<]*)<\/a>/g)].map(([, text = '']) => text);
}

describe('the pages of a registry', () => {
  it('list the artifacts, the versions of each with the newest first, and what is known of one', async () => {
    const kit = await RegistryKit.open();
    for (const version of ['1.0.0', '1.10.0+b1']) await publishTool(kit, 'echo', version);
    await publishTool(kit, 'grep');
    const archive = await toolArchive('echo', '1.0.0');
    const body = Buffer.from(await signedBy(acme, archive));
    await kit.ask(`POST /v1/signatures/${sha256Hex(archive)}`, { body });
    await kit.ask('PUT /v1/artifacts/echo/1.0.0/state', { body: '{"state":"yanked","reason":"loses data"}' });

    const list = await look(kit, 'GET /-/');
    expect([list.status, list.headers['content-type'], linksIn(list)]).toEqual([
      200,
      'text/html; charset=utf-8',
      ['svc-registry', 'echo', 'grep'],
    ]);
    const artifact = await look(kit, 'GET /-/echo');
    expect(linksIn(artifact)).toEqual(['svc-registry', '1.10.0+b1', '1.0.0']);
    expect(artifact.body).toContain('<a href="/-/echo/1.10.0%2Bb1">');
    expect(artifact.body).toMatch(/>1\.0\.0<\/a><\/td><td><bdi class="state">yanked<\/bdi><.*yes, not verified here/);
    const version = await look(kit, 'GET /-/echo/1.0.0');
    expect(version.status).toBe(200);
    for (const said of [
      '<dd>tool, packaged as wasm</dd>',
      '<dd><bdi>loses data</bdi></dd>',
      `<code>${sha256Hex(archive)}</code>`,
      `<td>${archive.length} bytes</td>`,
      '<td>1, not verified here</td>',
      '<code>svc info echo@1.0.0</code>',
    ]) {
      expect(version.body).toContain(said);
    }
    expect(version.body).toMatch(/<td>20\d\d-\d\d-\d\d \d\d:\d\d UTC<\/td><td><bdi>REGISTRY_API_KEY<\/bdi><\/td>/);
    expect((await look(kit, 'GET /-/echo/1.10.0%2Bb1')).status).toBe(200);
    expect(kit.bugs).toEqual([]);
  });

  it('let a browser run nothing, fetch nothing and be framed nowhere', async () => {
    const kit = await RegistryKit.open();
    for (const path of ['/-/', '/-/nothing']) {
      const { headers, body } = await look(kit, `GET ${path}`);
      const [, style = ''] = /<style>([^]*?)<\/style>/.exec(body) ?? [];
      const hash = createHash('sha256').update(style).digest('base64');
      expect(headers['content-security-policy']).toBe(
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
      );
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
    }
  });

  it('answer HEAD with the head alone, and no other method', async () => {
    const kit = await RegistryKit.open();
    await publishTool(kit, 'echo');
    for (const path of ['/-/', '/-/echo', '/-/echo/1.0.0', '/-/nothing']) {
      const [whole, head] = [await look(kit, `GET ${path}`), await look(kit, `HEAD ${path}`)];
      expect([head.status, head.body, head.headers['content-length']]).toEqual([
        whole.status,
        '',
        `${Buffer.byteLength(whole.body)}`,
      ]);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await look(kit, `${method} /-/echo`);
      expect([refusal(answer), answer.headers['allow']]).toEqual(['405 method_not_allowed', 'GET, HEAD']);
    }
  });

  it('show names and texts of others as text', async () => {
    const kit = await RegistryKit.open();
    const hostile = '</bdi></td><script>alert(1)</script><img src=x onerror=alert(2)>&lt;"\'\u202etxt.exe';
    const archive = await archiveWith({
      name: 'odd',
      version: '1.0.0',
      runtime: 'skill',
      description: JSON.stringify(hostile),
      tags: JSON.stringify(['<b>tag</b>']),
    });
    expect((await kit.publish('name=odd&version=1.0.0&runtime=static', archive)).status).toBe(201);
    const reason = Buffer.from(JSON.stringify({ state: 'deprecated', reason: '<script>reason</script>' }));
    expect((await kit.ask('PUT /v1/artifacts/odd/1.0.0/state', { body: reason })).status).toBe(200);
    for (const path of ['/-/', '/-/odd', '/-/odd/1.0.0', '/-/?q=%3Cscript%3E', '/-/?q=%22%3E%3Cb%3E']) {
      const { status, body } = await look(kit, `GET ${path}`);
      expect([path, status, /<(?:script|img|b)\b|onerror=[^a]|\u202e/.exec(body)?.[0]]).toEqual([path, 200, undefined]);
    }
    const { body } = await look(kit, 'GET /-/odd/1.0.0');
    expect(body).toContain(
      '<bdi>&lt;/bdi&gt;&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&amp;lt;&quot;&#39;\\u{202e}txt.exe</bdi>',
    );
    expect(body).toContain('&lt;b&gt;tag&lt;/b&gt;');
  });

  it('have 100 rows each, with links on and back, and find words', async () => {
    const kit = await RegistryKit.open();
    for (let n = 0; n < 201; n += 1) {
      await publishTool(kit, `tool-${String(n).padStart(3, '0')}`);
    }
    const page = async (query: string): Promise<string[]> => linksIn(await look(kit, `GET /-/${query}`)).slice(1);
    const [first, second, third] = [await page(''), await page('?page=2'), await page('?page=3')];
    expect([first.length, first[0], first.at(-1)]).toEqual([101, 'tool-000', 'more']);
    expect([second.length, second[0], ...second.slice(-2)]).toEqual([102, 'tool-100', 'earlier', 'more']);
    expect(third).toEqual(['tool-200', 'earlier']);
    expect(await page('?q=TOOL-00&page=1')).toHaveLength(10);
    expect(await page('?q=tool+199')).toEqual(['tool-199']);
    const parted = await look(kit, 'GET /-/?q=tool%20-1');
    expect(linksIn(parted)).toHaveLength(101);
    expect((await look(kit, 'GET /-/?q=tool')).body).toContain('<a href="/-/?q=tool&amp;page=2" rel="next">more</a>');
    expect((await look(kit, 'GET /-/?q=TOOL')).body).toContain('<a href="/-/?q=TOOL&amp;page=2" rel="next">more</a>');
    expect(linksIn(await look(kit, 'GET /-/?q=nothing-like-it'))).toEqual(['svc-registry']);
  }, 60_000);

  it('lead on with the words as they were typed: in lower case they could be longer than is looked for', async () => {
    const kit = await RegistryKit.open();
    const description = 'İ'.repeat(100);
    for (let n = 0; n < 101; n += 1) {
      const name = `skill-${n}`;
      const archive = await archiveWith({ name, version: '1.0.0', runtime: 'skill', description });
      await kit.publish(`name=${name}&version=1.0.0&runtime=static`, archive);
    }
    const first = await look(kit, `GET /-/?q=${encodeURIComponent(description)}`);
    const [, more = ''] = /<a href="([^"]*)" rel="next">/.exec(first.body) ?? [];
    const second = await look(kit, `GET ${more.replaceAll('&amp;', '&')}`);
    expect([second.status, linksIn(second).length]).toEqual([200, 3]);
    expect(first.body).toContain(`value="${description}"`);
  }, 60_000);

  it.each([
    ['/-/?page=0', 400],
    ['/-/?page=x', 400],
    ['/-/?page=1000000', 400],
    ['/-/?page=2', 404],
    ['/-/?page=1&page=1', 400],
    ['/-/?other=1', 400],
    [`/-/?q=${'x'.repeat(101)}`, 400],
    ['/-/?q=%ff', 400],
    ['/-/echo?page=2', 404],
    ['/-/echo/1.0.0?page=1', 400],
    ['/-/echo/', 404],
    ['/-/echo/1.0.0/', 404],
    ['/-/echo/1.0.0/state', 404],
    ['/-/echo/2.0.0', 404],
    ['/-/ECHO', 404],
    ['/-/..%2f..%2fetc', 404],
    ['/-/echo/%2e%2e', 404],
    ['/-/%ff', 404],
    ['/-//', 404],
    ['/-/v1/artifacts', 404],
  ])('answer %s with %s, as a page', async (path, status) => {
    const kit = await RegistryKit.open();
    await publishTool(kit, 'echo');
    const answer = await look(kit, `GET ${path}`);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8']);
    expect(kit.bugs).toEqual([]);
  });

  it('lie below /-/ alone: every other path stays the same', async () => {
    const kit = await RegistryKit.open();
    await publishTool(kit, 'echo');
    for (const path of ['/-', '/', '/-x', '//-/', '/v1/artifacts/-/', '/v1/artifacts/-']) {
      expect((await kit.ask(`GET ${path}`)).status, path).toBe(404);
    }
  });
});

describe('the key of a browser', () => {
  it('works as its password, under any name; a bearer works too', async () => {
    const kit = await RegistryKit.open();
    for (const header of [
      typed(key),
      typed(key, ''),
      typed(key, 'ädmin'),
      authorized,
      typed(key).replace('Basic', 'basic'),
    ]) {
      expect((await look(kit, 'GET /-/', header)).status, header).toBe(200);
    }
    const colons = await RegistryKit.open({ key: new Secret('clé:with:colons') });
    expect((await look(colons, 'GET /-/', typed('clé:with:colons'))).status).toBe(200);
  });

  it.each([
    ['none', null],
    ['a wrong one', typed('wrong')],
    ['an empty one', typed('')],
    ['one without a name', `Authorization: Basic ${Buffer.from(key).toString('base64')}`],
    ['one that is a name', typed('x', key)],
    ['what is not base64', 'Authorization: Basic :::'],
    ['nothing behind the word', 'Authorization: Basic'],
    ['another scheme', `Authorization: Digest ${key}`],
  ])('opens %s', async (_, header) => {
    const kit = await RegistryKit.open();
    for (const path of ['/-/', '/-/echo', '/-/nothing/at/all']) {
      const answer = await look(kit, `GET ${path}`, header);
      expect([refusal(answer), answer.headers['www-authenticate']]).toEqual([
        '401 unauthorized',
        'Basic realm="svc-registry", charset="UTF-8"',
      ]);
      expect(answer.body).toContain('The key is wanted as the password, under any name.');
    }
  });

  it('opens no other path as a password: a page of another origin could have a browser send it', async () => {
    const kit = await RegistryKit.open();
    for (const path of ['/v1/artifacts', '/v1/artifacts/-/', '/healthz', '/', '/-']) {
      const answer = await look(kit, `GET ${path}`, typed(key));
      expect([refusal(answer), answer.headers['www-authenticate']], path).toEqual(['401 unauthorized', 'Bearer']);
    }
  });

  it('shows what it may read; of the rest, what is not there', async () => {
    const keysFile = join(temporaryDirectory(), 'keys.json');
    const sha256 = createHash('sha256').update('acme-key').digest('hex');
    writeFileSync(keysFile, JSON.stringify({ keys: [{ id: 'acme', sha256, read: ['acme-*'] }] }));
    const kit = await RegistryKit.open({ keysFile });
    for (const name of ['acme-echo', 'hidden']) await publishTool(kit, name);
    const as = async (line: string): Promise<RawResponse> => await look(kit, line, typed('acme-key'));
    expect(linksIn(await as('GET /-/'))).toEqual(['svc-registry', 'acme-echo']);
    expect((await as('GET /-/acme-echo/1.0.0')).status).toBe(200);
    const pages = await Promise.all(
      ['hidden', 'nothing'].map(async (name) => [await as(`GET /-/${name}`), await as(`GET /-/${name}/1.0.0`)]),
    );
    const [hidden, nothing] = pages.map((answers) => answers.map(({ status, body }) => [status, body]));
    expect(hidden).toEqual(nothing);
    expect(hidden?.[0]?.[0]).toBe(404);
    expect(linksIn(await as('GET /-/?q=hidden'))).toEqual(['svc-registry']);
  });

  it('can be missing where everybody may read', async () => {
    const kit = await RegistryKit.open({ anonymousRead: true });
    await publishTool(kit, 'echo');
    expect(linksIn(await look(kit, 'GET /-/', null))).toEqual(['svc-registry', 'echo']);
    expect((await look(kit, 'GET /-/', typed('wrong'))).status).toBe(401);
  });
});
