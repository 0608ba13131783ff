import { generateKeyPairSync } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { canonicalJson, signCard, signedText } from './card-signature.ts';

describe('canonical JSON', () => {
  it('has keys in the order of their UTF-16 code units, and numbers and texts as ECMAScript has them', () => {
    // The example of RFC 8785, 3.2.3, and its numbers and texts.
    const sorted = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 };
    expect(canonicalJson(sorted)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}');
    expect(canonicalJson({ numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27], literals: [null, true, false] })).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
    );
    expect(canonicalJson('\u20ac$\u000f\nA\'B"\\"/')).toBe('"\u20ac$\\u000f\\nA\'B\\"\\\\\\"/"');
  });
});

describe('the signature of a card', () => {
  const card = {
    name: 'demo',
    version: '1.2.3',
    url: 'localhost:1',
    session_id: 'ses_1',
    capabilities: {
      tools: [],
      shell: false,
      streaming: true,
      pushNotifications: false,
      extensions: [{ uri: 'urn:a', description: 'A.', required: false }],
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    skills: [{ id: 'task', name: 'demo', description: 'D.', tags: ['agent'] }],
    signatures: [{ protected: 'x', signature: 'y' }],
  };

  it('covers the keys that the protocol has, and nothing that is empty', () => {
    expect(signedText(card)).toBe(
      '{"capabilities":{"extensions":[{"description":"A.","uri":"urn:a"}],"pushNotifications":false,"streaming":true},' +
        '"name":"demo","securitySchemes":{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},' +
        '"skills":[{"description":"D.","id":"task","name":"demo","tags":["agent"]}],"version":"1.2.3"}',
    );
  });

  it('has a head that names its algorithm', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const { protected: head, signature } = signCard(card, { privateKey, kid: 'k' });
    expect(Buffer.from(head, 'base64url').toString()).toBe('{"alg":"EdDSA","typ":"JOSE","kid":"k"}');
    expect(Buffer.from(signature, 'base64url')).toHaveLength(64);
  });
});
