import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';

import { says } from '@svc/testing/fake-reply.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { hasTmux, TmuxWindow } from '../support/tmux-window.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

/** `RESIZE_ROUNDS=200 RESIZE_HOGS=3` tries more, while as many other processes keep the processors busy. */
const rounds = Number(process.env['RESIZE_ROUNDS'] ?? 12);
const hogs = Number(process.env['RESIZE_HOGS'] ?? 0);
const seed = Number(process.env['RESIZE_SEED'] ?? 1);

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** Numbers from 0 up to 1, the same for the same seed. */
function numbersFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Lines shorter and longer than a row, each with its number at both ends. */
function linesOf(count: number, next: () => number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const words = Array.from({ length: Math.floor(next() * 30) }, () => 'abcdefghij'.slice(Math.floor(next() * 9)));
    return [`<${index}`, ...words, `${index}>`].join(' ');
  });
}

/** Pieces of a text as a model sends them: they end within a word, a line, or behind several. */
function piecesOf(text: string, next: () => number): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const length = next() < 0.2 ? 1 + Math.floor(next() * 400) : 1 + Math.floor(next() * 12);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

describe.skipIf(!hasTmux())('a terminal that is resized while text streams (skipped without tmux)', () => {
  it.each([80, 120])(
    'holds every line once and whole, %i columns wide at first',
    async (columns) => {
      const next = numbersFrom(seed + columns);
      const pick = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
      const lines = linesOf(Math.max(500, rounds * 60), next);
      const pieces = piecesOf(`${lines.join('\n')}\n`, next);
      const minute = new FirstMinute({ ceiling: 'advisory' });
      cleanups.push(async () => await minute.dispose());
      let endResizes = (): void => {};
      const resized = new Promise<void>((resolve) => (endResizes = resolve));
      // While it is resized, a piece every few milliseconds, and never the last ones.
      const pace = async (event: number): Promise<void> => {
        await Promise.race([event < pieces.length * 0.8 ? pause(5) : resized, resized]);
      };
      await minute.plays({ ...says(...pieces), pace });
      for (let count = 0; count < hogs; count += 1) {
        const hog = spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' });
        cleanups.push(() => void hog.kill('SIGKILL'));
      }
      const window = new TmuxWindow({
        name: String(columns),
        columns,
        cwd: minute.folder,
        env: minute.environment({}),
      });
      cleanups.push(() => window.close());
      window.run(`"${process.execPath}" "${program}" "say it all"; echo "ended: $?"; exec sleep 600`);
      await shows(window, /^\u2502 <\d/m);
      window.type('typed meanwhile');
      for (let round = 0; round < rounds; round += 1) {
        // To and fro: tmux announces some of them to the program, and those late.
        const back: readonly [number, number] = next() < 0.5 ? [columns, 24] : [pick(40, 130), pick(12, 40)];
        window.resize([pick(40, 130), pick(12, 40)], [pick(40, 130), 24], back);
        await pause(pick(0, 300));
      }
      endResizes();
      await shows(window, /^ended: \d/m);
      const rows = window.history;
      expect(rows).toContain('ended: 0');
      const sent = lines.map((line) => line.replaceAll(' ', ''));
      const answer = answerOf(rows);
      const broken = sent.filter((line) => answer.filter((shown) => shown === line).length !== 1);
      expect(broken).toEqual([]);
      expect(answer).toEqual(sent);
      expect(rows.filter((row) => /^\u250A|^> typed|Esc cancels/.test(row))).toEqual([]);
    },
    60_000 + rounds * 3000,
  );
});

/** The lines behind the gutter, put together again; they may be wrapped anywhere. */
function answerOf(rows: readonly string[]): readonly string[] {
  const text = rows.filter((row) => row.startsWith('\u2502 ')).map((row) => row.slice(2));
  return text.join('').replaceAll(' ', '').split(/(?=<)/);
}

async function shows(window: TmuxWindow, pattern: RegExp): Promise<void> {
  for (let looks = 0; looks < 1200; looks += 1) {
    if (pattern.test(window.screen.join('\n'))) return;
    await pause(100);
  }
  throw new Error(`${pattern} was not shown: ${window.screen.join('\n')}`);
}
