import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { mebibyte, sessionId } from '../../../record/test/journal/recorded-session.ts';
import { JournalKeeper } from './journal-keeper.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

/** What a journal begins with of a capsule whose manifest is so long that it has a file of its own. */
function launchIn(directory: string): PreparedLaunch {
  const manifest = { name: 'demo', version: '1.0.0', trace: { max_body: mebibyte, max_bytes: 64 * mebibyte } };
  return {
    loaded: { manifest, directory, systemPrompt: '', text: `# ${'x'.repeat(100_000)}` },
    source: { lockDirectory: directory },
    scope: { containment: { achieved: 'advisory' } },
    artifacts: [],
    redactor: new Redactor(),
    isCaptureAsked: true,
  } as unknown as PreparedLaunch;
}

function openFiles(directory: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(directory) ? [target] : [];
    } catch {
      // The one that the folder was read by is closed again.
      return [];
    }
  });
}

it('JournalKeeper closes everything of a journal whose first records cannot be written', () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-keeper-'));
  try {
    writeFileSync(join(directory, 'bodies'), 'in the way');
    const request = { launch: launchIn(directory), sessionId: sessionId(), capture: 'content', directory } as const;
    const rest = { tools: [], conversations: 'nowhere', onWarning: () => {} } as const;
    expect(diagnosticOf(() => void new JournalKeeper({ ...request, ...rest }))).toMatchObject({ code: 'E-IO-006' });
    expect(openFiles(directory)).toEqual([]);
    expect(readdirSync(directory)).not.toContain('journal.holder');
  } finally {
    rmSync(directory, { recursive: true });
  }
});
