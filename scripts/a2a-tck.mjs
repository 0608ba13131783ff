// @ts-check
// Runs the Technology Compatibility Kit of A2A, a program in Python, against a capsule: node scripts/a2a-tck.mjs <checkout> <python> [pytest arguments]
// <checkout> holds the kit of version 1.0 (a2aproject/a2a-tck), <python> is an interpreter that has what its pyproject.toml names.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { startObligingModel } from '../test/support/obliging-model.mjs';

const [checkout, python, ...more] = process.argv.slice(2);
if (checkout === undefined || python === undefined) {
  process.stderr.write('usage: node scripts/a2a-tck.mjs <checkout> <python> [pytest arguments]\n');
  process.exit(64);
}

/**
 * The kit says what it wants done in the ids of its messages, which no model sees: here it says it in their texts too. And it sends one and the same
 * message again where it wants another task, which a capsule takes for the same message: here each has an id of its own.
 */
const plugin = `
import uuid

from tck.transport.http_json_client import HttpJsonClient
from tck.transport.jsonrpc_client import JsonRpcClient

WORDS = {"tck-input-required": "ask", "test-resubscribe": "pause", "tck-stream": "pause"}

def changed(params):
    message = params.get("message") if isinstance(params, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("messageId"), str):
        return params
    wanted = [word for start, word in WORDS.items() if message["messageId"].startswith(start)]
    parts = message.get("parts")
    message = {**message, "messageId": message["messageId"] + "-" + str(uuid.uuid4())}
    if wanted and isinstance(parts, list) and parts and "text" in parts[0]:
        parts = [{**parts[0], "text": wanted[0] + " " + str(parts[0]["text"])}, *parts[1:]]
        message = {**message, "parts": parts}
    return {**params, "message": message}

def told(method):
    def call(self, name, params):
        return method(self, name, changed(params))
    return call

def told_over_http(method):
    def request(self, verb, path, *, json_body=None, **more):
        return method(self, verb, path, json_body=changed(json_body), **more)
    return request

JsonRpcClient._call = told(JsonRpcClient._call)
JsonRpcClient._call_streaming = told(JsonRpcClient._call_streaming)
HttpJsonClient._request = told_over_http(HttpJsonClient._request)
HttpJsonClient._request_streaming = told_over_http(HttpJsonClient._request_streaming)
`;

const folder = mkdtempSync(join(tmpdir(), 'svc-tck-'));
const model = await startObligingModel();
writeFileSync(join(folder, 'svc_words.py'), plugin);
writeFileSync(
  join(folder, 'svc.yaml'),
  `name: tck
version: 1.0.0
description: Is held to the kit of A2A.
artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]
inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }
doors: { push: { allow: [example.com, { host: localhost, private: true }] } }
lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 100, input_timeout_secs: 2 }
`,
);
const svc = fileURLToPath(new URL('../bin/svc.cjs', import.meta.url));
const capsule = spawn(process.execPath, [svc, 'run', '--json'], {
  cwd: folder,
  env: { ...process.env, HOME: folder },
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [line] = await once(createInterface({ input: capsule.stdout }), 'line');
  const kit = spawn(
    python,
    [
      '-m',
      'pytest',
      'tests/compatibility',
      '-p',
      'svc_words',
      `--sut-host=http://${JSON.parse(String(line)).url}`,
      ...more,
    ],
    {
      cwd: checkout,
      env: { ...process.env, PYTHONPATH: [folder, checkout].join(delimiter), PYTHONDONTWRITEBYTECODE: '1' },
      stdio: 'inherit',
    },
  );
  const [code] = await once(kit, 'exit');
  process.exitCode = code ?? 1;
} finally {
  capsule.kill('SIGTERM');
  await once(capsule, 'exit');
  model.close();
  rmSync(folder, { recursive: true, force: true });
}
