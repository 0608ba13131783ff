import { describe, expect, it } from 'vitest';

import { endpointFault } from './endpoint.ts';

describe('an endpoint', () => {
  it.each([
    'https://provider.example',
    'https://provider.example:8443/base/path',
    'http://localhost:11434',
    'http://127.0.0.1:8080',
    'http://127.9.9.9',
    'http://[::1]:8080',
  ])('may be %s', (endpoint) => {
    expect(endpointFault(endpoint)).toBeUndefined();
  });

  it.each([
    ['http://provider.example', 'must be https, or http to a loopback address'],
    ['http://127.0.0.1.example.com', 'must be https, or http to a loopback address'],
    ['http://localhost.example.com', 'must be https, or http to a loopback address'],
    ['http://10.0.0.1', 'must be https, or http to a loopback address'],
    ['https://user:password@provider.example', 'must not hold a user or password'],
    ['http://localhost@provider.example', 'must not hold a user or password'],
    ['https://provider.example?key=1', 'must not have a query or fragment'],
    ['https://provider.example#x', 'must not have a query or fragment'],
    ['ftp://provider.example', 'must be an http or https address'],
    ['provider.example', 'must be an http or https address'],
    ['https://', 'must be an http or https address'],
    ['https:///x', 'must be an http or https address'],
    ['https://provider.example\\@evil.example', 'must be an http or https address'],
    ['https://provider\t.example', 'must be an http or https address'],
    ['', 'must be an http or https address'],
  ])('may not be %s: %s', (endpoint, fault) => {
    expect(endpointFault(endpoint)).toBe(fault);
  });
});
