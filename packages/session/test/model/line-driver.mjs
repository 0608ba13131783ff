// A driver in the JSON-lines dialect that behaves as its first argument says.
import { createInterface } from 'node:readline';

const scenario = process.argv[2] ?? 'echo';

function line(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function respond(text, extra = {}) {
  line({ type: 'response', response: { content: [{ type: 'text', text }], stop_reason: 'end_turn', ...extra } });
}

let turn = 0;

const scenarios = {
  /** Answers with the turn and the text of the last message. */
  echo(request) {
    const last = request.messages.at(-1)?.content.at(-1)?.text ?? '';
    line({ type: 'thinking', text: 'hm' });
    line({ type: 'chunk', text: 'a' });
    process.stdout.write('\n  \n');
    line({ type: 'chunk', text: 'b' });
    respond(`turn ${turn} of ${process.pid}: ${last}`, { usage: { input_tokens: 1, output_tokens: 2 } });
  },
  environment() {
    respond(JSON.stringify({ env: process.env, cwd: process.cwd() }));
  },
  bytes() {
    const text = `${JSON.stringify({ type: 'response', response: { content: [{ type: 'text', text: 'ä€😀' }], stop_reason: 'end_turn' } })}\n`;
    const bytes = Buffer.from(text);
    let sent = 0;
    const send = () => {
      if (sent < bytes.length) process.stdout.write(bytes.subarray(sent, (sent += 1)), () => setImmediate(send));
    };
    send();
  },
  'no-line-feed'() {
    process.stdout.write('{"type":"response","response":{"content":[],"stop_reason":"end_turn"}}', () =>
      process.exit(0),
    );
  },
  'not-json'() {
    process.stdout.write('Traceback (most recent call last):\n');
  },
  'not-text'() {
    process.stdout.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
  },
  'other-shape'() {
    line({ type: 'response', response: { content: 'hello', stop_reason: 'end_turn' } });
  },
  'too-deep'() {
    process.stdout.write(`{"type":"chunk","text":${'['.repeat(1000)}${']'.repeat(1000)}}\n`);
  },
  exit() {
    process.stderr.write('one\ntwo\nthree\nfour\nfive\nsix\n', () => process.exit(3));
  },
  'kill-itself'() {
    process.kill(process.pid, 'SIGKILL');
  },
  'half-a-line'() {
    process.stdout.write('{"type":"response","resp', () => process.exit(0));
  },
  'many-values'() {
    const input = `[${'{},'.repeat(300_000)}0]`;
    const call = `{"type":"tool_call","id":"a","name":"b","input":${input}}`;
    process.stdout.write(`{"type":"response","response":{"content":[${call}],"stop_reason":"tool_call"}}\n`);
  },
  'long-line'() {
    const piece = 'x'.repeat(1024 * 1024);
    let left = 100;
    const send = () => {
      left -= 1;
      if (left > 0) process.stdout.write(piece, send);
    };
    send();
  },
  'flood-stderr'() {
    let left = 50;
    const send = () => {
      left -= 1;
      if (left > 0) process.stderr.write('e'.repeat(1024 * 1024), send);
      else respond('survived');
    };
    send();
  },
  'closes-output'() {
    process.stdout.end();
    setInterval(() => {}, 1000);
  },
  'talks-on'() {
    respond('first');
    respond('second');
  },
  silent() {
    process.stderr.write('waiting\n');
  },
  stays() {
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
    respond(String(process.pid));
  },
};

if (scenario === 'exit-at-once') process.exit(9);

createInterface({ input: process.stdin }).on('line', (text) => {
  const message = JSON.parse(text);
  if (message.type !== 'request') throw new Error(`unexpected line: ${text}`);
  turn += 1;
  scenarios[scenario](message.request);
});
