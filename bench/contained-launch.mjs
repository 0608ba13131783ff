// @ts-check
// Measures how long a contained program takes to start and end.
import { fileURLToPath } from 'node:url';

import { installBubblewrap } from './support/bubblewrap.mjs';
import { loadSubject } from './support/bundle.mjs';
import { startLaunchProcess } from './support/launch-processes.mjs';
import { alternate } from './support/rounds.mjs';

const rounds = 21;
const launches = 25;
const packageRoot = fileURLToPath(new URL('../', import.meta.url));

/** `true` behind Landlock, the filter and the limits, against a bare spawn in the same process. */
/** @type {import('./support/row.mjs').Row} */
export const containedScoped = {
  name: 'contained-scoped',
  goal: { atMost: 1.25 },
  unit: 'times',
  measure: () => againstBareSpawn('scoped'),
};

/** `true` in namespaces and a root of its own as well. */
/** @type {import('./support/row.mjs').Row} */
export const containedSealed = {
  name: 'contained-sealed',
  goal: { atMost: 1.9 },
  unit: 'times',
  measure: () => againstBareSpawn('sealed'),
};

/**
 * The same two in a process that holds nothing else: Node forks itself for each spawn, so a bare one takes longer the more a process holds. Each also against
 * the helper alone: a shell starts it with the same plan, one launch after another.
 */
/** @type {readonly import('./support/row.mjs').Row[]} */
export const containedInSmall = /** @type {const} */ (['scoped', 'sealed']).flatMap((wanted) => [
  smallRow(`contained-${wanted}-small`, wanted, wanted === 'scoped' ? 0.7 : 1.2, {
    name: 'bare spawn',
    ms: (launching) => launching.bare(launches),
  }),
  smallRow(`contained-${wanted}-helper`, wanted, 1.5, {
    name: 'helper from a shell',
    ms: (launching) => launching.byShell(4 * launches),
  }),
]);

/** The same against `bwrap` with the same mounts and namespaces; it has neither filter nor rules nor limits to set up. */
/** @type {import('./support/row.mjs').Row} */
export const containedBubblewrap = {
  name: 'contained-bubblewrap',
  goal: { atMost: 0.5 },
  unit: 'times',
  async measure() {
    const version = await installBubblewrap();
    return withLaunches('sealed', async (subject) => {
      const taken = await alternate({
        rounds,
        subject: () => subject.contained(launches),
        floor: () => subject.bubblewrap(launches),
      });
      return {
        subject: `sealed ${taken.subject.toFixed(2)} ms`,
        floor: `${version} ${taken.floor.toFixed(2)} ms`,
        figure: taken.subject / taken.floor,
      };
    });
  },
};

/** A program that may reach a host with a key, whose way there stands ready, against one that may reach it by its name. */
/** @type {import('./support/row.mjs').Row} */
export const containedKeyed = {
  name: 'contained-keyed',
  goal: { atMost: 1.05 },
  unit: 'times',
  measure: () =>
    withLaunches('sealed', async (subject) => {
      const taken = await alternate({
        rounds,
        subject: () => subject.keyed(launches),
        floor: () => subject.reaching(launches),
      });
      return {
        subject: `sealed, with a key ${taken.subject.toFixed(2)} ms`,
        floor: `sealed, the host by its name ${taken.floor.toFixed(2)} ms`,
        figure: taken.ratio,
      };
    }),
};

/** A launcher whose heap holds a gigabyte, against one whose heap holds nothing. */
/** @type {import('./support/row.mjs').Row} */
export const containedHeap = {
  name: 'contained-heap',
  goal: { atMost: 1.2 },
  unit: 'times',
  async measure() {
    const large = await startLaunchProcess({ wanted: 'sealed', megabytes: 1024 });
    const small = await startLaunchProcess({ wanted: 'sealed', megabytes: 0 });
    try {
      const taken = await alternate({
        rounds,
        subject: () => large.contained(launches),
        floor: () => small.contained(launches),
      });
      return {
        subject: `sealed, 1 GB heap ${taken.subject.toFixed(2)} ms`,
        floor: `empty heap ${taken.floor.toFixed(2)} ms`,
        figure: taken.subject / taken.floor,
      };
    } finally {
      await Promise.all([large.stop(), small.stop()]);
    }
  },
};

/** The first launch of a process with the commands of a usual capsule: their files are looked for, and the plan is made. */
/** @type {import('./support/row.mjs').Row} */
export const containedFirst = {
  name: 'contained-first',
  goal: { atMost: 150 },
  unit: 'ms',
  async measure() {
    const taken = await alternate({
      rounds: 9,
      subject: () => firstMs(['bash', 'git', 'python3']),
      floor: () => firstMs([]),
    });
    return {
      subject: 'sealed, bash, git and python3',
      floor: `true alone ${taken.floor.toFixed(0)} ms`,
      figure: taken.subject,
    };
  },
};

/**
 * @param {string} name
 * @param {'scoped' | 'sealed'} wanted
 * @param {number} atMost
 * @param {{ name: string, ms: (launching: import('./support/launch-processes.mjs').LaunchProcess) => Promise<number> }} bare
 * @returns {import('./support/row.mjs').Row}
 */
function smallRow(name, wanted, atMost, bare) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const launching = await startLaunchProcess({ wanted, megabytes: 0 });
      try {
        const { subject, floor, ratio } = await alternate({
          rounds,
          subject: () => launching.contained(launches),
          floor: () => bare.ms(launching),
        });
        return {
          subject: `${wanted} ${subject.toFixed(2)} ms`,
          floor: `${bare.name} ${floor.toFixed(2)} ms`,
          figure: ratio,
        };
      } finally {
        await launching.stop();
      }
    },
  };
}

/** @param {readonly string[]} commands */
async function firstMs(commands) {
  const launching = await startLaunchProcess({ wanted: 'sealed', megabytes: 0 });
  try {
    return await launching.first(commands);
  } finally {
    await launching.stop();
  }
}

/** @param {'scoped' | 'sealed'} wanted */
function againstBareSpawn(wanted) {
  return withLaunches(wanted, async (subject) => {
    const taken = await alternate({
      rounds,
      subject: () => subject.contained(launches),
      floor: () => subject.bare(launches),
    });
    return {
      subject: `${wanted} ${taken.subject.toFixed(2)} ms`,
      floor: `bare spawn ${taken.floor.toFixed(2)} ms`,
      figure: taken.subject / taken.floor,
    };
  });
}

/**
 * @template T
 * @param {'scoped' | 'sealed'} wanted
 * @param {(subject: import('./support/launch-subject.ts').LaunchSubject) => Promise<T>} measure
 */
async function withLaunches(wanted, measure) {
  const { openLaunches } = /** @type {typeof import('./support/launch-subject.ts')} */ (
    await loadSubject('launch-subject.ts')
  );
  const subject = await openLaunches(wanted, packageRoot);
  try {
    return await measure(subject);
  } finally {
    await subject.close();
  }
}
