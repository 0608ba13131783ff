/** The part of a worker: one session, read and asked about. */

import type { FromWorker, ToWorker } from '../messages.ts';
import { SessionReader } from './session-reader.ts';

export function startWorker(): void {
  const post = (message: FromWorker): void => globalThis.postMessage(message);
  const reader = new SessionReader(post);
  globalThis.onmessage = ({ data }: MessageEvent<ToWorker>): void => {
    if (data.kind === 'open') {
      void reader.open(data.place);
      return;
    }
    if (data.kind === 'live') {
      void reader.live();
      return;
    }
    const { id, path } = data;
    reader.ask(path).then(
      (value) => post({ kind: 'answer', id, value }),
      (error: unknown) => post({ kind: 'fault', id, message: String(error).slice(0, 300) }),
    );
  };
}
