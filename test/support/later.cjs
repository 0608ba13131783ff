// Loaded into a program before its own code: at SIGUSR2 ten minutes have passed for whatever it waits for, and it says so.
'use strict';
const { Socket } = require('node:net');
const promises = require('node:timers/promises');

const passedMs = 600_000;
const due = new Set();
const timers = new WeakMap();

/** Runs `act` when the ten minutes pass, where it would run within them. */
function remember(act, ms) {
  const entry = { act };
  if (ms <= passedMs) due.add(entry);
  return entry;
}

for (const name of ['setTimeout', 'setInterval']) {
  const start = globalThis[name];
  globalThis[name] = (act, ms = 0, ...args) => {
    const entry = remember(() => act(...args), ms);
    const timer = start(
      (...given) => {
        if (name === 'setTimeout') due.delete(entry);
        act(...given);
      },
      ms,
      ...args,
    );
    timers.set(timer, entry);
    return timer;
  };
}

for (const name of ['clearTimeout', 'clearInterval']) {
  const clear = globalThis[name];
  globalThis[name] = (timer) => {
    if (typeof timer === 'object' && timer !== null) due.delete(timers.get(timer));
    clear(timer);
  };
}

const wait = promises.setTimeout;
promises.setTimeout = (ms, value, options) => {
  const { promise, resolve } = Promise.withResolvers?.() ?? resolvable();
  const entry = remember(() => resolve(value), ms);
  return Promise.race([promise, wait(ms, value, options).finally(() => due.delete(entry))]);
};

function resolvable() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}

const timeout = Reflect.get(AbortSignal, 'timeout');
AbortSignal.timeout = (ms) => {
  const controller = new AbortController();
  remember(() => controller.abort(new DOMException('the time is up', 'TimeoutError')), ms);
  return AbortSignal.any([timeout.call(AbortSignal, ms), controller.signal]);
};

const idle = Reflect.get(Socket.prototype, 'setTimeout');
const idleSockets = new Map();
Socket.prototype.setTimeout = function (ms, ...args) {
  due.delete(idleSockets.get(this));
  if (ms > 0)
    idleSockets.set(
      this,
      remember(() => this.emit('timeout'), ms),
    );
  return idle.call(this, ms, ...args);
};

process.on('SIGUSR2', () => {
  const passed = [...due];
  due.clear();
  for (const { act } of passed) act();
  setImmediate(() => process.stderr.write('ten minutes have passed\n'));
});
