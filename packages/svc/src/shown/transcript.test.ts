import fc from 'fast-check';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';

import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import { LiveScreen } from '@svc/terminal/screen/live-screen.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import { Transcript } from './transcript.ts';

describe('Transcript', () => {
  it('lays out a text anew whose row was begun in another width, with all that has come meanwhile', async () => {
    const shown = new ShownTerminal(60, 12);
    const live = () => {
      transcript.layOut();
      return { rows: transcript.openRows, cursor: null };
    };
    const screen = new LiveScreen(shown.output, live, () => transcript.resized());
    const transcript = new Transcript(screen, shown.output.terminal!, pc.createColors(false));
    transcript.quote('text', 'one two three four five six seven eight nine');
    screen.flush();
    expect(await shown.rows()).toEqual(['\u250A one two three four five six seven eight nine']);
    transcript.quote('text', ' ten eleven\n');
    await shown.resize(30, 12);
    screen.flush();
    expect(await shown.rows()).toEqual(['\u2502 one two three four five six', '\u2502 seven eight nine ten eleven']);
    screen.close();
  });

  it.each([20, 40, 80])(
    'writes each row once in %i columns, behind the gutter, whatever an answer tries',
    async (columns) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom(...hostile), { maxLength: 100 }),
          fc.integer({ min: 1, max: 9 }),
          async (parts, size) => {
            const shown = new ShownTerminal(columns, 24);
            const live = () => {
              transcript.layOut();
              return { rows: [...transcript.openRows, '* status'], cursor: null };
            };
            const screen = new LiveScreen(shown.output, live, () => transcript.resized());
            const transcript = new Transcript(screen, shown.output.terminal!, pc.createColors(true));
            let written: readonly string[] = [];
            const text = parts.join('');
            for (let at = 0; at < text.length; at += size) {
              transcript.quote('text', text.slice(at, at + size));
              if (at % 5 !== 0) continue;
              screen.flush();
              const rows = await shown.rows();
              const firm = rows.filter((row) => row.startsWith('\u2502'));
              expect(rows.slice(0, firm.length)).toEqual(firm);
              expect(firm.slice(0, written.length)).toEqual(written);
              expect(rows.slice(firm.length, -1).filter((row) => !row.startsWith('\u250A'))).toEqual([]);
              expect(rows.at(-1)).toBe('* status');
              written = firm;
            }
            transcript.own(say`- end`);
            screen.close();
            expect((await shown.rows()).filter((row) => !row.startsWith('\u2502'))).toEqual(['- end']);
          },
        ),
        { numRuns: 25 },
      );
    },
  );
});

/** Pieces of Markdown, of forged rows and of what moves a cursor. */
const hostile = [
  'a',
  'bcd ',
  ' ',
  '\n',
  '\n\n',
  '\t',
  '**',
  '*',
  '`',
  '```',
  '\n```ts\n',
  '~~~',
  '# ',
  '\n- ',
  '\n1. ',
  '\n> ',
  '|',
  '\n|--|--|\n',
  '\n| a | b **c** d |\n',
  '\n---\n',
  '\\',
  '\u4E16',
  'e\u0301',
  '\u{1F469}\u200D\u{1F467}',
  '\u001B[2J',
  '\u001B]0;x\u0007',
  '\r',
  '\u202E',
  '\u05D0',
  '\u0915\u094D',
  '\u001B',
  '\u009B1m',
  '\u2028',
  '\n- done in 3 s',
  '\n$ rm -rf /',
  '\nstatus:  ok',
  '\u2502 ',
  '\u2551 ',
  '\u250A ',
  'x'.repeat(50),
];
