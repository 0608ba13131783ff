// @ts-check
// npm run test:long [-- --ci] [-- <part>...]: runs what takes too long for every change, part by part, and says at the end how each
// ended. With --ci it runs a sample of it, for which a landing can wait.

import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string[]} command
 * @property {Readonly<Record<string, string>>} [env] How much of it is tried.
 */

/** @type {Part[]} */
const whole = [
  {
    name: 'tests',
    command: ['node', 'scripts/conformance.mjs', '--long'],
    env: {
      BUILD_SLOW: '1',
      CRASH_ROUNDS: '100',
      MANY_TURNS: '2000',
      REGISTRY_RACES: '1000',
      REGISTRY_ROUNDS: '500',
      REPEATABLE_ROUNDS: '10',
      RESIZE_HOGS: '3',
      RESIZE_ROUNDS: '200',
      RESOURCE_RACE_READS: '100000',
    },
  },
  {
    name: 'many',
    command: [
      'npx',
      'vitest',
      'run',
      'packages/terminal/src/screen',
      'packages/session/test/replay',
      'test/containment/first-minute.test.ts',
      'test/containment/granted-commands.test.ts',
      'test/containment/made-repository.test.ts',
      'test/containment/mcp.test.ts',
      'test/containment/repository.test.ts',
    ],
    env: { CONTAINED_USERS: 'all', SCREEN_CASES: '10000', REPLAY_SESSIONS: '1000' },
  },
  { name: 's3', command: ['npm', 'run', 'test:s3'] },
  { name: 'node-24', command: ['npm', 'run', 'test:node', '--', '24'] },
  { name: 'node-26', command: ['npm', 'run', 'test:node', '--', '26'] },
  { name: 'mutations', command: ['npm', 'run', 'mutate', '--', '--all'] },
  { name: 'a2a-kit', command: ['node', 'scripts/a2a-tck.mjs'] },
  { name: 'fuzz', command: ['npm', 'run', 'fuzz:native', '--', '600'] },
];

/** @type {Part[]} */
const ofCi = [
  { name: 'tests', command: ['node', 'scripts/conformance.mjs', '--long'] },
  { name: 's3', command: ['npm', 'run', 'test:s3', '--', '--installed'] },
  { name: 'node-24', command: ['npm', 'run', 'test:node', '--', '24'] },
  { name: 'mutations', command: ['npm', 'run', 'mutate', '--', '--sample', '30', '--within', '240'] },
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { ci: { type: 'boolean', default: false } },
});
const parts = values.ci ? ofCi : whole;
const unknown = positionals.filter((name) => !parts.some((part) => part.name === name));
if (unknown.length > 0) {
  console.error(`no such part: ${unknown.join(', ')}; there are ${parts.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

const ends = parts
  .filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  .map(({ name, command: [program = '', ...args], env }) => {
    console.log(`\n${name}: ${[program, ...args].join(' ')}`);
    const begun = performance.now();
    const { status } = spawnSync(program, args, { stdio: 'inherit', env: { ...env, ...process.env } });
    return { name, passed: status === 0, minutes: (performance.now() - begun) / 60_000 };
  });

console.log('');
for (const { name, passed, minutes } of ends)
  console.log(`${passed ? 'passed' : 'failed'}  ${name.padEnd(10)} ${minutes.toFixed(1)} min`);
process.exitCode = ends.every(({ passed }) => passed) ? 0 : 1;
