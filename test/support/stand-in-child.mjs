// A delegated child by hand. Its first word is JSON and says what it does; the others are those of `svc run`. What happens to it it notes
// at the address of the referee, which is all that it knows of the world.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';

const behaviour = JSON.parse(process.argv[2]);
const words = process.argv.slice(3);
const after = (flag) => words[words.indexOf(flag) + 1];
const workdir = after('--workdir');
const recordFile = `${workdir}/completion.json`;
const sessionId = process.argv[process.argv.indexOf('--session-id') + 1] ?? '';

function post(url, headers, body) {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method: 'POST', agent: false, headers: { 'content-type': 'application/json', ...headers } },
      (response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => resolve(text));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(body));
  });
}

const note = (what, more = {}) => post(`${process.env.SVC_REFEREE_URL}/noted`, {}, { what, ...more });

function completion(more) {
  const { delegation_id } = JSON.parse(process.env.SVC_SPAWNER);
  return {
    delegation_id,
    capsule_name: after('--capsule'),
    capsule_version: after('--capsule-version'),
    session_id: sessionId,
    status: 'ok',
    result_path: 'out/result.txt',
    workdir,
    duration_ms: 12,
    ...more,
  };
}

/** What it does when it has its task. */
const next = {
  stay: async () => {},
  exit: async ({ code = 0 }) => process.exit(code),
  die: async () => process.kill(process.pid, 'SIGKILL'),
  /** Leaves a record of its end that was not delivered. */
  record: async ({ fields, code = 0 }) => {
    settle(fields);
    process.exit(code);
  },
  /** The same, and goes on. */
  settle: async ({ fields }) => {
    settle(fields);
    await note('settled');
  },
};

function settle(fields = {}) {
  const record = { ...completion({}), reported_by: 'child', delivered: false, delivery_error: 'nobody', ...fields };
  writeFileSync(recordFile, JSON.stringify(record));
}

async function act({ kind, ...more }) {
  await note('has its task');
  await next[kind](more);
}

let sends = 0;
let gets = 0;

const methods = {
  'message/send': () => {
    const answer = behaviour.sends?.[sends] ?? { state: 'submitted' };
    sends += 1;
    return answer;
  },
  'tasks/get': () => {
    const told = behaviour.gets ?? [];
    gets += 1;
    return told[Math.min(gets, told.length) - 1] ?? { state: 'working' };
  },
  'session/stop': () => ({ state: 'stopped' }),
};

function result({ state, message, artifacts }) {
  return { id: 'tsk_1', contextId: 'ctx_1', status: { state, message }, artifacts };
}

async function answer(incoming, response) {
  let text = '';
  for await (const chunk of incoming) text += chunk;
  const { id, method, params } = JSON.parse(text);
  await note('asked', { method, params, headers: incoming.headers });
  const told = methods[method]();
  if (told === 'drop') return incoming.socket.destroy();
  if (told === 'hang') return;
  if (told === 'no json') return response.writeHead(503).end('not yet');
  if (told === 'die') return process.exit(5);
  const body = told.error === undefined ? { result: told.odd ?? result(told) } : { error: told.error };
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }), () => {
    if (method === 'message/send' && told.state === 'submitted') void act(behaviour.next ?? { kind: 'stay' });
  });
}

async function approval() {
  let text = '';
  for await (const chunk of process.stdin) text += chunk;
  return text;
}

async function obey() {
  const record = existsSync(recordFile) ? JSON.parse(readFileSync(recordFile, 'utf8')) : null;
  if (behaviour.settlesLate !== undefined) settle(behaviour.settlesLate);
  await note('signaled', { record });
  if (behaviour.stubborn !== true) process.exit(0);
}

process.on('SIGTERM', () => void obey());

const given = await approval();
await note('started', { words, env: process.env, cwd: process.cwd(), approval: given, pid: process.pid });
if (behaviour.complains !== undefined) process.stderr.write(behaviour.complains.replace('{approval}', given));
if (behaviour.floods !== undefined)
  await new Promise((done) => process.stderr.write('x'.repeat(behaviour.floods), done));
if (behaviour.exits !== undefined) process.exit(behaviour.exits);

const server = createServer((incoming, response) => void answer(incoming, response));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const line = { url: `localhost:${port}`, pid: process.pid, session_id: sessionId };
  const named = { name: after('--capsule'), version: after('--capsule-version'), workdir };
  const first = behaviour.first ?? `${JSON.stringify({ ...line, ...named, ...behaviour.line })}\n`;
  process.stdout.write(first);
  if (behaviour.chatters !== undefined)
    process.stdout.write('y'.repeat(behaviour.chatters), () => void note('chattered'));
});
