import { describe, expect, it } from 'vitest';

import { agentCard, decodeAgentCard, type AgentCardFacts } from './agent-card.ts';

const facts: AgentCardFacts = {
  name: 'greeter',
  version: '1.2.3',
  url: 'localhost:4100',
  sessionId: 'ses_00000000000000000000000000000001',
  tools: ['svc-tool-editor'],
  shellAllow: [],
  networkAllow: [],
  taskAcceptance: 'queue',
  exports: { files: false, peer_files: false },
};

const alwaysServed = ['stream/watch', 'tasks/get', 'tasks/cancel', 'session/stop'];

describe('an agent card', () => {
  it('has every key, in order', () => {
    expect(JSON.stringify(agentCard(facts))).toBe(
      '{"name":"greeter","version":"1.2.3","url":"localhost:4100","session_id":"ses_00000000000000000000000000000001",' +
        '"capabilities":{"tools":["svc-tool-editor"],"shell":false,"network":false,"streaming":true},' +
        '"serves":{"methods":["message/send","message/stream","stream/watch","tasks/get","tasks/cancel","session/stop"],' +
        '"planes":[]}}',
    );
  });

  it.each(['single', 'queue'] as const)('lists every method in order when tasks are accepted: %s', (taskAcceptance) => {
    expect(agentCard({ ...facts, taskAcceptance }).serves.methods).toEqual([
      'message/send',
      'message/stream',
      ...alwaysServed,
    ]);
  });

  it('lists neither message method when no task is accepted, and then does not stream', () => {
    const card = agentCard({ ...facts, taskAcceptance: 'none' });
    expect(card.serves.methods).toEqual(alwaysServed);
    expect(card.capabilities.streaming).toBe(false);
    expect(agentCard(facts).capabilities.streaming).toBe(true);
  });

  it('says whether a command and whether a destination is allowed', () => {
    expect(agentCard({ ...facts, shellAllow: ['ls'] }).capabilities).toMatchObject({ shell: true, network: false });
    expect(agentCard({ ...facts, networkAllow: ['a.org'] }).capabilities).toMatchObject({
      shell: false,
      network: true,
    });
  });

  it('lists the declared planes, files first, and never itself', () => {
    const served = (peer_files: boolean, files: boolean): readonly string[] =>
      agentCard({ ...facts, exports: { peer_files, files } }).serves.planes;
    expect(served(false, false)).toEqual([]);
    expect(served(false, true)).toEqual(['files']);
    expect(served(true, false)).toEqual(['peer_files']);
    expect(served(true, true)).toEqual(['files', 'peer_files']);
  });
});

describe('a client', () => {
  it('reads serves on a card that has it, methods it does not know among them', () => {
    const card = {
      ...agentCard(facts),
      later: true,
      serves: { methods: ['tasks/get', 'tasks/later'], planes: ['files'] },
    };
    expect(decodeAgentCard(card)).toEqual({
      name: 'greeter',
      version: '1.2.3',
      url: 'localhost:4100',
      sessionId: 'ses_00000000000000000000000000000001',
      serves: { methods: ['tasks/get', 'tasks/later'], planes: ['files'] },
    });
  });

  it('takes a card without serves for one of v0.3.0 or earlier', () => {
    expect(decodeAgentCard({ name: 'old', version: '0.3.0', url: 'localhost:1' })).toEqual({
      name: 'old',
      version: '0.3.0',
      url: 'localhost:1',
      sessionId: null,
      serves: null,
    });
  });

  it.each([
    { serves: null },
    { serves: 1 },
    { serves: { methods: 1 } },
    { serves: [], version: 2 },
    { session_id: 7, version: null },
  ])('takes what is of another form for absent where there is a name and a url: %j', (odd) => {
    expect(decodeAgentCard({ name: 'a', url: 'a:1', ...odd })).toEqual({
      name: 'a',
      version: '',
      url: 'a:1',
      sessionId: null,
      serves: null,
    });
  });

  it('takes a list of hundreds of thousands for absent', () => {
    const methods = Array.from({ length: 300_000 }, () => 0);
    expect(decodeAgentCard({ name: 'a', url: 'a:1', serves: { methods } })?.serves).toBeNull();
  });

  it.each([
    null,
    [],
    'card',
    {},
    { name: 'a' },
    { url: 'a:1' },
    { name: 1, url: 'a:1' },
    { name: '', url: 'a:1' },
    { name: 'a', url: '' },
  ])('takes nothing else for a card: %j', (card) => {
    expect(decodeAgentCard(card)).toBeUndefined();
  });
});
