import { beforeAll, describe, expect, it, type TestContext } from 'vitest';

import { allAttempts } from '../src/attempt-suite.ts';
import { promisedOf } from '../src/attempt.ts';
import { answersToRoot, answersToUser, impossibleAlone, impossibleToUser } from './escape-answers.ts';
import { type EscapeColumn, makeEscapes } from './escape-columns.ts';
import { rootIsBounded } from '../../sandbox/test/process-limit-of-root.ts';

const mayLackNothing = process.env['REQUIRE_CONTAINMENT'] === 'sealed';
const isRoot = process.getuid?.() === 0;

/** In a control group the kernel exempts nobody, and what is left in it goes with the session. */
const bounded = {
  processes: 'allowed | refused EAGAIN | refused EAGAIN | refused EAGAIN',
  daemon: 'allowed | refused without-effect | refused without-effect | refused without-effect',
};
const answersToRootHere = rootIsBounded() ? { ...answersToRoot, ...bounded } : answersToRoot;

/** The users to make the attempts as: the user of the tests, and an ordinary one where that is root. */
const users = isRoot
  ? [
      { name: 'root', user: undefined, answers: answersToRootHere, impossible: impossibleAlone },
      { name: 'uid 1000', user: 1000, answers: answersToUser, impossible: impossibleToUser },
    ]
  : [{ name: 'this user', user: undefined, answers: answersToUser, impossible: impossibleToUser }];

const places = ['alone', 'advisory', 'scoped', 'sealed'] as const;

/** Only root can make the file that this one runs. */
const needsRoot = 'execute-setuid';

let made: ReadonlyMap<string, readonly EscapeColumn[]> = new Map();
beforeAll(async () => {
  made = new Map(
    await Promise.all(
      users.map(async ({ name, user }): Promise<[string, readonly EscapeColumn[]]> => [name, await makeEscapes(user)]),
    ),
  );
}, 240_000);

/** The answers of a place; where the host has no such place the test is skipped, or fails where none may lack. */
function answersIn(context: TestContext, user: string, place: EscapeColumn['name']): Readonly<Record<string, string>> {
  const column = made.get(user)?.find(({ name }) => name === place);
  if (column === undefined) throw new Error(`no attempts were made as ${user}`);
  if (column.answers !== null) return column.answers;
  const reason = `this host does not give ${place}: ${column.reason}`;
  if (mayLackNothing) throw new Error(reason);
  context.skip(true, reason);
  return {};
}

/** The cells of a place in a table, `-` being none. */
function cellsOf(answers: Readonly<Record<string, string>>, place: EscapeColumn['name']): [string, string][] {
  return Object.entries(answers).flatMap(([name, row]): [string, string][] => {
    const cell = row.split(' | ')[places.indexOf(place)] ?? '-';
    return cell === '-' ? [] : [[name, cell]];
  });
}

function expectedIn(answers: Readonly<Record<string, string>>, place: EscapeColumn['name']): Record<string, string> {
  return Object.fromEntries(cellsOf(answers, place).filter(([name]) => isRoot || name !== needsRoot));
}

describe.each(users)('attempts to escape, made by $name', ({ name, answers, impossible }) => {
  it('succeed without containment, except for those that nobody can make', (context) => {
    const seen = answersIn(context, name, 'alone');
    const failed = Object.keys(seen).filter((attempt) => seen[attempt] !== 'allowed');
    const byHost = failed.filter((attempt) => !Object.hasOwn(impossible, attempt));
    context.skip(byHost.length > 0 && !mayLackNothing, `this host refuses by itself: ${byHost.join(', ')}`);
    expect(failed.sort()).toEqual(Object.keys(impossible).sort());
    expect(seen).toEqual(expectedIn(answers, 'alone'));
  });

  it('get past a filter of system calls where files are the matter, and no further [D1-MECH-03]', (context) => {
    expect(answersIn(context, name, 'advisory')).toEqual(expectedIn(answers, 'advisory'));
  });

  it('do not get at files outside the scope, but learn of them [D1-MECH-02]', (context) => {
    expect(answersIn(context, name, 'scoped')).toEqual(expectedIn(answers, 'scoped'));
  });

  it('find nothing of the host in a root of their own [D1-MECH-01]', (context) => {
    expect(answersIn(context, name, 'sealed')).toEqual(expectedIn(answers, 'sealed'));
  });
});

/** What has to work, as it is granted. */
const granted: Readonly<Record<string, readonly string[]>> = {
  interpret: ['advisory', 'scoped', 'sealed'],
  'run-copy-where-granted': ['advisory', 'scoped', 'sealed'],
  'listed-host-past-proxy': ['advisory', 'scoped'],
  'listed-host-by-proxy': ['sealed'],
  'plan-whole': ['advisory', 'scoped', 'sealed'],
};

function promiseFor(name: string, answer: string, place: string): string {
  // Ports are stopped where hosts cannot be, and that is not claimed.
  if (name === 'other-port' && place === 'scoped') return 'open';
  if (answer === 'allowed') return granted[name]?.includes(place) === true ? 'works' : 'open';
  return answer.startsWith('killed') ? 'killed' : 'stopped';
}

describe('the list of attempts', () => {
  it.each(['advisory', 'scoped', 'sealed'] as const)('promises what is seen in %s', (place) => {
    const held_by = place === 'sealed' ? 'user-namespace' : 'none';
    const limits = [{ resource: 'processes', of: 'session', max: 1, held_by }] as const;
    const promised = allAttempts.map((attempt) => [attempt.name, promisedOf(attempt, place, limits)] as const);
    const seen = cellsOf(answersToRoot, place);
    expect(Object.fromEntries(promised.filter(([, promise]) => promise !== null))).toEqual(
      Object.fromEntries(seen.map(([name, answer]) => [name, promiseFor(name, answer, place)])),
    );
  });

  it('promises the limit on processes where something holds it', () => {
    const limit = allAttempts.find(({ name }) => name === 'processes');
    expect(limit?.promises).toEqual({ advisory: 'stopped', scoped: 'stopped', sealed: 'stopped' });
    expect(allAttempts.filter((attempt) => attempt.limit !== undefined)).toEqual([limit]);
  });

  it('names each once, and has an answer for each', () => {
    const names = allAttempts.map((attempt) => attempt.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.sort()).toEqual(Object.keys(answersToRoot).sort());
  });
});
