// @ts-check
// Measures how soon a capsule that another one delegates to asks its model.
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { createHome, end, firstLine, program } from './support/capsule.mjs';
import { alternate } from './support/rounds.mjs';

const referee = fileURLToPath(new URL('../bin/svc-referee.cjs', import.meta.url));
const driver = 'inference: { driver: { artifact: svc-driver-script, config: { script: script.yaml } } }';
const capsules = {
  lead: {
    'svc.yaml': `name: lead
version: 1.0.0
${driver}
lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }
capabilities: { spawn: { allow: [worker] } }
`,
    'script.yaml': `- when: Go
  content: [{ type: tool_call, id: c, name: delegate-task, input: { capsule: worker, version: 1.0.0, task: Work. } }]
  stop_reason: tool_call
- content: [{ type: text, text: Noted. }]
  stop_reason: end_turn
`,
  },
  worker: {
    'svc.yaml': `name: worker\nversion: 1.0.0\n${driver}\nlifecycle: { task_acceptance: single }\n`,
    'script.yaml': '- { content: [{ type: text, text: Worked. }], stop_reason: end_turn }\n',
  },
};

/**
 * From the call of delegate-task to the first turn of the child: the referee's answer, the child's start, its registration and the delivery of
 * its task. The floor is the same capsule started by hand with its task, from its start to its first turn.
 * @type {import('./support/row.mjs').Row}
 */
export const firstChildTurn = {
  name: 'first-child-turn',
  goal: { atMost: 1.5 },
  unit: 'times',
  async measure() {
    const bench = await DelegationBench.open();
    try {
      const { subject, floor } = await alternate({
        rounds: 9,
        subject: () => bench.delegatedMs(),
        floor: () => bench.byHandMs(),
      });
      return { subject: `${subject.toFixed(0)} ms`, floor: `${floor.toFixed(0)} ms by hand`, figure: subject / floor };
    } finally {
      await bench.close();
    }
  },
};

class DelegationBench {
  /**
   * @param {import('./support/capsule.mjs').Home} home
   * @param {import('node:child_process').ChildProcess} daemon
   * @param {Record<string, string>} env
   */
  constructor(home, daemon, env) {
    this.home = home;
    this.daemon = daemon;
    this.env = env;
  }

  static async open() {
    const home = await createHome();
    const { folder, env } = home;
    for (const [name, files] of Object.entries(capsules)) {
      await mkdir(join(folder, name));
      for (const [file, text] of Object.entries(files)) await writeFile(join(folder, name, file), text);
      await promisify(execFile)(process.execPath, [program, 'publish', join(folder, name), '--registry', 'local'], {
        env,
      });
    }
    const daemon = spawn(
      process.execPath,
      [referee, '--port', '0', '--spawn-allow', 'lead', '--max-live-capsules', '1000'],
      {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(await firstLine(daemon)) ?? [];
    return new DelegationBench(home, daemon, { ...env, SVC_REFEREE_URL: `http://127.0.0.1:${port}` });
  }

  /** @returns {Promise<number>} */
  async delegatedMs() {
    const lead = spawn(process.execPath, [program, 'run', '--json', '--task', 'Go.'], {
      cwd: join(this.home.folder, 'lead'),
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { session_id: session } = JSON.parse(await firstLine(lead));
    const root = join(this.home.folder, 'lead/.svc/sessions', session);
    const call = await lineOf(join(root, 'trace.jsonl'), 'tool_call');
    const [child = ''] = await readdir(join(root, 'children'));
    const sessions = join(root, 'children', child, '.svc/sessions');
    const [own = ''] = await readdir(sessions);
    const start = await lineOf(join(sessions, own, 'trace.jsonl'), 'task_start');
    await end(lead);
    return start.timestamp - (call.timestamp - call.duration_ms);
  }

  /** @returns {Promise<number>} */
  async byHandMs() {
    // A directory of its own, as a child has one.
    const cwd = await mkdtemp(join(this.home.folder, 'alone-'));
    const began = Date.now();
    const args = [program, 'run', '--json', '--capsule', 'worker', '--capsule-version', '1.0.0', '--task', 'Work.'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env: this.env });
    const start = await lineOf(join(cwd, '.svc/sessions', JSON.parse(stdout).session_id, 'trace.jsonl'), 'task_start');
    return start.timestamp - began;
  }

  async close() {
    await end(this.daemon);
    await this.home.remove();
  }
}

const maxMs = 20_000;

/**
 * The first line of this type, as soon as the trace has it.
 * @param {string} path
 * @param {string} type
 * @returns {Promise<{ timestamp: number, duration_ms: number }>}
 */
async function lineOf(path, type) {
  for (const deadline = performance.now() + maxMs; performance.now() < deadline;) {
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    const found = lines.map((line) => JSON.parse(line)).find((line) => line.event_type === type);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${path} never had a ${type}`);
}
