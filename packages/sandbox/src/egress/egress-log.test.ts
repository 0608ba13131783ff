import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EgressLog, type EgressDecision } from './egress-rules.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder = '';

eachFolder('svc-egress-log-', (made) => {
  folder = made;
});

function refused(destination: string): EgressDecision {
  return { destination, verdict: 'refused', reason: 'network allow does not name it' };
}

function allowed(destination: string): EgressDecision {
  return { destination, verdict: 'allowed', reason: null };
}

function written(decisions: readonly EgressDecision[]): unknown[] {
  const file = join(folder, 'egress.jsonl');
  const log = new EgressLog(file);
  for (const decision of decisions) log.write(decision);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as unknown);
}

describe('the log of a proxy', () => {
  it('has each decision', () => {
    const decisions = [refused('a.example'), allowed('b.example'), refused('a.example')];
    expect(written(decisions)).toEqual(decisions);
  });

  it('keeps room in a flood: a destination it does not know still gets its line', () => {
    const flood = Array.from({ length: 10_050 }, () => refused('flood.example'));
    const lines = written([...flood, allowed('b.example'), allowed('b.example'), refused('b.example')]);
    expect(lines).toHaveLength(10_003);
    expect(lines.slice(10_000)).toEqual([
      { only_new_destinations_from_here: true },
      allowed('b.example'),
      refused('b.example'),
    ]);
  });

  it('says at its end that it is not whole', () => {
    const lines = written(Array.from({ length: 20_100 }, (_, index) => refused(`${index}.example`)));
    expect(lines).toHaveLength(20_002);
    expect(lines.slice(-2)).toEqual([refused('19999.example'), { truncated: true }]);
  });
});
