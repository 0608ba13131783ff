/** Answers the helper about each program that a launch starts, which waits before its first instruction (`native/svc-launch/PLAN.md`, "Execs"). */

import type { Duplex } from 'node:stream';

import type { ProgramJudge, StartedProgram } from './launcher.ts';

const headBytes = 16;
const maxText = 64 * 1024;
const states = ['whole', 'cut', 'unreadable', 'crowded'] as const;

/** Until the socket closes, which is when the launch has ended. What does not fit together closes it, and so ends the launch. */
export function answerExecs(socket: Duplex, judge: ProgramJudge): void {
  let received: Buffer = Buffer.alloc(0);
  // The launch has ended: nobody waits any more.
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    while (received.length >= headBytes) {
      const [id, kind, count, length] = [0, 4, 8, 12].map((at) => received.readUInt32LE(at)) as NumbersOfHead;
      const state = states[kind];
      if (state === undefined || length > maxText) {
        socket.destroy();
        return;
      }
      if (received.length < headBytes + length) return;
      const program = programOf(received.subarray(headBytes, headBytes + length), count, state);
      received = received.subarray(headBytes + length);
      void judge.judge(program).then((runs) => {
        if (state === 'whole' || state === 'cut') answer(socket, id, runs);
      });
    }
  });
}

type NumbersOfHead = [id: number, kind: number, count: number, length: number];

function answer(socket: Duplex, id: number, runs: boolean): void {
  if (!socket.writable) return;
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32LE(id, 0);
  numbers.writeUInt32LE(runs ? 1 : 0, 4);
  socket.write(numbers);
}

function programOf(bytes: Buffer, count: number, state: StartedProgram['state']): StartedProgram {
  const text = bytes.toString('utf8');
  const [file = '', ...words] = text.split('\0');
  return { file, argv: words.slice(0, count), state, isText: Buffer.from(text).equals(bytes) };
}
