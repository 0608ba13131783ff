import fc from 'fast-check';
import { expect, it } from 'vitest';

import {
  allowedTools,
  boundedLaunch,
  inTheWay,
  type Permit,
  type SkillInUse,
} from '../../src/tools/skills/allowed-tools.ts';
import { covers, coversEverywhere } from '../../src/tools/skills/list-covers.ts';
import { call, callables, commands, dispatched, judged, list, permitsOf, stack, words } from './skill-lists.ts';

const place = { root: '.skills/x/', scripts: { 'scripts/a.py': 'python3' } };
const among = fc.subarray([...callables]);

type Words = readonly string[] | null;

function used(given: Words, name = 's'): SkillInUse {
  return { name, permits: permitsOf(given) ?? null };
}

/** What a call comes to beside these skills, and beside one more. */
async function withOneMore(
  lists: readonly Words[],
  more: Words,
  made: Parameters<typeof dispatched>[1],
): Promise<readonly [Awaited<ReturnType<typeof dispatched>>, Awaited<ReturnType<typeof dispatched>>]> {
  const [before, after] = [lists, [...lists, more]].map((each) => each.map((words) => permitsOf(words)));
  return [await dispatched(before ?? [], made), await dispatched(after ?? [], made)];
}

/** The properties of the lists of skills, each over so many cases; those of calls go through the dispatch of a session. */
export function holdsOverCases(numRuns: number): void {
  const cases = { numRuns };
  const timeout = 600_000;
  const counterexample = async (property: fc.IRawProperty<unknown>): Promise<unknown> =>
    (await fc.check(property, cases)).counterexample;

  it('lets no more through for one skill more', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(stack, list, call, async (lists, more, made) => {
          const [before, after] = await withOneMore(lists, more, made);
          return !after.ran || before.ran;
        }),
      ),
    ).toBeNull();
  });

  it('lets through what each skill lets through, in any order', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(stack, call, async (lists, made) => {
          const permits = lists.map((each) => permitsOf(each));
          const together = await dispatched(permits, made);
          const turned = await dispatched(permits.toReversed(), made);
          const each: boolean[] = [];
          for (const one of permits) each.push((await dispatched([one], made)).ran);
          return together.ran === each.every((ran) => ran) && turned.ran === together.ran;
        }),
      ),
    ).toBeNull();
  });

  it('changes nothing for the same list again', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(stack, list, call, async (lists, one, made) => {
          const once = await dispatched(
            [...lists, one].map((each) => permitsOf(each)),
            made,
          );
          const twice = await dispatched(
            [...lists.slice(0, 2), one, one].map((each) => permitsOf(each)),
            made,
          );
          const same = await dispatched(
            [...lists.slice(0, 2), one].map((each) => permitsOf(each)),
            made,
          );
          return twice.ran === same.ran && (!once.ran || same.ran);
        }),
      ),
    ).toBeNull();
  });

  it('asks no hook about what a list refuses', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(stack, call, async (lists, made) => {
          const { ran, judged: asked } = await dispatched(
            lists.map((each) => permitsOf(each)),
            made,
          );
          return ran === asked;
        }),
      ),
    ).toBeNull();
  });

  it('takes from a launch and never gives to it', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(stack, list, call, async (lists, more, made) => {
          const [before, after] = await withOneMore(lists, more, made);
          if (!after.ran) return true;
          const without = new Set(after.narrowed?.without);
          const isSubset = (before.narrowed?.without ?? []).every((name) => without.has(name));
          return isSubset && (before.narrowed?.readOnly !== true || after.narrowed?.readOnly === true);
        }),
      ),
    ).toBeNull();
  });

  it('lets a command start what may be called with any arguments', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(stack, call, async (lists, made) => {
          const permits = lists.map((each) => permitsOf(each));
          const { ran, narrowed } = await dispatched(permits, made);
          if (!ran || narrowed === null) return true;
          const startable = commands.filter((name) => !narrowed.without.includes(name));
          for (const name of startable) {
            const each = await dispatched(permits, [name, { command: 'any thing at all' }]);
            if (!each.ran || each.narrowed?.readOnly === true) return false;
          }
          return true;
        }),
      ),
    ).toBeNull();
  });

  it('permits nothing that the capsule does not have', { timeout }, async () => {
    const holds = (given: readonly string[]): boolean =>
      allowedTools(given, callables, place).permits.every(({ tool }) => callables.some(({ name }) => name === tool));
    expect(await counterexample(fc.property(words, holds))).toBeNull();
  });

  it('takes nothing from a word that stands for nothing', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(words, call, async (given, made) => {
          const { permits, unknown } = allowedTools(given, callables, place);
          const known = given.filter((each) => !unknown.includes(each));
          const without = allowedTools(known, callables, place).permits;
          return (await dispatched([permits], made)).ran === (await dispatched([without], made)).ran;
        }),
      ),
    ).toBeNull();
  });

  it('permits less of a capsule that has less', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(words, among, call, async (given, fewer, made) => {
          const less = await dispatched([permitsOf(given, fewer)], made);
          return !less.ran || (await dispatched([permitsOf(given)], made)).ran;
        }),
      ),
    ).toBeNull();
  });

  it('covers only what could be called before', { timeout }, async () => {
    expect(
      await counterexample(
        fc.asyncProperty(list, list, call, async (before, after, made) => {
          if (!covers(used(before).permits, used(after).permits)) return true;
          const now = await dispatched([permitsOf(after)], made);
          return !now.ran || (await dispatched([permitsOf(before)], made)).ran;
        }),
      ),
    ).toBeNull();
  });

  it('covers everywhere only what it covers in a capsule', { timeout }, async () => {
    const programs = fc.constantFrom<Readonly<Record<string, string>>>({}, place.scripts, { 'scripts/a.py': 'bash' });
    const holds = (
      [before, old]: readonly [Words, Readonly<Record<string, string>>],
      [after, now]: readonly [Words, Readonly<Record<string, string>>],
      fewer: typeof callables,
    ): boolean => {
      if (!coversEverywhere({ words: before, scripts: old }, { words: after, scripts: now })) return true;
      if (before === null || after === null) return before === null;
      const permits = (given: readonly string[], scripts: Readonly<Record<string, string>>): readonly Permit[] =>
        allowedTools(given, fewer, { ...place, scripts }).permits.filter(
          ({ tool }) => fewer.find(({ name }) => name === tool)?.kind !== 'skill' && tool !== 'svc-tool-request-input',
        );
      return covers(permits(before, old), permits(after, now));
    };
    const asked = fc.tuple(list, programs);
    const near = fc.tuple(asked, fc.subarray([0, 1, 2, 3, 4, 5])).chain(([[given, scripts], kept]) => {
      // Lists that have nothing to do with each other are seldom covered.
      const part = given === null ? fc.constant(null) : fc.constant(given.filter((_, index) => kept.includes(index)));
      return fc.tuple(fc.constant([given, scripts] as const), fc.tuple(fc.oneof(part, list), programs));
    });
    expect(
      await counterexample(fc.property(near, among, ([one, other], fewer) => holds(one, other, fewer))),
    ).toBeNull();
  });

  it('covers itself everywhere', { timeout }, async () => {
    const holds = (given: Words): boolean =>
      coversEverywhere({ words: given, scripts: place.scripts }, { words: given, scripts: place.scripts });
    expect(await counterexample(fc.property(list, holds))).toBeNull();
  });

  it('covers only what could be started and written before', { timeout }, async () => {
    const capsule = { commands, writable: true };
    const holds = (
      before: readonly string[] | null,
      after: readonly string[] | null,
      made: Parameters<typeof judged>[0],
    ): boolean => {
      const [old, now] = [used(before), used(after)];
      if (!covers(old.permits, now.permits) || inTheWay([now], judged(made)) !== null) return true;
      const [was, is] = [boundedLaunch([old], judged(made), capsule), boundedLaunch([now], judged(made), capsule)];
      return is.commands.every((name) => was.commands.includes(name)) && (!is.writable || was.writable);
    };
    expect(await counterexample(fc.property(list, list, call, holds))).toBeNull();
  });

  it('covers itself', { timeout }, async () => {
    expect(
      await counterexample(fc.property(list, (given) => covers(used(given).permits, used(given).permits))),
    ).toBeNull();
  });
}
