import { describe, expect, it } from 'vitest';

import { History } from './history.ts';
import { type Key, type KeyName, press } from './key.ts';
import { type Completion, LinePrompt, type PromptEdit } from './line-prompt.ts';

const ctrl = (name: KeyName): Key => press(name, { ctrl: true });
const escape = press('escape');
const tab = press('tab');

function promptAfter(...typed: readonly string[]): LinePrompt {
  const { history } = History.open('/nowhere', { isKept: false });
  for (const text of typed) history.add(text);
  return new LinePrompt({ history, complete: async () => ({ start: 0, candidates: [] }) });
}

function type(prompt: LinePrompt, ...keys: readonly (string | Key)[]): PromptEdit | undefined {
  let edit: PromptEdit | undefined;
  for (const key of keys) edit = prompt.press(typeof key === 'string' ? { kind: 'text', text: key } : key);
  return edit;
}

describe('the history in the line', () => {
  it('comes with the arrows, and what was being written at the end', () => {
    const prompt = promptAfter('one', 'two');
    const seen = ['up', 'up', 'up', 'down', 'down', 'down'].map((name) => [
      type(prompt, press(name as KeyName)),
      prompt.text,
    ]);
    expect(seen).toEqual([
      ['changed', 'two'],
      ['changed', 'one'],
      ['nothing', 'one'],
      ['changed', 'two'],
      ['changed', ''],
      ['nothing', ''],
    ]);
    type(prompt, 'draft', ctrl('p'), ctrl('n'));
    expect(prompt.text).toBe('draft');
  });

  it('begins above the first line of several', () => {
    const prompt = promptAfter('one');
    type(prompt, 'a', ctrl('j'), 'b', press('up'));
    expect(prompt.text).toBe('a\nb');
    type(prompt, press('up'));
    expect(prompt.text).toBe('one');
  });

  it('begins anew once a text was set', () => {
    const prompt = promptAfter('one', 'two');
    type(prompt, press('up'), press('up'));
    prompt.set('');
    type(prompt, press('up'));
    expect(prompt.text).toBe('two');
  });

  it('stays empty without a history', () => {
    const prompt = new LinePrompt({ history: null, complete: async () => ({ start: 0, candidates: [] }) });
    expect([type(prompt, press('up')), type(prompt, ctrl('r'))]).toEqual(['unknown', 'unknown']);
  });
});

describe('a search in the line', () => {
  const texts = ['mend the parser', 'write a test', 'mend\nthe writer'];

  it('shows what it finds and takes it into the line, and does not send it', () => {
    const prompt = promptAfter(...texts);
    type(prompt, 'draft');
    expect([type(prompt, ctrl('r')), prompt.isSearching, prompt.layout(40, 5)]).toEqual([
      'changed',
      true,
      { rows: ['search: '], cursor: { row: 0, column: 8 } },
    ]);
    type(prompt, 'me');
    expect(prompt.layout(40, 5)).toEqual({ rows: ['search: me  mend the writer'], cursor: { row: 0, column: 10 } });
    expect(prompt.layout(20, 5).rows).toEqual(['search: me  mend th…']);
    type(prompt, ctrl('r'));
    expect(prompt.layout(40, 5).rows).toEqual(['search: me  mend the parser']);
    expect(type(prompt, ctrl('r'))).toBe('nothing');
    expect([type(prompt, press('enter')), prompt.isSearching, prompt.text]).toEqual([
      'changed',
      false,
      'mend the parser',
    ]);
    expect(type(prompt, press('enter'))).toBe('submit');
  });

  it.each([escape, ctrl('c'), ctrl('g')])('leaves the line as it was with %j', (key) => {
    const prompt = promptAfter(...texts);
    type(prompt, 'draft', ctrl('r'), 'mend');
    expect([type(prompt, key), prompt.isSearching, prompt.text]).toEqual(['changed', false, 'draft']);
    expect(type(prompt, escape)).toBe('unknown');
  });

  it('ends with a key that edits what was found', () => {
    const prompt = promptAfter(...texts);
    type(prompt, ctrl('r'), 'test', ctrl('a'), '> ');
    expect([prompt.isSearching, prompt.text]).toEqual([false, '> write a test']);
  });

  it('says when nothing is found, and keeps the line then', () => {
    const prompt = promptAfter(...texts);
    type(prompt, 'draft', ctrl('r'), 'the p', { kind: 'paste', text: 'x\u001B[31m' });
    expect(prompt.layout(40, 5).rows).toEqual(['search: the px  (nothing)']);
    type(prompt, press('backspace'));
    expect(prompt.layout(40, 5).rows).toEqual(['search: the p  mend the parser']);
    type(prompt, 'y', press('enter'));
    expect(prompt.text).toBe('draft');
  });

  it('takes at most what a screen shows', () => {
    const prompt = promptAfter(...texts);
    type(prompt, ctrl('r'), '日'.repeat(1000));
    const { rows, cursor } = prompt.layout(20, 5);
    expect([rows, cursor]).toEqual([['search: 日日日日日…'], { row: 0, column: 19 }]);
  });
});

describe('a completion in the line', () => {
  /** Words that are completed, and what came of the last key. */
  async function completed(words: readonly string[], ...keys: readonly (string | Key)[]): Promise<[string, unknown]> {
    const complete = async (text: string, cursor: number): Promise<Completion> => {
      const start = text.lastIndexOf(' ', cursor - 1) + 1;
      return { start, candidates: words.filter((word) => word.startsWith(text.slice(start, cursor))) };
    };
    const prompt = new LinePrompt({ history: null, complete });
    const edit = type(prompt, ...keys);
    return [prompt.text, typeof edit === 'object' ? [await edit.candidates, prompt.text] : edit];
  }

  it('takes the place of what was begun', async () => {
    await expect(completed(['/help ', '/tasks '], 'x /t', tab)).resolves.toEqual(['x /t', [[], 'x /tasks ']]);
  });

  it('goes as far as all candidates are the same, and returns them', async () => {
    const words = ['/diff ', '/drop ', '/drone👩‍🚀', '/drone👩‍🔬'];
    await expect(completed(words, '/', tab)).resolves.toEqual(['/', [words, '/d']]);
    await expect(completed(words, '/dron', tab)).resolves.toEqual(['/dron', [words.slice(2), '/drone']]);
  });

  it('may come in the middle of a text', async () => {
    await expect(
      completed(['src/a.ts'], 'see src and', press('left', { ctrl: true }), press('left'), tab),
    ).resolves.toEqual(['see src and', [[], 'see src/a.ts and']]);
  });

  it('changes nothing where nothing fits', async () => {
    await expect(completed(['/help'], '/x', tab)).resolves.toEqual(['/x', [[], '/x']]);
  });

  it('becomes inert', async () => {
    await expect(completed(['a\u001B[2Jb\u202E'], 'a', tab)).resolves.toEqual(['a', [[], 'ab']]);
  });

  it('disappears when another key was pressed meanwhile', async () => {
    const prompt = new LinePrompt({ history: null, complete: async () => ({ start: 0, candidates: ['/help '] }) });
    const edit = type(prompt, '/h', tab);
    type(prompt, 'x');
    expect([await (edit as { candidates: Promise<unknown> }).candidates, prompt.text]).toEqual([[], '/hx']);
  });

  it('does not reach into a paste', async () => {
    const paste: Key = { kind: 'paste', text: `${'x\n'.repeat(20)}/h` };
    const [text, result] = await completed([`${'x\n'.repeat(20)}/help`], paste, tab);
    expect(result).toEqual([[], text]);
  });
});
