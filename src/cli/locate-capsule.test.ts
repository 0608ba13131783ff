import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic, diagnosticOf } from '../diagnostics/diagnostic.ts';
import { locateCapsule } from './locate-capsule.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-home-'));
});

afterEach(() => {
  rmSync(home, { recursive: true });
});

describe('the address of a capsule', () => {
  it.each([
    ['localhost:1234', 'localhost:1234'],
    ['http://localhost:1234', 'localhost:1234'],
    ['http://[::1]:1234/', '[::1]:1234'],
    ['10.0.0.1:80/', '10.0.0.1:80'],
  ])('may be written %s', (wanted, address) => {
    expect(locateCapsule(home, wanted)).toEqual({ address, record: null, named: 'address' });
  });

  it.each(['localhost:0', 'localhost:65536', 'http://localhost:99999/'])(
    'has a port that exists, unlike %s',
    (wanted) => {
      const refused = diagnosticOf(() => locateCapsule(home, wanted));
      expect(refused).toBeInstanceOf(Diagnostic);
      expect(refused?.message).toBe(`${wanted} has a port outside 1 to 65535`);
    },
  );

  it.each(['https://localhost:1234', 'http://localhost', 'localhost:1234/x', '12345'])('is not %s', (wanted) => {
    expect(diagnosticOf(() => locateCapsule(home, wanted))?.message).toBe(`no running session is ${wanted}`);
  });
});
