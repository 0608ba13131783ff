import { describe, expect, it } from 'vitest';

import { decodeCommitted, encodeCommitted, S3Layout } from './s3-layout.ts';

const id = '0123456789abcdef0123456789abcdef';

describe('the names of objects in a bucket', () => {
  const layout = new S3Layout('team/a/');

  it('lie below the prefix: one record for a key, and any number of archives', () => {
    expect(layout.record('a@1.0+b@1')).toBe('team/a/records/a@1.0+b@1');
    expect(layout.archive('a@1.0+b@1', id)).toBe(`team/a/archives/a@1.0+b@1/${id}`);
    expect([layout.records, layout.archives]).toEqual(['team/a/records/', 'team/a/archives/']);
    expect(new S3Layout('').record('a@1@1')).toBe('records/a@1@1');
  });

  it('lead back to their keys, and others belong to nobody', () => {
    expect(layout.keyOfRecord('team/a/records/a@1@1')).toBe('a@1@1');
    expect(layout.parseArchive(`team/a/archives/a@1@1/${id}`)).toEqual({ key: 'a@1@1', id });
    for (const name of [
      'records/a@1@1',
      'team/a/records/',
      'team/a/records/A',
      'team/a/records/a/b',
      `team/a/archives/a/${id}`,
    ]) {
      expect(layout.keyOfRecord(name), name).toBe(null);
    }
    for (const name of [`archives/a/${id}`, 'team/a/archives/a', 'team/a/archives/a/x', `team/a/archives/a/${id}/x`]) {
      expect(layout.parseArchive(name), name).toBe(null);
    }
  });

  it('need a key that was checked', () => {
    expect(() => layout.record('../a')).toThrow('was not checked');
    expect(() => layout.archive('a/b', id)).toThrow('was not checked');
  });
});

describe('the object of a record', () => {
  const committed = { archive: id, bytes: 4, sha256: 'a'.repeat(64), record: '{"ä":1}\n' };

  it('reads as it was written', () => {
    expect(decodeCommitted(encodeCommitted(committed))).toEqual(committed);
  });

  it.each([
    '',
    'null',
    '{}',
    JSON.stringify({ ...committed, archive: '../x' }),
    JSON.stringify({ ...committed, bytes: -1 }),
    JSON.stringify({ ...committed, sha256: 'x' }),
    JSON.stringify({ ...committed, record: null }),
    encodeCommitted(committed).slice(0, -1),
  ])('cannot be anything else: %j', (text) => {
    expect(decodeCommitted(text)).toBe(null);
  });
});
