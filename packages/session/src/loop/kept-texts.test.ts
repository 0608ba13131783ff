import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../../test/support/fake-driver.ts';
import { fakeSkill, fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import type { FullContext } from '../hooks/session-hooks.ts';
import type { Message } from '../model/driver.ts';
import { contextProblem } from './compacted-context.ts';
import { type KeptText, withoutTexts } from './kept-texts.ts';

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const result = (toolCallId: string, text: string): Message => ({
  role: 'tool',
  toolCallId,
  isError: false,
  content: [{ type: 'text', text }],
});
const calling = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'tool_call', id, name: 'x', input: {} }],
});
const textsOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ content }) => content.flatMap((block) => (block.type === 'text' ? [block.text] : [])));
const kept = (...texts: readonly string[]): readonly KeptText[] =>
  texts.map((text, index) => ({ what: `text ${index + 1}`, text }));

/** Words of a text, in which empty lines, brackets and lines like those that stand for texts come often. */
const words = fc
  .array(
    fc.constantFrom(
      'a',
      'Use it.',
      '\n\n',
      '\n',
      '[text 1, kept word for word: 1.1]',
      'kept word for word: 1',
      '$&',
      '“é”',
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join(' '));

/** Each text is another one, and begins where no empty line is. */
const keptTexts = fc
  .uniqueArray(words, { minLength: 1, maxLength: 4 })
  .map((all) => all.map((text, index) => `<${index}> ${text} </${index}>`));

interface Case {
  readonly texts: readonly string[];
  readonly messages: readonly Message[];
}

/** A conversation in which each text stands: behind what a person wrote, or as the result of a call. */
const conversations: fc.Arbitrary<Case> = fc
  .tuple(keptTexts, words, fc.array(words, { maxLength: 6 }), fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }))
  .map(([texts, asked, said, behind]) => {
    const [named, called] = [texts.filter((_, n) => behind[n]), texts.filter((_, n) => behind[n] !== true)];
    const turns = [...called, ...said].flatMap((text, n) => [calling(`c${n}`), result(`c${n}`, text)]);
    return { texts, messages: [user([asked, ...named].join('\n\n')), ...turns] };
  });

/** What a hook may make of it: turns left out, a summary in front or in the place of all. */
const shorter = fc.record({
  left: fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }),
  summary: fc.option(words),
  all: fc.boolean(),
});

function compacted(
  messages: readonly Message[],
  how: typeof shorter extends fc.Arbitrary<infer T> ? T : never,
): Message[] {
  if (how.all) return [user(how.summary ?? 'So far.')];
  const [first, ...rest] = messages;
  const turns = rest.filter((_, index) => how.left[Math.floor(index / 2)] === true);
  return [how.summary === null && first !== undefined ? first : user(how.summary ?? ''), ...turns];
}

describe('a conversation that is compacted', () => {
  it('has each text word for word afterwards, once, and all else as the hook made it', () => {
    fc.assert(
      fc.property(conversations, shorter, ({ texts, messages }, how) => {
        const without = withoutTexts(messages, kept(...texts), 1_000_000);
        for (const text of texts) expect(textsOf(without.messages).join('\n')).not.toContain(text);
        const made = compacted(without.messages, how);
        const back = without.restored(made);
        const all = textsOf(back);
        for (const text of texts) expect(all.filter((each) => each.includes(text))).toHaveLength(1);
        expect(contextProblem(back)).toBe(contextProblem(made));
        expect(back.map(({ role }) => role)).toEqual(made.map(({ role }) => role));
        if (!how.all && made.length === messages.length && how.summary === null) expect(back).toEqual(messages);
      }),
      { numRuns: 500 },
    );
  });

  it('drops the earliest beyond a quarter of the limit, which the hook then sees', () => {
    const [long, one, two] = ['L'.repeat(400), 'o'.repeat(200), 't'.repeat(200)];
    const messages = [user(`Go.\n\n${long}`), calling('a'), result('a', one), calling('b'), result('b', two)];
    const without = withoutTexts(messages, kept(two, one, long), 480);
    expect(textsOf(without.messages)).toEqual([
      `Go.\n\n${long}`,
      '[text 2, kept word for word: 1.1]',
      '[text 1, kept word for word: 1.2]',
    ]);
    expect(without.tokens).toBeGreaterThan(70);
    expect(textsOf(without.restored([user('So far.')]))).toEqual([`So far.\n\n${one}\n\n${two}`]);
  });

  it('gets a line that stands nowhere yet, in a text of 100,000 such lines too', () => {
    const taken = Array.from({ length: 100_000 }, (_, index) => `kept word for word: ${index + 1}.1`).join('\n');
    const messages = [user(`Go.\n\n${'o'.repeat(200)}`), calling('a'), result('a', taken)];
    const without = withoutTexts(messages, kept('o'.repeat(200)), 1000);
    expect(textsOf(without.messages)[0]).toBe('Go.\n\n[text 1, kept word for word: 100001.1]');
    expect(without.restored(without.messages)).toEqual(messages);
  });

  it('takes no text from within another one, from the words of the model, or that is not there', () => {
    const said: Message = { role: 'assistant', content: [{ type: 'text', text: 'Use it.' }] };
    const messages = [user('Please Use it. now'), said, calling('a'), result('a', '<fence>\nUse it.\n</fence>')];
    expect(withoutTexts(messages, kept('Use it.', 'Other.', ''), 1000)).toMatchObject({ messages, tokens: 0 });
  });

  it('keeps the texts of skills and the rules of the folder in a session, and lowers the limit by them', async () => {
    const rules = 'R'.repeat(300);
    const asked: FullContext[] = [];
    const fixture = new SessionFixture({
      turns: [calls(['tone', {}], ['tone', { file: 'a.md' }]), calls(['count', {}]), says('Done.'), says('Again.')],
      tools: [
        fakeSkill('pdf', 'P'.repeat(300)),
        {
          ...fakeSkill('tone', ''),
          call: async ({ file }) => passed(file === undefined ? 'T'.repeat(300) : 'A file.'),
        },
        fakeTool('count', async () => passed('3'.repeat(9000))),
      ],
      projectText: rules,
      threaded: true,
      contextMaxTokens: 2000,
      hooks: {
        compact: async (_task, context) => {
          asked.push(context);
          return { kind: 'replaced', hookName: 'compact', messages: [user('So far: 3.')] };
        },
      },
    });
    fixture.session.board.submit({ text: 'Go.', origin: 'user', trust: 'trusted', skills: ['pdf'] });
    await fixture.session.run();
    expect(textsOf(asked[0]?.messages ?? []).slice(0, 3)).toEqual([
      '[the rules of the folder, kept word for word: 1.1]\n\nGo.\n\n[the text of the skill pdf, kept word for word: 1.2]',
      '[the text of the skill tone, kept word for word: 1.3]',
      'A file.',
    ]);
    expect(asked[0]?.maxTokens).toBeLessThan(1850);
    expect(fixture.driver.requests[2]?.messages).toEqual([
      user(`So far: 3.\n\n${rules}\n\n${'P'.repeat(300)}\n\n${'T'.repeat(300)}`),
    ]);
    expect(fixture.traced.find(({ event_type: type }) => type === 'compaction')).toMatchObject({ max_tokens: 2000 });
  });
});
