import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';

const script = fileURLToPath(new URL('../../examples/delegation/run.mjs', import.meta.url));

describe('examples/delegation', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-delegation-'));
  let stdout = '';

  beforeAll(async () => {
    const env = { PATH: process.env['PATH'] ?? '' };
    ({ stdout } = await promisify(execFile)(process.execPath, [script, folder], { env, timeout: 120_000 }));
  }, 150_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('shows both children being started and what they came to', () => {
    expect(stdout).toMatch(/^svc-referee \S+ listens on 127\.0\.0\.1:\d+/m);
    expect(stdout.match(/"status":"started"/g)).toHaveLength(2);
    expect(stdout).not.toContain('untrusted-content');
    expect(stdout).toMatch(/report\.txt:\nTHE QUICK BROWN FOX!\nThe line has 4 words\.\n/);
  });

  it('leaves a completion of each child, reported by itself and delivered', () => {
    const [session = ''] = readdirSync(join(folder, 'workdir'));
    const children = join(folder, 'workdir', session, '.svc', 'children');
    const records = readdirSync(children).map(
      (child) => JSON.parse(readFileSync(join(children, child, 'completion.json'), 'utf8')) as Record<string, unknown>,
    );
    expect(records.map(({ capsule_name: name }) => String(name)).sort()).toEqual(['shouter', 'word-counter']);
    for (const record of records) expect(record).toMatchObject({ status: 'ok', reported_by: 'child', delivered: true });
  });

  it('records both delegations from their start to their end', () => {
    const [session = ''] = readdirSync(join(folder, '.svc', 'sessions'));
    const lines = readTrace(join(folder, '.svc', 'sessions', session, 'trace.jsonl'));
    const delegations = lines.filter((line) => line['event_type'] === 'delegation');
    expect(delegations.map(({ capsule, status }) => `${String(capsule)} ${String(status)}`).sort()).toEqual([
      'shouter ok',
      'shouter started',
      'word-counter ok',
      'word-counter started',
    ]);
  });
});
