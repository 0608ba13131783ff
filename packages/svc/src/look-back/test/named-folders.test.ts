import { describe, expect, it } from 'vitest';

import type { WholeRecording } from './recorded-test.ts';
import { namedFolder } from './named-folders.ts';

type HistoryEvent = WholeRecording['recording']['historyEvents'][number];

function recordingOf(historyEvents: readonly unknown[], setup: object = {}): WholeRecording {
  return { recording: { historyEvents: historyEvents as readonly HistoryEvent[] }, setup } as WholeRecording;
}

function request(place: string, messages: readonly unknown[]): unknown {
  return { kind: 'start', place, port: 'model', name: null, input: { messages } };
}

describe('folders that a recording names', () => {
  it('come with the step that first names one', () => {
    const messages = [
      { role: 'user', content: 'list it' },
      { role: 'tool', content: 'total 0\n/home/ada/shop' },
    ];
    const historyEvents = [request('1', messages.slice(0, 1)), request('2', messages)];
    expect(namedFolder(recordingOf(historyEvents), ['/srv', '/home/ada'])).toStrictEqual({
      folder: '/home/ada',
      step: 2,
    });
  });

  it('differ from longer names', () => {
    const texts = ['/home/adam', '/backup/home/ada/x', '/home/ada.old'];
    const found = texts.map((text) => namedFolder(recordingOf([request('1', [text])]), ['/home/ada']) !== null);
    expect(found).toStrictEqual([false, false, false]);
  });

  it('count before the first step where only the beginning names them', () => {
    const recording = recordingOf([request('1', [])], { system: 'work in /srv/shop' });
    expect(namedFolder(recording, ['/srv/shop'])).toStrictEqual({ folder: '/srv/shop', step: 0 });
  });

  it('cost one search in each message, however many requests repeat it', () => {
    let reads = 0;
    const messages = Array.from({ length: 200 }, () => ({
      get content() {
        reads += 1;
        return 'nothing of note';
      },
    }));
    const historyEvents = messages.map((_, index) => request(String(index), messages.slice(0, index + 1)));
    expect(namedFolder(recordingOf(historyEvents), ['/home/ada'])).toBeNull();
    expect(reads).toBe(200);
  });
});
