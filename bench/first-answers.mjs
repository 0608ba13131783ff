// @ts-check
// Measures how soon svc answers the program that has started it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { bareStartMs } from './support/bare-process.mjs';
import { createWorkspace, program } from './support/capsule.mjs';
import { alternate } from './support/rounds.mjs';

const clientInfo = { name: 'bench', version: '1' };

/** From the start of the process to its first answer to a client on standard streams, against a Node that does nothing. */
/** @type {readonly import('./support/row.mjs').Row[]} */
export const firstAnswers = [
  row('mcp-first-answer', 'mcp', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }),
  row('acp-first-answer', 'acp', { protocolVersion: 1, clientCapabilities: {}, clientInfo }),
];

/**
 * @param {string} name
 * @param {string} protocol
 * @param {object} params
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, protocol, params) {
  return {
    name,
    goal: { atMost: 2 },
    unit: 'times',
    async measure() {
      const workspace = await createWorkspace();
      const initialize = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`;
      try {
        const { subject, floor } = await alternate({
          rounds: 15,
          subject: () => answeredMs([program, 'serve', protocol, '--offline'], initialize, workspace),
          floor: () => bareStartMs(workspace.env),
        });
        return {
          subject: `svc serve ${protocol} ${subject.toFixed(0)} ms`,
          floor: `node -e 0 ${floor.toFixed(0)} ms`,
          figure: subject / floor,
        };
      } finally {
        await workspace.remove();
      }
    },
  };
}

/**
 * @param {readonly string[]} args
 * @param {string} request
 * @param {import('./support/capsule.mjs').Workspace} workspace
 */
async function answeredMs(args, request, { folder, env }) {
  const began = performance.now();
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write(request);
  await once(createInterface({ input: child.stdout }), 'line');
  const took = performance.now() - began;
  child.stdin.end();
  await once(child, 'exit');
  return took;
}
