/** Streams lines to standard output: as the view of a session shows them, or plainly. */

import { SessionView } from '@svc/svc/shown/session-view.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { terminalOf } from '@svc/terminal/screen/terminal-kind.ts';

const lines = 10_000;
const piecesOfLine = 4;
const piecesAtOnce = 16;

const output = new Output(() => process.stdout, terminalOf({ TERM: 'xterm-256color' }));
const view =
  process.argv[2] === 'view'
    ? new SessionView(output, {
        useColor: true,
        nowMs: () => performance.now(),
        keysHint: () => 'Esc cancels',
        answerHint: () => '',
        wholeOutput: () => null,
        keptOutput: () => null,
      })
    : null;
view?.show({ kind: 'task-started', taskId: 'task' });

let written = 0;

/** As a stream of a model comes: some pieces in a turn of the event loop. */
function writeSome(): void {
  for (let count = 0; count < piecesAtOnce && written < lines * piecesOfLine; count += 1, written += 1) {
    const isLast = written % piecesOfLine === piecesOfLine - 1;
    const piece = isLast ? `with some words at its end ${written}\n` : `a piece ${written} of it `;
    if (view === null) process.stdout.write(piece);
    else view.show({ kind: 'text', taskId: 'task', text: piece });
  }
  if (written < lines * piecesOfLine) setImmediate(writeSome);
  else view?.close();
}

writeSome();
