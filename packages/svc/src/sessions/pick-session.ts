/** Lets a person choose a row of a list with the keys of a terminal. */

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { Key } from '@svc/terminal/keyboard/key.ts';
import { RawTerminal } from '@svc/terminal/keyboard/raw-terminal.ts';
import type { LiveRows } from '@svc/terminal/screen/live-screen.ts';
import { openScreen, type Screen } from '@svc/terminal/screen/screen.ts';
import { cutToWidth } from '@svc/terminal/screen/terminal-kind.ts';

interface PickRequest {
  /** Laid out for a width: the head, then a row for each choice. */
  readonly table: (columns: number) => readonly string[];
  readonly count: number;
  /** The row that is chosen at first. */
  readonly first: number;
  readonly hint: string;
}

const mark = '> ';
const blank = '  ';

/**
 * Draws the table until a row is taken with Enter, or nothing with Esc, `q`, Ctrl+C or Ctrl+D: it stays in the transcript then, as a list would. Returns
 * the number of the row, from 0; null where nothing is taken; undefined where no key can be read here, and nothing was drawn.
 */
export async function pickRow(request: PickRequest, { stdout }: CommandContext): Promise<number | null | undefined> {
  let chosen = request.first;
  let keyboard: RawTerminal | null = null;
  const screen: Screen = openScreen(
    stdout,
    () => rowsOf(request, chosen, screen),
    () => {},
  );
  if (!screen.isLive) return undefined;
  try {
    const taken = await new Promise<number | null | undefined>((resolve) => {
      keyboard = RawTerminal.open({
        stdin: process.stdin,
        output: stdout,
        onKeys: (keys) => {
          for (const key of keys) {
            const act = actOf(key);
            if (act === 'take' || act === 'leave') return resolve(act === 'take' ? chosen : null);
            if (act !== null) chosen = Math.min(request.count - 1, Math.max(0, chosen + act));
          }
          screen.changed();
        },
        onSuspend: () => screen.suspend(),
        onResume: () => screen.resume(),
        onEnd: () => resolve(null),
      });
      if (keyboard === null) return resolve(undefined);
      screen.flush();
    });
    if (taken === null) screen.append(request.table(screen.columns));
    return taken;
  } finally {
    screen.close();
    await (keyboard as RawTerminal | null)?.close();
  }
}

/** By how many rows a key moves, or what it does; null for any other. */
function actOf(key: Key): number | 'take' | 'leave' | null {
  if (key.kind === 'text') return key.text === 'q' ? 'leave' : key.text === 'j' ? 1 : key.text === 'k' ? -1 : null;
  if (key.kind !== 'press') return null;
  if (key.ctrl) return key.name === 'c' || key.name === 'd' ? 'leave' : (moves[`ctrl-${key.name}`] ?? null);
  if (key.name === 'enter') return 'take';
  if (key.name === 'escape') return 'leave';
  return moves[key.name] ?? null;
}

const moves: Readonly<Record<string, number>> = {
  up: -1,
  down: 1,
  'page-up': -5,
  'page-down': 5,
  home: -Infinity,
  end: Infinity,
  'ctrl-p': -1,
  'ctrl-n': 1,
};

/** As many rows as there is room for, those around the chosen one. */
function rowsOf({ table, count, hint }: PickRequest, chosen: number, screen: Screen): LiveRows {
  const columns = screen.liveColumns;
  const [head = '', ...rows] = table(Math.max(1, columns - mark.length));
  const room = screen.maxLiveRows - 1;
  const hasHead = room > 1;
  const shown = Math.min(count, hasHead ? room - 1 : room);
  const from = Math.min(Math.max(0, chosen - Math.floor(shown / 2)), count - shown);
  const place = count > shown ? ` (${chosen + 1} of ${count})` : '';
  return {
    rows: [
      ...(hasHead ? [blank + head] : []),
      ...rows.slice(from, from + shown).map((row, at) => (from + at === chosen ? mark : blank) + row),
      cutToWidth(`${hint}${place}`, columns),
    ],
    cursor: null,
  };
}
