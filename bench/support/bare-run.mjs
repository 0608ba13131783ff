// @ts-check
// The floor of a run: a Node process that says that it is there, asks a model once, keeps the answer in a file that is synced, and ends. node bare-run.mjs <port>
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { request } from 'node:http';
import { createInterface } from 'node:readline';

const port = Number(process.argv[2]);
console.log('{}');
const messages = [{ role: 'user', content: 'Go.' }];
const headers = { 'content-type': 'application/json' };
request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions', headers }, (response) => {
  let answer = '';
  const lines = createInterface({ input: response });
  lines.on('line', (line) => {
    if (line.startsWith('data: {')) answer += JSON.parse(line.slice(6)).choices[0].delta.content ?? '';
  });
  lines.once('close', () => {
    keep(answer);
    // As svc does; without it Node takes longer to end.
    process.exit();
  });
}).end(JSON.stringify({ model: 'tireless', stream: true, messages }));

/** @param {string} answer */
function keep(answer) {
  mkdirSync('out', { recursive: true });
  const file = openSync('out/result.tmp', 'w');
  writeSync(file, answer);
  fsyncSync(file);
  closeSync(file);
  renameSync('out/result.tmp', 'out/result.txt');
}
