import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

import { startObligingModel } from '../support/obliging-model.mjs';
import { pythonWith } from '../support/python-program.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const program = fileURLToPath(new URL('../fixtures/a2a-client.py', import.meta.url));

it('the official client for Python reads answers, questions, failures and silences over both bindings', async (context) => {
  const ask = await pythonWith(context, 'a2a-sdk==1.3.0');
  const model = await startObligingModel();
  onTestFinished(() => model.close());
  const inference = `inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }\n`;
  const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
  const manifest = `name: demo\nversion: 1.2.3\n${inference}${asker}${staysUp}`;
  const capsule = await capsules.from(makeWorkspace({ 'svc.yaml': manifest }));
  const seen = [];
  // One after the other: a task that waits behind another has more statuses.
  for (const binding of ['JSONRPC', 'HTTP+JSON']) {
    seen.push(JSON.parse(await ask(program, `http://${capsule.line.url}`, binding)));
  }
  const each = {
    answer: [['SUBMITTED', 'WORKING', 'COMPLETED'], 'echo: hello'],
    kept: ['TASK_STATE_COMPLETED', 'echo: hello'],
    question: ['SUBMITTED', 'WORKING', 'INPUT_REQUIRED'],
    'after the question': ['COMPLETED', expect.stringMatching(/^You said [^]*\nblue\n/)],
    silence: 'CANCELED',
    failure: 'FAILED',
    unknown: 'TaskNotFoundError',
  };
  expect(seen).toEqual([each, each]);
}, 300_000);
