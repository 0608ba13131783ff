import pc from 'picocolors';
import { describe, expect, it } from 'vitest';

import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import { LiveScreen } from '@svc/terminal/screen/live-screen.ts';
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
});
