// @ts-check
// Has acpx, a client of the Agent Client Protocol without a window, drive a capsule: node scripts/acp-client.mjs
// It comes from the package registry, with the newer Node that it needs. docs/conformance/acp.md says what it showed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startObligingModel } from '../test/support/obliging-model.mjs';
import { bringTools, root, tell } from './brought-tools.mjs';

const run = bringTools('acp-client', { acpx: '0.19.1' });
const folder = mkdtempSync(join(tmpdir(), 'svc-acp-'));
const capsule = join(folder, 'capsule');
const project = join(folder, 'project');
for (const made of [capsule, project]) mkdirSync(made);
const model = await startObligingModel();
writeFileSync(
  join(capsule, 'svc.yaml'),
  `name: held
version: 1.0.0
inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }
`,
);
const agent = [process.execPath, join(root, 'bin', 'svc.cjs'), 'serve', 'acp', '--manifest', join(capsule, 'svc.yaml')];
const given = ['--cwd', project, '--agent', agent.join(' '), '--approve-all', '--ttl', '1'];

/** What each of its commands prints. @type {readonly [string, ...string[]][]} */
const trials = [
  ['echo: hello', 'exec', 'hello'],
  ['', 'sessions', 'new', '--name', 'kept'],
  ['echo: first of all', 'prompt', '-s', 'kept', 'first of all'],
  ['echo: first of all', 'prompt', '-s', 'kept', 'recall'],
  ['', 'sessions', 'close', 'kept'],
];
try {
  let hold = true;
  for (const [printed, ...args] of trials) {
    const { status, output } = await run('acpx', [...given, ...args], folder);
    hold = tell(`acpx ${args.join(' ')}`, status === 0 && output.includes(printed), output) && hold;
  }
  process.exitCode = hold ? 0 : 1;
} finally {
  model.close();
  rmSync(folder, { recursive: true, force: true });
}
