// @ts-check
// Runs the conformance tests of the Model Context Protocol, and its inspector, against a capsule: node scripts/mcp-conformance.mjs
// Both come from the package registry, with the newer Node that they need. docs/conformance/mcp.md says what it showed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { startObligingModel } from '../test/support/obliging-model.mjs';
import { bringTools, root, tell } from './brought-tools.mjs';

/** The scenarios that ask for no tool, prompt or resource of a server that was written for them. */
const scenarios = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
];
/**
 * What the command line of the inspector asks, after what is in the answer.
 * @type {readonly [string, string, ...string[]][]}
 */
const inspections = [
  ['"held"', 'tools/list'],
  ['echo: hello', 'tools/call', '--tool-name', 'held', '--tool-arg', 'task=hello'],
  ['svc-file:///result.txt', 'resources/list'],
  ['echo: hello', 'resources/read', '--uri', 'svc-file:///result.txt'],
];

const run = bringTools('mcp-conformance', {
  '@modelcontextprotocol/conformance': '0.1.16',
  '@modelcontextprotocol/inspector': '2.12.0',
});
const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-'));
const model = await startObligingModel();
writeFileSync(
  join(folder, 'svc.yaml'),
  `name: held
version: 1.0.0
description: Is held to the conformance tests of MCP.
inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }
exports: { files: { root: out, max_bytes: 100000 } }
lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 100 }
`,
);
const capsule = spawn(process.execPath, [join(root, 'bin', 'svc.cjs'), 'run', '--json'], {
  cwd: folder,
  env: { ...process.env, HOME: folder },
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [line] = await once(createInterface({ input: capsule.stdout }), 'line');
  const url = `http://${JSON.parse(String(line)).url}/mcp`;
  let hold = true;
  for (const scenario of scenarios) {
    const { status, output } = await run('conformance', ['server', '--url', url, '--scenario', scenario], folder);
    hold = tell(`conformance ${scenario}`, status === 0, output) && hold;
  }
  for (const [what, method, ...args] of inspections) {
    const given = ['--cli', url, '--transport', 'http', '--method', method, ...args];
    const { status, output } = await run('mcp-inspector', given, folder);
    hold = tell(`inspector ${method}`, status === 0 && output.includes(what), output) && hold;
  }
  process.exitCode = hold ? 0 : 1;
} finally {
  capsule.kill('SIGTERM');
  await once(capsule, 'exit');
  model.close();
  rmSync(folder, { recursive: true, force: true });
}
