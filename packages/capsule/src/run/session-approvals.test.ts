import { describe, expect, it } from 'vitest';

import { whyUnattended } from './session-approvals.ts';

const nobody = { askedAt: null, isNotified: false, line: null };
const token = { knowsAnswerer: async () => true };
const none = { knowsAnswerer: async () => false };
const rest = { request: { approval: null }, launch: { notifyCommand: null, loaded: { manifest: {} } } };

describe('a question', () => {
  it.each([
    [['terminal'], { ...nobody, askedAt: 'terminal' }, none],
    [['acp'], { ...nobody, askedAt: 'acp' }, none],
    [['door'], { ...nobody, askedAt: 'door' }, none],
    [['door'], { ...nobody, askedAt: 'terminal' }, token],
    [['mcp'], nobody, token],
    [['terminal', 'acp'], { ...nobody, isNotified: true }, none],
  ] as const)('waits where somebody may answer by a way of %j', async (answer, around, known) => {
    expect(await whyUnattended([...answer], { ...rest, ...known }, around)).toBe(null);
  });

  it.each([
    [['terminal'], nobody, token],
    [['terminal'], { ...nobody, askedAt: 'acp' }, token],
    [['acp'], { ...nobody, askedAt: 'terminal' }, token],
    [['door'], { ...nobody, askedAt: 'terminal' }, none],
    [['acp'], { ...nobody, isNotified: true }, token],
    [['door', 'mcp'], { ...nobody, isNotified: true }, none],
  ] as const)('ends at once where nobody may answer by a way of %j', async (answer, around, known) => {
    expect(await whyUnattended([...answer], { ...rest, ...known }, around)).toBe(
      `nobody can be asked: approvals.answer names ${answer.join(', ')}, and nobody is there who could answer so`,
    );
  });
});
