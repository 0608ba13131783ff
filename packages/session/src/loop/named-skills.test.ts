import { describe, expect, it } from 'vitest';

import { calls, says, type Turn } from '../../../../test/support/fake-driver.ts';
import { fakeSkill, fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import type { InferenceRequest } from '../model/driver.ts';
import { neverReached, type Tool } from '../tools/tool.ts';
import type { TaskSource } from '../task/task.ts';

const sent = {
  text: 'Fill in the form.',
  origin: 'message',
  trust: 'untrusted',
  sender: { principal: 'operator', tags: {} },
} as const satisfies TaskSource;

interface Ran {
  readonly fixture: SessionFixture;
  /** What the model was asked, turn by turn. */
  readonly asked: readonly InferenceRequest[];
}

async function run(source: TaskSource, tools: readonly Tool[], turns: readonly Turn[] = [says('Done.')]): Promise<Ran> {
  const fixture = new SessionFixture({ turns, tools });
  fixture.session.board.submit(source);
  await fixture.session.run();
  return { fixture, asked: fixture.driver.requests };
}

const first = ({ asked }: Ran): unknown => asked[0]?.messages;
const said = (text: string): unknown => [{ role: 'user', content: [{ type: 'text', text }] }];

describe('a task that names skills', () => {
  const tools = [fakeSkill('pdf', 'Use fill.py.'), fakeSkill('tone', 'Be kind.'), fakeTool('work')];

  it('begins with what the person wrote and the texts behind it, and has a line of turn 0 for each', async () => {
    const ran = await run({ ...sent, skills: ['tone', 'pdf'] }, tools);
    expect(first(ran)).toEqual(said('Fill in the form.\n\nBe kind.\n\nUse fill.py.'));
    const { traced, lines } = ran.fixture;
    expect(traced.map(({ event_type: type }) => type)).toEqual([
      'task_received',
      'task_start',
      'skill_call',
      'skill_call',
      'inference',
      'task_end',
    ]);
    const call = { tool_call_id: null, turn: 0, arguments: {}, is_error: false, by: 'operator' };
    expect(traced.filter(({ event_type: type }) => type === 'skill_call')).toEqual([
      expect.objectContaining({ skill_name: 'tone', content_bytes: 8, ...call }),
      expect.objectContaining({ skill_name: 'pdf', content_bytes: 12, ...call }),
    ]);
    // Nothing was dispatched.
    expect(lines).toEqual([
      '0 status working "inference turn 1"',
      '1 text "Done." true',
      '2 status completed "session ended"',
    ]);
  });

  it('says nothing of who asked for it in a task of the session itself', async () => {
    const { fixture } = await run({ ...sent, sender: null, skills: ['pdf'] }, tools);
    expect(fixture.traced.find(({ event_type: type }) => type === 'skill_call')).not.toHaveProperty('by');
  });

  it('has the text alone where the person wrote nothing', async () => {
    expect(first(await run({ ...sent, text: '', skills: ['pdf'] }, tools))).toEqual(said('Use fill.py.'));
  });

  it('makes no call outside of the lists of its skills from its first turn on, as the next task may', async () => {
    const narrow = fakeSkill('pdf', 'Use work.', { permits: [{ tool: 'work' }] });
    const fixture = new SessionFixture({
      turns: [calls(['other', {}], ['work', {}]), says('One.'), calls(['other', {}]), says('Two.')],
      tools: [narrow, fakeTool('work'), fakeTool('other')],
    });
    fixture.session.board.submit({ ...sent, skills: ['pdf'] });
    fixture.session.board.submit(sent);
    await fixture.session.run();
    const results = fixture.driver.requests.flatMap(({ messages }) => messages.slice(1));
    expect(results.filter(({ role }) => role === 'tool').map(({ content }) => content[0])).toEqual([
      { type: 'text', text: 'not allowed while the skill pdf is in use: it allows work' },
      { type: 'text', text: expect.stringContaining('ok') },
      { type: 'text', text: expect.stringContaining('ok') },
    ]);
  });

  it('gives a skill that no model is offered', async () => {
    const forPeople = fakeSkill('pdf', 'Use fill.py.', { callers: 'people' });
    const ran = await run({ ...sent, skills: ['pdf'] }, [forPeople], [calls(['pdf', {}]), says('Done.')]);
    expect(first(ran)).toEqual(said('Fill in the form.\n\nUse fill.py.'));
    expect(ran.asked[0]?.tools).toEqual([]);
    expect(JSON.stringify(ran.asked[1]?.messages.at(-1))).toContain('there is no tool named');
  });

  it('puts what the person wrote in the place of $ARGUMENTS, once and as it is', async () => {
    const fixes = fakeSkill('fix', 'Fix $ARGUMENTS. $ARGUMENTS[0] and $ARGUMENTS_ stay.');
    const ran = await run({ ...sent, text: '$& $ARGUMENTS', skills: ['fix'] }, [fixes]);
    expect(first(ran)).toEqual(said('$& $ARGUMENTS\n\nFix $& $ARGUMENTS. $ARGUMENTS[0] and $ARGUMENTS_ stay.'));
  });

  it('keeps the words of a peer in their fence there too', async () => {
    const ran = await run({ ...sent, origin: 'peer', skills: ['fix'] }, [fakeSkill('fix', 'Fix: $ARGUMENTS')]);
    const [, text] = JSON.stringify(first(ran)).split('Fix: ');
    expect(text).toMatch(/^<untrusted-content.*Fill in the form\..*<\/untrusted-content>/);
  });

  it('fails where $ARGUMENTS would make a text without bounds', async () => {
    const many = fakeSkill('many', '$ARGUMENTS '.repeat(90_000));
    const { fixture, asked } = await run({ ...sent, text: 'x'.repeat(100_000), skills: ['many'] }, [many]);
    expect(asked).toEqual([]);
    expect(fixture.results[0]).toBe(
      'error: the skill many could not be given: with its $ARGUMENTS it would have more than 4194304 characters',
    );
  });

  it('fails before its first turn where a text cannot be read any more', async () => {
    const gone = { ...fakeSkill('pdf', ''), call: async () => neverReached('skills/pdf has changed') };
    const { fixture, asked } = await run({ ...sent, skills: ['pdf'] }, [gone]);
    expect(asked).toEqual([]);
    expect(fixture.traced.find(({ event_type: type }) => type === 'skill_call')).toMatchObject({ is_error: true });
    expect(fixture.results[0]).toBe('error: the skill pdf could not be given: skills/pdf has changed');
  });

  it('gets the texts once, however often its hooks reopen it', async () => {
    let times = 0;
    const counted: Tool = { ...fakeSkill('pdf', ''), call: async () => passed(`Read ${(times += 1)} times.`) };
    const fixture = new SessionFixture({
      turns: [says('One.'), says('Two.')],
      tools: [counted],
      hooks: {
        mayReopen: true,
        taskEnded: async ({ attempt }) =>
          attempt === 1 ? { kind: 'reopen', feedback: 'Again.' } : { kind: 'accepted' },
      },
    });
    fixture.session.board.submit({ ...sent, skills: ['pdf'] });
    await fixture.session.run();
    expect(times).toBe(1);
    expect(fixture.driver.requests[1]?.messages.map(({ content }) => content[0])).toEqual([
      { type: 'text', text: 'Fill in the form.\n\nRead 1 times.' },
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Again.' },
    ]);
  });
});

describe('the skills that a task can begin with', () => {
  const narrow = (name: string, tool: string): Tool => fakeSkill(name, '', { permits: [{ tool }] });
  const tools = [narrow('a', 'x'), narrow('b', 'y'), fakeSkill('own', '', { callers: 'model' }), fakeTool('x')];
  const { session } = new SessionFixture({ turns: [], tools });

  it('leave out what people may not call', () => {
    expect(session.skills.names).toEqual(['a', 'b']);
    expect(session.skills.problem(['a'])).toBeNull();
    for (const name of ['own', 'x', 'none'])
      expect(session.skills.problem(['a', name])).toBe(`no skill ${name} can be called by people; there are a, b`);
  });

  it('have to leave a call that all allow', () => {
    expect(session.skills.problem(['a', 'b'])).toBe('no call is allowed by both a and b');
  });
});
