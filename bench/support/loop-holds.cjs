// @ts-check
// Loaded into a process under measurement. On SIGUSR2 it writes, as JSON to descriptor 3, the longest time in milliseconds that one turn of the
// event loop has kept the main thread at work since the last signal. Time in which the thread waited for a processor does not count.
const { openSync, readSync, writeSync } = require('node:fs');

const schedule = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const text = Buffer.alloc(128);

function atWorkMs() {
  const length = readSync(schedule, text, 0, text.length, 0);
  return Number(text.toString('latin1', 0, length).split(' ')[0]) / 1e6;
}

let before = atWorkMs();
let longest = 0;

setInterval(() => {
  const now = atWorkMs();
  longest = Math.max(longest, now - before);
  before = now;
}, 1).unref();

process.on('SIGUSR2', () => {
  writeSync(3, `${JSON.stringify(longest)}\n`);
  longest = 0;
});
