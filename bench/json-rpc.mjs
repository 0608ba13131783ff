// @ts-check
// Measures how many requests of its own protocol a capsule answers.
import { startBareServer } from './support/bare-process.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { alternate } from './support/rounds.mjs';
import { completedTask, postBytes, requestsPerSecond } from './support/rpc-load.mjs';

/** `tasks/get` of a task that ended, on 64 connections, against a bare server that answers with the same bytes. */
/** @type {import('./support/row.mjs').Row} */
export const jsonRpc = {
  name: 'json-rpc',
  goal: { atLeast: 0.85 },
  unit: 'times',
  async measure() {
    const workspace = await createWorkspace();
    const capsule = await startCapsule(workspace);
    try {
      const { requestBody, responseBody } = await completedTask(capsule.port);
      /** @param {number} port */
      const request = (port) => postBytes({ host: `127.0.0.1:${port}` }, requestBody);
      const bare = await startBareServer(responseBody);
      try {
        const { subject, floor } = await alternate({
          rounds: 9,
          subject: () => requestsPerSecond(capsule.port, request(capsule.port)),
          floor: () => requestsPerSecond(bare.port, request(bare.port)),
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
