// Loaded into a program before its own code: at SIGUSR2 it writes into $LISTENERS_FILE how many listeners stand on whatever is still in use.
'use strict';
const events = require('node:events');
const { writeFileSync, renameSync } = require('node:fs');
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

const seen = new WeakSet();
let held = [];

function note(target) {
  if (seen.has(target)) return;
  seen.add(target);
  held.push(new WeakRef(target));
}

for (const name of ['on', 'addListener', 'prependListener', 'once', 'prependOnceListener']) {
  const add = events.EventEmitter.prototype[name];
  events.EventEmitter.prototype[name] = function (...args) {
    note(this);
    return add.apply(this, args);
  };
}

const types = new Set();
const add = Reflect.get(EventTarget.prototype, 'addEventListener');
EventTarget.prototype.addEventListener = function (type, ...args) {
  note(this);
  types.add(type);
  return add.call(this, type, ...args);
};

function listenersOf(target) {
  if (target instanceof EventTarget) {
    return [...types].reduce((sum, type) => sum + events.getEventListeners(target, type).length, 0);
  }
  return target.eventNames().reduce((sum, name) => sum + target.listenerCount(name), 0);
}

function count() {
  collect();
  let listeners = 0;
  const used = [];
  for (const reference of held) {
    const target = reference.deref();
    if (target === undefined) continue;
    used.push(reference);
    listeners += listenersOf(target);
  }
  held = used;
  const file = process.env.LISTENERS_FILE;
  writeFileSync(`${file}.new`, JSON.stringify({ listeners, heapBytes: process.memoryUsage().heapUsed }));
  renameSync(`${file}.new`, file);
}

// What was looked at in this round of the loop is kept for its length.
process.on('SIGUSR2', () => setImmediate(() => setImmediate(count)));
