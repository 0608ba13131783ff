import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../test/support/fake-driver.ts';
import { fakeSkill, fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { type A2aCapsule, type Json, useA2aCapsules, userMessage } from './a2a-capsule.ts';

const open = useA2aCapsules();

const skills = [
  fakeSkill('pdf', 'Use fill.py.', { permits: [{ tool: 'x' }] }),
  fakeSkill('tone', 'Be kind.', { permits: [{ tool: 'y' }] }),
  fakeSkill('own', 'For the model.', { callers: 'model' }),
];

async function own(capsule: A2aCapsule, method: string, header: string, more: object = {}): Promise<string> {
  const params = { message: { messageId: 'm', role: 'user', parts: [{ text: 'Fill.' }] } };
  const response = await fetch(capsule.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-task-skills': header, ...more },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return await response.text();
}

const wrong: readonly (readonly [given: string, problem: string])[] = [
  ['none', 'no skill none can be called by people; there are pdf, tone'],
  ['pdf, own', 'no skill own can be called by people; there are pdf, tone'],
  ['pdf,tone', 'no call is allowed by both pdf and tone'],
  ['<b>', 'must be names of skills'],
  ['pdf,', 'must be names of skills'],
  ['A'.repeat(5000), 'must be names of skills'],
  ['a,b,c,d,e,f,g,h,i', 'must name at most 8 skills'],
];

describe('x-svc-task-skills', () => {
  it('has the task begin with them, each once', async () => {
    const capsule = (await open({ turns: [says('Done.')], tools: skills })).run();
    expect(JSON.parse(await own(capsule, 'message/send', ' pdf , pdf'))).toHaveProperty('result');
    await capsule.fixture.frame(({ data }) => data['final'] === true);
    const [asked] = capsule.fixture.driver.requests;
    expect(asked?.messages[0]?.content).toEqual([{ type: 'text', text: 'Fill.\n\nUse fill.py.' }]);
  });

  it('refuses what no task can begin with, and starts nothing', async () => {
    const capsule = (await open({ turns: [], tools: skills })).run();
    for (const [given, problem] of wrong) {
      const answer = JSON.parse(await own(capsule, 'message/send', given)) as Json;
      expect(answer['error']).toMatchObject({ code: -32602, message: expect.stringContaining(problem) });
      expect(await own(capsule, 'message/stream', given)).toContain(problem);
    }
    expect(capsule.fixture.traced).toEqual([]);
  });

  it('never has the task of another capsule begin with a skill that is for people alone', async () => {
    const forPeople = fakeSkill('mine', 'As I say.', { callers: 'people' });
    const capsule = (await open({ turns: [says('Done.'), says('Done.')], tools: [...skills, forPeople] })).run();
    const peer = { 'x-svc-task-origin': 'peer', 'x-svc-task-trust': 'trusted' };
    for (const method of ['message/send', 'message/stream']) {
      expect(await own(capsule, method, 'pdf, mine', peer)).toContain(
        'no skill mine can be called by other capsules; there are pdf, tone',
      );
    }
    expect(capsule.fixture.traced).toEqual([]);
    for (const more of [peer, {}]) {
      const named = more === peer ? 'pdf' : 'mine';
      expect(JSON.parse(await own(capsule, 'message/send', named, more))).toHaveProperty('result');
      await expect.poll(() => capsule.fixture.traced).toContainEqual(expect.objectContaining({ skill_name: named }));
    }
  });

  it('makes a task of its own of a message that would answer a question, and another of the same key', async () => {
    const ask = fakeTool('ask', async (_args, { requestInput }) => {
      const answer = await requestInput('Which?');
      return passed(answer.kind);
    });
    const capsule = (await open({ turns: [calls(['ask', {}])], tools: [...skills, ask] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('Choose.'));
    const sent = JSON.parse(await own(capsule, 'message/send', 'pdf')) as Json;
    expect(sent['result'].id).not.toBe(task.id);
    expect(sent['result'].status.state).toBe('submitted');
    const { board } = capsule.fixture.session;
    const keyed = { text: 'Fill.', sender: { principal: 'local', tags: { idempotencyKey: 'k' } } };
    board.submit({ ...keyed, origin: 'message', trust: 'untrusted', skills: ['pdf'] });
    expect(board.sentBefore(keyed)).toBe('other');
    expect(board.sentBefore({ ...keyed, skills: ['pdf'] })).toMatchObject({ skills: ['pdf'] });
  });
});

describe('urn:svc:skills:1 of A2A', () => {
  const naming = (given: unknown, more: Json = {}): Json =>
    userMessage('Fill.', { metadata: { 'urn:svc:skills:1': given }, ...more });

  it('has the task begin with them', async () => {
    const capsule = (await open({ turns: [says('Done.')], tools: skills })).run();
    await capsule.result('SendMessage', naming(['pdf']));
    const [asked] = capsule.fixture.driver.requests;
    expect(asked?.messages[0]?.content).toEqual([{ type: 'text', text: 'Fill.\n\nUse fill.py.' }]);
    expect(capsule.fixture.traced).toContainEqual(expect.objectContaining({ skill_name: 'pdf', turn: 0, by: 'local' }));
  });

  it('refuses what no task can begin with, and skills in an answer', async () => {
    const capsule = (await open({ turns: [], tools: skills })).run();
    for (const given of ['pdf', 7, [7], [''], ['none'], ['pdf', 'tone'], Array.from({ length: 9 }, (_, n) => `s${n}`)])
      expect([given, await capsule.code('SendMessage', naming(given))]).toEqual([given, -32602]);
    expect(await capsule.code('SendMessage', naming(['pdf'], { taskId: 'tsk_1' }))).toBe(-32602);
    expect(capsule.fixture.traced).toEqual([]);
  });

  it('stands on the card of a capsule that has a skill', async () => {
    const facts = { skills: [{ name: 'pdf', description: 'Fills.' }] };
    const { url } = await open({ facts });
    const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as Json;
    expect(card['capabilities'].extensions.at(-1)).toEqual({
      uri: 'urn:svc:skills:1',
      description: expect.any(String),
      required: false,
    });
  });
});
