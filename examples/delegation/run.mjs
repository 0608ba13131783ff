// Publishes three capsules into a store of its own, starts the referee beside it, runs the lead capsule and shows what happens until both
// of its children have reported their end. Everything it makes is in .svc/ and workdir/ of this folder, or of the one that is given.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const bin = (name) => join(here, '..', '..', 'bin', `${name}.cjs`);
const place = resolve(process.argv[2] ?? here);
const home = join(place, '.svc', 'home');
const env = { PATH: process.env['PATH'], HOME: home };
const children = ['word-counter', 'shouter'];
const maxMs = 60_000;

/** The first line that a program prints. */
async function firstLine(program) {
  for await (const line of createInterface({ input: program.stdout })) return line;
  throw new Error('it ended before it was up; what it printed above says why');
}

function start(name, args, extra = {}) {
  return spawn(process.execPath, [bin(name), ...args], {
    cwd: place,
    env: { ...env, ...extra },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function end(program) {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const ended = new Promise((resolve) => program.once('exit', resolve));
  program.kill('SIGTERM');
  await ended;
}

/** Every frame of the capsule, until it closes its stream. */
async function* framesOf(url, signal) {
  const response = await fetch(`http://${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'stream/watch', params: {} }),
    signal,
  });
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const groups = (text + chunk).split('\n\n');
    text = groups.pop() ?? '';
    for (const group of groups) {
      const event = /^event: (.*)$/m.exec(group)?.[1];
      const data = /^data: (.*)$/m.exec(group)?.[1];
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}

/** Shows what the lead does until its own task and both completions are over. */
async function follow(url) {
  let over = 0;
  for await (const { event, data } of framesOf(url, AbortSignal.timeout(maxMs))) {
    if (event === 'artifact') {
      const { tool_name: tool, content } = data.artifact;
      // The markers show the model what others wrote.
      console.log(`\n${tool} gave:\n${content.replaceAll(/^<\/?untrusted-content[^>\n]*>\n?/gm, '').trimEnd()}`);
    }
    if (event === 'text' && data.text !== '') console.log(`\nthe lead says: ${data.text}`);
    if (event === 'status' && data.final) over += 1;
    if (over === 1 + children.length) return;
  }
}

// What is published stays as it is; a store of this run alone takes what was changed since the last one.
rmSync(home, { recursive: true, force: true });
mkdirSync(home, { recursive: true });
for (const capsule of ['lead', ...children]) {
  const published = spawnSync(process.execPath, [bin('svc'), 'publish', join(here, capsule), '--registry', 'local'], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (published.status !== 0) process.exit(1);
}

const referee = start('svc-referee', ['--port', '0', '--spawn-allow', 'lead']);
let lead = null;
try {
  const listening = await firstLine(referee);
  console.log(listening);
  const address = /127\.0\.0\.1:\d+/.exec(listening)?.[0] ?? '';
  const task = 'Describe this line: The quick brown fox';
  lead = start('svc', ['run', '--json', '--capsule', 'lead', '--capsule-version', '1.0.0', '--task', task], {
    SVC_REFEREE_URL: `http://${address}`,
  });
  const { url, workdir } = JSON.parse(await firstLine(lead));
  console.log(`the lead listens on ${url}`);
  await follow(url);
  console.log(`\n${join(workdir, 'report.txt')}:\n${readFileSync(join(workdir, 'report.txt'), 'utf8')}`);
} finally {
  if (lead !== null) await end(lead);
  await end(referee);
}
