import { describe, expect, it } from 'vitest';

import { says } from '../../../test/support/fake-driver.ts';
import { useA2aCapsules, type A2aOptions, type Json, userMessage } from './a2a-capsule.ts';

const open = useA2aCapsules();

const cardUrl = '/.well-known/agent-card.json';

async function cardOf(options: A2aOptions = {}): Promise<Json> {
  const capsule = await open(options);
  return (await (await fetch(`${capsule.url}${cardUrl}`)).json()) as Json;
}

/** Every text and every list of a card. */
function* held(value: unknown): Generator<string | unknown[]> {
  if (typeof value === 'string') yield value;
  if (Array.isArray(value)) yield value as unknown[];
  if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) yield* held(each);
}

describe('the card of a capsule with the A2A door', () => {
  it('says all that A2A wants of a card', async () => {
    expect(await cardOf()).toEqual({
      name: 'demo',
      version: '1.2.3',
      url: 'localhost:1',
      session_id: 'ses_00000000000000000000000000000001',
      capabilities: {
        tools: [],
        shell: false,
        network: false,
        streaming: true,
        pushNotifications: false,
        extendedAgentCard: false,
        extensions: [
          { uri: 'urn:svc:a2a:calls:1', description: expect.any(String), required: false },
          { uri: 'urn:svc:a2a:input-timeout:1', description: expect.any(String), required: false },
          { uri: 'urn:svc:a2a:approvals:1', description: expect.any(String), required: false },
        ],
      },
      serves: expect.any(Object),
      description: 'Writes.',
      supportedInterfaces: [
        { url: 'http://localhost:1/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: 'http://localhost:1/a2a', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
      defaultInputModes: ['text/plain', 'application/json', 'application/octet-stream'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'task', name: 'demo', description: 'Writes.', tags: ['agent'] }],
    });
  });

  it('names the address that clients use', async () => {
    const { supportedInterfaces } = await cardOf({ facts: { publicUrl: 'https://agents.example.com/scribe' } });
    const urls = supportedInterfaces.map(({ url }: Json) => url as string);
    expect(urls).toEqual(['https://agents.example.com/scribe/a2a', 'https://agents.example.com/scribe/a2a']);
  });

  it.each([null, ''])('holds nothing empty that A2A reads, with the description %j', async (description) => {
    const { capabilities, serves: _, ...card } = await cardOf({ facts: { description } });
    expect(card['description']).toBe('A svc capsule.');
    const { pushNotifications, extendedAgentCard, extensions } = capabilities;
    const read = [...held([card, { pushNotifications, extendedAgentCard, extensions }])];
    expect(read.filter((each) => each.length === 0)).toEqual([]);
  });

  it('names what is taken of a message, and nothing that is not', async () => {
    const capsule = (await open({ turns: [says('1'), says('2'), says('3')] })).run();
    const card = (await (await fetch(`${capsule.url}${cardUrl}`)).json()) as Json;
    const parts: Json = {
      'text/plain': { text: 'x' },
      'application/json': { data: { x: 1 } },
      'application/octet-stream': { raw: 'eA==', filename: 'x.bin' },
    };
    expect(Object.keys(parts)).toEqual(card['defaultInputModes']);
    for (const [mediaType, part] of Object.entries(parts)) {
      const message = userMessage('', { parts: [{ ...(part as Json), mediaType }] });
      expect([mediaType, await capsule.code('SendMessage', message)]).toEqual([mediaType, undefined]);
    }
    const accepting = (modes: readonly string[]): Json => ({
      ...userMessage('x'),
      configuration: { acceptedOutputModes: modes, returnImmediately: true },
    });
    expect(await capsule.code('SendMessage', accepting(card['defaultOutputModes'] as string[]))).toBeUndefined();
    expect(await capsule.code('SendMessage', accepting(['image/png']))).toBe(-32005);
    const link = userMessage('', { parts: [{ url: 'https://example.com/x', mediaType: 'text/plain' }] });
    expect(await capsule.code('SendMessage', link)).toBe(-32005);
  });

  it('may be kept for a minute, and is not sent again to who has it', async () => {
    const capsule = await open();
    const first = await fetch(`${capsule.url}${cardUrl}`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(Date.parse(first.headers.get('last-modified') ?? '')).toBeLessThanOrEqual(Date.now());
    expect(first.headers.get('cache-control')).toBe('max-age=60');
    expect((await fetch(`${capsule.url}${cardUrl}`, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await fetch(`${capsule.url}${cardUrl}`, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it('shows a holder of the token what the capsule has been taught', async () => {
    const skills = [
      { name: 'house-style', description: 'How we write.' },
      { name: 'bare', description: '' },
    ];
    const capsule = await open({ token: 'open-sesame-4711', facts: { skills } });
    const publicOne = (await (await fetch(`${capsule.url}${cardUrl}`)).json()) as Json;
    expect(publicOne['skills']).toHaveLength(1);
    const extended = await capsule.result('GetExtendedAgentCard');
    expect(extended['skills'].slice(1)).toEqual([
      { id: 'house-style', name: 'house-style', description: 'How we write.', tags: ['skill'] },
      { id: 'bare', name: 'bare', description: 'bare', tags: ['skill'] },
    ]);
    expect({ ...extended, skills: publicOne['skills'] }).toEqual(publicOne);
  });
});
