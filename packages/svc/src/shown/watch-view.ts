/** Decides how `svc watch` shows each frame. */

import {
  type DecodedArtifact,
  type DecodedChunk,
  type DecodedStatus,
  decodeFrame,
} from '@svc/protocol/decode-frame.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { endedReason } from './ended-reason.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { type Page, pageOf } from '@svc/terminal/screen/page.ts';
import { exact, joined, say, Shown, unfenced } from '@svc/terminal/screen/shown.ts';

const taskIdTail = 8;
const maxName = 100;
/** Before lines of others in a file or a pipe, so that none passes for a status line. */
const mark = '| ';

/**
 * What `svc watch` prints of the frames of one connection (D1 "`svc watch` behaviour"). It prints every frame it is given: ids repeat
 * with each task, reopened attempt and question, and one connection carries no frame twice (D1 "Event ids", "Replay" 6).
 */
export class WatchView {
  readonly #page: Page;
  #isThreaded = false;
  /** The task whose text came last; null when something else did. */
  #textOf: string | null = null;

  constructor(stdout: Output) {
    this.#page = pageOf(stdout, mark);
  }

  /** The text for stdout; empty for what is not displayed, unknown or unreadable. */
  show(received: ReceivedFrame): string {
    const frame = decodeFrame(received);
    switch (frame?.event) {
      case 'connection-ack':
        this.#isThreaded = frame.conversationMode === 'threaded';
        return '';
      case 'status':
        return this.#status(frame);
      case 'artifact':
        return this.#artifact(frame);
      case 'text':
        return this.#text(frame);
      case 'capsule-closed':
        return this.end();
      default:
        return '';
    }
  }

  /** The end of a line that text left open. */
  end(): string {
    this.#textOf = null;
    return this.#page.endQuote();
  }

  #status(frame: DecodedStatus): string {
    const { taskId, state } = frame;
    const told = endedReason(frame);
    const words = this.#isThreaded ? [taskId.slice(-taskIdTail), state] : [state];
    this.#textOf = null;
    return this.#page.own(say`${label(words)}${told === '' ? '' : ' '}${indented(told)}\n`);
  }

  #artifact({ toolName: name, content, fenceSource: source, isError, exitCode }: DecodedArtifact): string {
    const outcome = isError ? 'failed' : (exitCode ?? 0) === 0 ? 'ok' : `exit ${exitCode}`;
    this.#textOf = null;
    return this.#page.headed(label([shownName(name), outcome]), unfenced(content, source));
  }

  #text({ taskId, text, final }: DecodedChunk): string {
    // Text of another task starts a line of its own.
    const start = this.#textOf === taskId || text === '' ? '' : this.end();
    if (text !== '') this.#textOf = taskId;
    return `${start}${this.#page.quote(text)}${final ? this.end() : ''}`;
  }
}

const noticed: ReadonlySet<string> = new Set(['gap', 'error', 'capsule-closed']);

/** What `svc watch` says of a frame on stderr; null for most. */
export function renderNotice(received: ReceivedFrame): Shown | null {
  const frame = noticed.has(received.event) ? decodeFrame(received) : null;
  switch (frame?.event) {
    case 'gap':
      return say`warning: earlier frames may be gone; the first available id is ${String(frame.firstAvailableId ?? 'not named')}\n`;
    case 'error':
      return say`the capsule reported an error: ${frame.error}\n`;
    case 'capsule-closed':
      return say`the capsule closed its stream\n`;
    default:
      return null;
  }
}

function label(words: readonly string[]): Shown {
  const shown = words.map((word) => inertLine(word, maxName)).filter((word) => word !== '');
  return say`[${shown.join(' ')}]`;
}

/** Names of tools look like this. A model that makes one up could make it look like the label of a status: it stands in quotes then. */
const usualName = /^[\w:.@/+-]*$/;
const likeTaskId = new RegExp(`^[0-9a-f]{${taskIdTail}}$`);

function shownName(name: string): string {
  return usualName.test(name) && !likeTaskId.test(name) ? name : JSON.stringify(inertLine(name, maxName));
}

/** So that no further line of a message passes for a line of its own. */
function indented(message: string): Shown {
  const lines = message.split(/\r\n?|\n/g);
  return joined(
    lines.map((line, index) => Shown.cleaned(`${index === 0 ? '' : '\n  '}${exact(inertLine(line, line.length))}`)),
  );
}
