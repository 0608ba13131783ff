import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, text, wired } from '../test/both-ways.ts';
import { decodeStopReport, encodeStopReport } from './stop-report.ts';

describe('the answer to a stop', () => {
  it('has the report of a stop', () => {
    const facts = { sessionId: text, canceled: fc.array(text), residue: fc.array(fc.jsonValue().map(wired)) };
    bothWays(fc.record(facts), (report) => decodeStopReport(wired(encodeStopReport(report))));
    expect(JSON.stringify(encodeStopReport({ sessionId: 's', canceled: ['t'], residue: [] }))).toBe(
      '{"session_id":"s","canceled":["t"],"residue":[]}',
    );
    for (const odd of [null, { session_id: 's', canceled: [1], residue: [] }, { session_id: 's', canceled: [] }]) {
      expect(decodeStopReport(odd)).toBeNull();
    }
    const many = Array.from({ length: 16_385 }, () => 't');
    expect(decodeStopReport({ session_id: 's', canceled: many, residue: [] })).toBeNull();
  });
});
