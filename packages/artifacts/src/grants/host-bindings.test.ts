import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '../manifest/load.ts';
import { lower } from './effective-grants.ts';
import { envelopeOf, firstExcess } from './spawn-envelope.ts';

const key = '{ value: "${TOKEN}", for: [web] }';

function envelope(allow: string, credential = key): ReturnType<typeof envelopeOf> {
  const held = allow.includes('credential:') ? `  credentials: { service: ${credential} }\n` : '';
  const text = `name: demo
version: 1.0.0
artifacts: [{ name: web, version: 1.0.0 }]
inference: { model: m, driver: { artifact: svc-driver-script } }
capabilities:
  network: { allow: [${allow}] }
${held}`;
  return envelopeOf(lower(loadCapsuleManifest({ file: 'svc.yaml', text, env: {}, purpose: 'inspect' })).grants);
}

const host = 'host: "https://api.test"';
const ruled = `{ ${host}, rules: ["GET /a/**", "POST /a"] }`;
const keyed = `{ ${host}, credential: service }`;

describe('the hosts of a child that are granted with more than their names', () => {
  it.each<readonly [string, string, string]>([
    ['rules', ruled, ruled],
    ['some of the rules', ruled, `{ ${host}, rules: ["POST /a"] }`],
    ['rules where the parent has none', '"https://api.test"', ruled],
    ['the credential', keyed, keyed],
    ['the credential under rules', keyed, `{ ${host}, credential: service, rules: ["GET /**"] }`],
    ['no such host', keyed, ''],
  ])('stay within those of its parent with %s', (_, parent, child) => {
    expect(firstExcess(envelope(parent), envelope(child))).toBeNull();
  });

  it.each<readonly [string, string, string, string]>([
    ['another rule', ruled, `{ ${host}, rules: ["GET /**"] }`, 'with the rule GET /**'],
    ['no rules', ruled, '"https://api.test"', 'without the rules'],
    ['a credential of its own', '"https://api.test"', keyed, 'with a credential that the parent does not have'],
    ['no credential', keyed, '"https://api.test"', 'without the credential'],
    ['foreign keys', keyed, `{ ${host}, credential: service, foreign: allow }`, 'with foreign: allow'],
  ])('go beyond them with %s', (_, parent, child, words) => {
    expect(firstExcess(envelope(parent), envelope(child))).toMatchObject({
      key: 'capabilities.network.allow',
      declared: 'https://api.test',
      message: expect.stringContaining(words),
    });
  });

  it('go beyond them with the credential in another header', () => {
    const other = envelope(keyed, '{ value: "${TOKEN}", for: [web], header: x-api-key }');
    expect(firstExcess(envelope(keyed), other)?.message).toContain('in another form');
  });
});
