// @ts-check
// Runs the Technology Compatibility Kit of A2A, a program in Python, against a capsule, and passes when exactly the known tests fail
// (docs/conformance/a2a.md says why each does): node scripts/a2a-tck.mjs [<repository>]
// It clones the pinned commit of the kit from its address, or from a repository of this machine, which A2A_TCK names too. Where the address
// cannot be reached it says so and runs nothing.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { startObligingModel } from '../test/support/obliging-model.mjs';

const kitUrl = 'https://github.com/a2aproject/a2a-tck';
/** The commit of its branch for 1.0, from 2026-05-05. */
const kitCommit = '357c4a87afa2818731590647cccbea31c31733a2';

/** Classes of its tests that fail, over either binding. */
const knownToFail = [
  'TestAgentCardStructure::test_agent_card_validates_against_schema',
  'TestDataArtifact::test_task_has_data_artifact',
  'TestFileArtifact::test_task_has_file_artifact',
  'TestFileUrlArtifact::test_task_has_file_url_artifact',
  'TestMessageResponse::test_returns_message_with_text_part',
  'TestRestFormat::test_response_content_type',
];

/**
 * The kit says what it wants done in the ids of its messages, which no model sees: here it says it in their texts too. And it sends one and the same
 * message again where it wants another task, which a capsule takes for the same message: here each has an id of its own.
 */
const plugin = `
import uuid

from tck.transport.http_json_client import HttpJsonClient
from tck.transport.jsonrpc_client import JsonRpcClient

WORDS = {
    "tck-input-required": "ask",
    "test-resubscribe": "pause",
    "tck-stream": "pause",
    "tck-artifact-text": "say Generated text content",
}

def changed(params):
    message = params.get("message") if isinstance(params, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("messageId"), str):
        return params
    wanted = [word for start, word in WORDS.items() if message["messageId"].startswith(start)]
    parts = message.get("parts")
    message = {**message, "messageId": message["messageId"] + "-" + str(uuid.uuid4())}
    if wanted and isinstance(parts, list) and parts and "text" in parts[0]:
        parts = [{**parts[0], "text": wanted[0] + "\\n" + str(parts[0]["text"])}, *parts[1:]]
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

/** Whether a program ended well; what it says is shown. @type {(program: string, args: string[], cwd?: string) => boolean} */
const ran = (program, args, cwd = folder) =>
  spawnSync(program, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;

const repository = process.argv[2] ?? process.env['A2A_TCK'];
const kit = join(folder, 'kit');
const python = join(folder, 'venv/bin/python');
const isThere =
  ran('git', ['clone', '--quiet', '--no-checkout', repository ?? kitUrl, kit], process.cwd()) &&
  ran('git', ['-c', 'advice.detachedHead=false', 'checkout', '--quiet', kitCommit], kit) &&
  ran('python3', ['-m', 'venv', join(folder, 'venv')]) &&
  ran(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', kit]);
if (!isThere) {
  const what = `the kit of A2A (needs commit ${kitCommit.slice(0, 8)} of ${kitUrl}, Python 3.11 and what the kit installs)`;
  console.log(`${repository === undefined ? 'skipped' : 'not run'}: ${what}`);
  rmSync(folder, { recursive: true, force: true });
  process.exit(repository === undefined ? 0 : 1);
}

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
  const tests = spawn(
    python,
    [
      '-m',
      'pytest',
      'tests/compatibility',
      '-p',
      'svc_words',
      `--sut-host=http://${JSON.parse(String(line)).url}`,
      '--tb=line',
      '-q',
    ],
    {
      cwd: kit,
      env: { ...process.env, PYTHONPATH: [folder, kit].join(delimiter), PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const failed = new Set();
  let end = '';
  for await (const said of createInterface({ input: tests.stdout })) {
    const test = /^FAILED \S*::(Test\w+::\w+)/.exec(said);
    if (test !== null) failed.add(test[1]);
    if (said !== '') end = said;
  }
  const unlike = [
    ...[...failed].filter((name) => !knownToFail.includes(name)).map((name) => `fails: ${name}`),
    ...knownToFail.filter((name) => !failed.has(name)).map((name) => `does not fail any more: ${name}`),
  ];
  console.log([end, ...unlike].join('\n'));
  process.exitCode = unlike.length === 0 ? 0 : 1;
} finally {
  capsule.kill('SIGTERM');
  await once(capsule, 'exit');
  model.close();
  rmSync(folder, { recursive: true, force: true });
}
