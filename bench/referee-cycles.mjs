// @ts-check
// Measures how many delegations the referee decides.
import { turnsPerSecond, withConnections } from './support/referee-client.mjs';
import { createRegistry, startReferee } from './support/referee-process.mjs';
import { alternate } from './support/rounds.mjs';

/** @typedef {import('./support/referee-process.mjs').Capsules} Capsules */

const rounds = 11;
const load = { warmUpMs: 200, measureMs: 1000 };

/** A lead registers, asks for a worker, the worker registers, both deregister; against the same server whose tokens are constants. */
/** @type {import('./support/row.mjs').Row} */
export const refereeCycles = {
  name: 'referee-cycles',
  goal: { atLeast: 0.85 },
  unit: 'times',
  async measure() {
    return await between({ subject: 'sealed', floor: 'constant' }, async (subject, floor, capsules) => {
      const taken = await alternate({
        rounds,
        subject: () => cyclesPerSecond(subject, capsules),
        floor: () => cyclesPerSecond(floor, capsules),
      });
      return {
        subject: `cycles ${(taken.subject / 1000).toFixed(2)}k/s`,
        floor: `constant tokens ${(taken.floor / 1000).toFixed(2)}k/s`,
        figure: taken.subject / taken.floor,
      };
    });
  },
};

const many = 10_000;
const few = 10;

/** One `POST /spawn` while 10,000 sessions live, against the same while 10 do. */
/** @type {import('./support/row.mjs').Row} */
export const refereeSpawn = {
  name: 'referee-spawn',
  goal: { atMost: 2 },
  unit: 'times',
  async measure() {
    return await between({ subject: 'sealed', floor: 'sealed' }, async (subject, floor, capsules) => {
      const atMany = new LiveSessions(subject, capsules);
      const atFew = new LiveSessions(floor, capsules);
      await atMany.register(many);
      await atFew.register(few);
      const taken = await alternate({
        rounds,
        subject: () => atMany.microsecondsPerSpawn(),
        floor: () => atFew.microsecondsPerSpawn(),
      });
      return {
        subject: `${many} sessions ${taken.subject.toFixed(0)} µs`,
        floor: `${few} sessions ${taken.floor.toFixed(0)} µs`,
        figure: taken.subject / taken.floor,
      };
    });
  },
};

/**
 * Runs `body` with the ports of two referees of one registry.
 * @template T
 * @param {{ subject: 'sealed', floor: 'sealed' | 'constant' }} tokens
 * @param {(subject: number, floor: number, capsules: Capsules) => Promise<T>} body
 */
async function between(tokens, body) {
  const registry = await createRegistry();
  const { root, capsules } = registry;
  try {
    const subject = await startReferee(root, { tokens: tokens.subject });
    try {
      const floor = await startReferee(root, { tokens: tokens.floor });
      try {
        return await body(subject.port, floor.port, capsules);
      } finally {
        await floor.stop();
      }
    } finally {
      await subject.stop();
    }
  } finally {
    await registry.remove();
  }
}

let sessions = 0;

/** An id that no session of this run has had. */
function newSession() {
  sessions += 1;
  return `ses_${sessions.toString(16).padStart(32, '0')}`;
}

/**
 * @param {number} port
 * @param {Capsules} capsules
 */
async function cyclesPerSecond(port, { lead, worker, version }) {
  return await withConnections(port, (connections) =>
    turnsPerSecond({
      connections,
      ...load,
      turn: async (connection) => {
        const parent = await connection.register({ session_id: newSession(), name: lead, version });
        const approval = await connection.spawn(parent, { name: worker, version });
        const child = await connection.register({ session_id: newSession(), name: worker, version }, approval);
        await connection.deregister(child);
        await connection.deregister(parent);
      },
    }),
  );
}

/** Sessions that run at one referee and ask for children. */
class LiveSessions {
  #port;
  #capsules;
  /** @type {string[]} */
  #credentials = [];

  /**
   * @param {number} port
   * @param {Capsules} capsules
   */
  constructor(port, capsules) {
    this.#port = port;
    this.#capsules = capsules;
  }

  /** @param {number} count */
  async register(count) {
    const { lead, version } = this.#capsules;
    await this.#each(count, async (connection) => {
      this.#credentials.push(await connection.register({ session_id: newSession(), name: lead, version }));
    });
  }

  /** Slots that were reserved are given back after the time was taken, with the sessions that reserved them. */
  async microsecondsPerSpawn() {
    const { worker, version } = this.#capsules;
    const asked = new Set();
    const perSecond = await withConnections(this.#port, (connections) =>
      turnsPerSecond({
        connections,
        ...load,
        turn: async (connection, turn) => {
          const credential = this.#credentials[turn % this.#credentials.length] ?? '';
          asked.add(credential);
          await connection.spawn(credential, { name: worker, version });
        },
      }),
    );
    this.#credentials = this.#credentials.filter((credential) => !asked.has(credential));
    const ended = [...asked];
    await this.#each(ended.length, (connection, index) => connection.deregister(ended[index]));
    await this.register(ended.length);
    return 1_000_000 / perSecond;
  }

  /**
   * @param {number} count
   * @param {(connection: import('./support/referee-client.mjs').RefereeConnection, index: number) => Promise<void>} work
   */
  async #each(count, work) {
    let next = 0;
    await withConnections(this.#port, (connections) =>
      Promise.all(
        connections.map(async (connection) => {
          while (next < count) await work(connection, next++);
        }),
      ),
    );
  }
}
