import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { claudeDialect } from '../../src/model/programs/claude.ts';
import type { CliDecoder, CliEvent } from '../../src/model/programs/cli-dialect.ts';
import { codexDialect } from '../../src/model/programs/codex.ts';

/** What claude 2.1.197 and codex 0.169.0 wrote themselves, in front of servers that play their providers. */
function played(decoder: CliDecoder, transcript: string): readonly CliEvent[] {
  const text = readFileSync(
    new URL(`../../../../test/fixtures/program-transcripts/${transcript}.jsonl`, import.meta.url),
    'utf8',
  );
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => decoder.decode(JSON.parse(line)));
}

const claude = (transcript: string): readonly CliEvent[] => played(claudeDialect.decoder(), transcript);

describe('a transcript of claude', () => {
  it('gives its pieces in order and the result, without duplicates', () => {
    expect(claude('claude-tool-call')).toEqual([
      { kind: 'thinking', text: 'I should count.' },
      { kind: 'text', text: 'Let me ' },
      { kind: 'text', text: 'count.' },
      { kind: 'text', text: '\n\nThere are 42.' },
      {
        kind: 'response',
        response: {
          content: [{ type: 'text', text: 'There are 42.' }],
          stopReason: 'end_turn',
          usage: { inputTokens: 26, outputTokens: 27, cacheReadTokens: 6, cacheWriteTokens: 0 },
          continuationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        },
      },
    ]);
  });

  it('says that the turns are used up, and what they cost', () => {
    expect(claude('claude-max-turns').at(-1)).toMatchObject({
      response: {
        content: [],
        stopReason: 'error',
        error: 'claude used up inference.max_turns: Reached maximum number of turns (1)',
        usage: { inputTokens: 13, outputTokens: 20 },
      },
    });
  });

  it('shows nothing of a message that the program made up', () => {
    expect(claude('claude-not-signed-in')).toMatchObject([
      { kind: 'response', response: { error: 'claude failed: Not logged in · Please run /login' } },
    ]);
  });

  it('reports an unknown conversation', () => {
    const error = 'claude failed: No conversation found with session ID: 00000000-0000-4000-8000-000000000000';
    expect(claude('claude-unknown-session')).toMatchObject([{ kind: 'response', response: { error } }]);
  });

  it('fails with its first line when the tools were not reached', () => {
    expect(claude('claude-no-tools')[0]).toEqual({
      kind: 'failed',
      error: 'claude did not reach the tools of the capsule (failed)',
    });
  });
});

describe('a transcript of codex', () => {
  it('gives its thinking, its messages and the last of them', () => {
    expect(played(codexDialect.decoder(), 'codex-tool-call')).toEqual([
      { kind: 'thinking', text: 'I should count.' },
      { kind: 'text', text: 'Let me count.' },
      { kind: 'text', text: '\n\nThere are 42.' },
      {
        kind: 'response',
        response: {
          content: [{ type: 'text', text: 'There are 42.' }],
          stopReason: 'end_turn',
          usage: { inputTokens: 22, outputTokens: 10, cacheReadTokens: 4 },
          continuationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        },
      },
    ]);
  });

  it('ends with its failure, not with one of the attempts before', () => {
    const decoder = codexDialect.decoder();
    const refusal = 'unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:8080/v1/responses';
    expect(played(decoder, 'codex-refused')).toMatchObject([
      { kind: 'response', response: { content: [], stopReason: 'error', error: `codex failed: ${refusal}` } },
    ]);
    expect(decoder.lastError()).toBe(refusal);
  });
});
