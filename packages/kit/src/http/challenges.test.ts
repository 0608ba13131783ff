import { describe, expect, it } from 'vitest';

import { bearerFields, challengesIn } from './challenges.ts';

const bearer = { scheme: 'bearer', fields: { realm: 'https://auth.example/token', service: 's' } };
const basic = { scheme: 'basic', fields: { realm: 'r' } };

describe('the challenges of a server', () => {
  it.each([
    ['Bearer realm="https://auth.example/token",service="s"', [bearer]],
    ['Basic realm="r", Bearer realm="https://auth.example/token",service="s"', [basic, bearer]],
    ['Bearer realm="https://auth.example/token", service="s", Basic realm="r"', [bearer, basic]],
    ['bEARER Realm=https://auth.example/token,SERVICE=s', [bearer]],
    ['Bearer realm = "https://auth.example/token" , service = "s"', [bearer]],
    ['BASIC realm="r"', [basic]],
    ['Negotiate, Basic realm="r"', [{ scheme: 'negotiate', fields: {} }, basic]],
    ['Bearer realm="a\\"b, Basic c"', [{ scheme: 'bearer', fields: { realm: 'a"b, Basic c' } }]],
    ['realm="r"', []],
    ['', []],
    [', ,', []],
  ])('%j are read one by one', (header, expected) => {
    const read = challengesIn(header).map(({ scheme, fields }) => ({ scheme, fields: Object.fromEntries(fields) }));
    expect(read).toEqual(expected);
  });

  it.each([
    'Bearer realm="',
    `Bearer ${'a'.repeat(100_000)}`,
    `${' ,'.repeat(50_000)}x`,
    `Bearer r="${'\\'.repeat(50_000)}`,
  ])('end where they are cut or endless, %#', (header) => {
    expect(challengesIn(header).length).toBeLessThan(3);
  });

  it.each([
    'Bearer resource_metadata="https://a.example/m"',
    'Basic realm="t", Bearer resource_metadata="https://a.example/m"',
    'Negotiate, Bearer  Resource_Metadata = "https://a.example/m"',
    'Bearer resource_metadata="https://a.example/m", Bearer resource_metadata="https://b.example/m"',
  ])('%j name the fields for a bearer token', (header) => {
    expect(bearerFields(header).get('resource_metadata')).toBe('https://a.example/m');
  });

  it('name no fields without Bearer', () => {
    expect(bearerFields('Basic realm="t", scope="all"').size).toBe(0);
  });
});
