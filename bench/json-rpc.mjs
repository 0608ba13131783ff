// @ts-check
// Measures how many requests of its own protocol a capsule answers.
import { startBareServer } from './support/bare-process.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { closedPerSecond } from './support/close-load.mjs';
import { postBytes } from './support/dialects.mjs';
import { alternate } from './support/rounds.mjs';
import { completedTask, requestsPerSecond } from './support/rpc-load.mjs';

/** `tasks/get` of a task that ended, on 64 connections, kept or one for each request, against a bare server that answers with the same bytes. */
/** @type {readonly import('./support/row.mjs').Row[]} */
export const jsonRpc = [
  row('json-rpc', 0.85, [], (port, request) => requestsPerSecond(port, request)),
  row('json-rpc-connection-each', 0.85, ['Connection: close'], (port, request) =>
    closedPerSecond({ port, connections: 64, requests: 6000, request }),
  ),
];

/**
 * @param {string} name
 * @param {number} atLeast
 * @param {readonly string[]} headers
 * @param {(port: number, request: string) => Promise<number>} perSecond
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, atLeast, headers, perSecond) {
  return {
    name,
    goal: { atLeast },
    unit: 'times',
    async measure() {
      const workspace = await createWorkspace();
      const capsule = await startCapsule(workspace);
      try {
        const { requestBody, responseBody } = await completedTask(capsule);
        /** @param {number} port */
        const request = (port) => postBytes({ host: `127.0.0.1:${port}`, headers }, requestBody);
        const bare = await startBareServer(responseBody);
        try {
          const { subject, floor } = await alternate({
            rounds: 9,
            subject: () => perSecond(capsule.port, request(capsule.port)),
            floor: () => perSecond(bare.port, request(bare.port)),
          });
          return {
            subject: `tasks/get ${(subject / 1000).toFixed(1)}k/s`,
            floor: `bare node:http ${(floor / 1000).toFixed(1)}k/s`,
            figure: subject / floor,
          };
        } finally {
          await bare.stop();
        }
      } finally {
        await capsule.stop();
        await workspace.remove();
      }
    },
  };
}
