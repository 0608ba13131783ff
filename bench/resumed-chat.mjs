// @ts-check
// Measures how soon a person can type into a chat that goes on with a long session.
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { callOf } from './long-conversation.mjs';
import { bareStartMs } from './support/bare-process.mjs';
import { createWorkspace, environment, program } from './support/capsule.mjs';
import { done, manifestOf, serveModel } from './support/model.mjs';
import { alternate } from './support/rounds.mjs';

const turns = 200;
const terminal = fileURLToPath(new URL('support/pseudo-terminal.py', import.meta.url));
/** The keyboard is taken, and the first frame is whole. */
const typing = ['--until', '\\x1b[?2004h', '--until', '\\x1b[?2026l'];

/** From the start of `svc chat <session>` to its prompt below the transcript, less what a Node that does nothing takes. */
/** @type {import('./support/row.mjs').Row} */
export const resumedChat = {
  name: 'resumed-chat',
  goal: { atMost: 300 },
  unit: 'ms',
  async measure() {
    let turn = 0;
    const model = await serveModel({
      onAsked: () => (turn += 1),
      reply: () => (turn >= turns ? done : callOf(turn)),
    });
    const { folder, env, command, remove } = await createWorkspace({ manifest: manifestOf(model.port, turns) });
    try {
      const [file = '', ...args] = command;
      await promisify(execFile)(file, [...args, '--task', 'Go on.'], { cwd: folder, env });
      const [session = ''] = await readdir(join(folder, '.svc', 'sessions'));
      const chat = [...typing, process.execPath, program, 'chat', session, '--trust', '--no-history'];
      const { subject, floor } = await alternate({
        rounds: 9,
        subject: async () => {
          const surroundings = { ...env, TERM: 'xterm-256color' };
          const { stdout } = await promisify(execFile)('python3', [terminal, ...chat], {
            cwd: folder,
            env: surroundings,
          });
          return JSON.parse(stdout).ms;
        },
        floor: () => bareStartMs({ ...environment, HOME: folder }),
      });
      return {
        subject: `svc chat of ${turns} turns ${subject.toFixed(0)} ms`,
        floor: `node -e 0 ${floor.toFixed(0)} ms`,
        figure: subject - floor,
      };
    } finally {
      model.close();
      await remove();
    }
  },
};
