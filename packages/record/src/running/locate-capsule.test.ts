import { describe, expect, it } from 'vitest';

import { liveRecord } from '../../../../test/support/running-record.ts';
import { writeRunningRecord, type RunningRecord } from '../sessions/running-record.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { locateCapsule } from './approach-capsule.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let home: string;

eachFolder('svc-home-', (made) => {
  home = made;
});

function writeRecord(address: string): RunningRecord {
  const record = liveRecord({ address });
  writeRunningRecord(home, record);
  return record;
}

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

  it.each([
    ['127.0.0.1:4000', ['127.0.0.1:4000', 'localhost:4000', 'LOCALHOST:4000'], ['[::1]:4000', '127.0.0.1:4001']],
    ['[::1]:4000', ['[::1]:4000', 'localhost:4000'], ['127.0.0.1:4000']],
    ['0.0.0.0:4000', ['127.0.0.1:4000', 'localhost:4000'], ['[::1]:4000', '10.0.0.1:4000']],
    ['[::]:4000', ['127.0.0.1:4000', '[::1]:4000', 'localhost:4000'], ['10.0.0.1:4000']],
    ['10.0.0.1:4000', ['10.0.0.1:4000'], ['localhost:4000', '127.0.0.1:4000']],
  ])('bound to %s belongs to the session, and to no other of the same port', (bound, own, others) => {
    const record = writeRecord(bound);
    const address = bound.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]');
    expect(locateCapsule(home, undefined)).toEqual({ address, record, named: 'session' });
    for (const wanted of own) expect(locateCapsule(home, wanted)).toEqual({ address, record, named: 'address' });
    for (const wanted of others) {
      expect(locateCapsule(home, wanted)).toEqual({ address: wanted, record: null, named: 'address' });
    }
  });

  it.each(['https://localhost:1234', 'http://localhost', 'localhost:1234/x', '12345'])('excludes %s', (wanted) => {
    expect(diagnosticOf(() => locateCapsule(home, wanted))?.message).toBe(`no running session is ${wanted}`);
  });
});
