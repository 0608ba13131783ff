import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { text, wired } from '../test/both-ways.ts';
import { agentCard, decodeAgentCard, servableMethods } from './agent-card.ts';

describe('what a client reads of a capsule', () => {
  it('has the shape of its card', () => {
    const facts = {
      name: fc.string({ minLength: 1 }),
      version: text,
      url: fc.string({ minLength: 1 }),
      sessionId: text,
      tools: fc.array(text),
      shellAllow: fc.array(text),
      networkAllow: fc.array(text),
      taskAcceptance: fc.constantFrom('none' as const, 'single' as const),
      exports: fc.record({ files: fc.boolean(), peer_files: fc.boolean() }),
    };
    fc.assert(
      fc.property(fc.record(facts), (told) => {
        const { serves } = agentCard(told);
        const { name, version, url, sessionId } = told;
        expect(decodeAgentCard(wired(agentCard(told)))).toEqual({ name, version, url, sessionId, serves });
        expect(servableMethods).toEqual(expect.arrayContaining([...serves.methods]));
      }),
    );
  });
});
