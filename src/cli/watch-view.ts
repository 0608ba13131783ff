import { printable } from '../diagnostics/printable.ts';
import {
  acknowledgementData,
  artifactData,
  errorText,
  firstAvailableId,
  parseFrameData,
  statusData,
  textData,
} from './frame-data.ts';
import type { ReceivedFrame } from './frame-reader.ts';
import { plainText } from './plain-text.ts';

const taskIdTail = 8;

/**
 * What `svc watch` prints of the frames of one connection (D1 "`svc watch` behaviour"). It prints every frame it is given: ids repeat
 * with each task, reopened attempt and question, and one connection carries no frame twice (D1 "Event ids", "Replay" 6).
 */
export class WatchView {
  #isThreaded = false;
  /** Whose text ended without a line feed; null when the next output starts a line. */
  #openTask: string | null = null;

  /** The text for stdout; empty for what is not displayed, unknown or unreadable. */
  show({ event, data }: ReceivedFrame): string {
    switch (event) {
      case 'connection-ack':
        this.#isThreaded = parseFrameData(data, acknowledgementData)?.conversation_mode === 'threaded';
        return '';
      case 'status':
        return this.#status(data);
      case 'artifact':
        return this.#artifact(data);
      case 'text':
        return this.#text(data);
      case 'capsule-closed':
        return this.end();
      default:
        return '';
    }
  }

  /** The end of a line that text left open. */
  end(): string {
    const isOpen = this.#openTask !== null;
    this.#openTask = null;
    return isOpen ? '\n' : '';
  }

  #status(data: string): string {
    const frame = parseFrameData(data, statusData);
    if (frame === null) return '';
    const { state, message } = frame.status;
    const label = this.#isThreaded ? [frame.id.slice(-taskIdTail), state] : [state];
    return this.#line(label, indented(message));
  }

  #artifact(data: string): string {
    const artifact = parseFrameData(data, artifactData)?.artifact;
    if (artifact === undefined) return '';
    return this.#line([artifact.tool_name, artifact.is_error ? 'failed' : 'ok'], artifact.content);
  }

  #text(data: string): string {
    const frame = parseFrameData(data, textData);
    if (frame === null) return '';
    const text = plainText(frame.text);
    // Text of another task starts a line of its own.
    const start = text === '' || this.#openTask === frame.id ? '' : this.end();
    if (text !== '') this.#openTask = text.endsWith('\n') ? null : frame.id;
    return `${start}${text}${frame.final ? this.end() : ''}`;
  }

  #line(label: readonly string[], text: string): string {
    const words = label.map(oneLine).filter((word) => word !== '');
    return `${this.end()}[${words.join(' ')}]${text === '' ? '' : ` ${plainText(text)}`}\n`;
  }
}

/** What `svc watch` says of a frame on stderr; empty for most. */
export function renderNotice({ event, data }: ReceivedFrame): string {
  switch (event) {
    case 'gap':
      return `warning: earlier frames may be gone; the first available id is ${firstAvailableId(data) ?? 'not named'}\n`;
    case 'error':
      return `the capsule reported an error: ${printable(errorText(data))}\n`;
    case 'capsule-closed':
      return 'the capsule closed its stream\n';
    default:
      return '';
  }
}

/** A name may be made up by a model. */
function oneLine(text: string): string {
  return plainText(text).replaceAll(/\s+/g, ' ').trim();
}

/** So that no further line of a message passes for a line of its own. */
function indented(message: string): string {
  return message.replaceAll(/\r\n?|\n/g, '\n  ');
}
