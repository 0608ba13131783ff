import { describe, expect, it } from 'vitest';

import { ArgumentCheck } from '../argument-check.ts';
import type { ToolKind } from '../tool.ts';
import { checkPlan, type PlanCheck } from './check-plan.ts';
import { planSchema } from './plan.ts';

const tools: Readonly<Record<string, ToolKind>> = {
  editor: 'wasm',
  mood: 'native',
  sh: 'shell',
  style: 'skill',
  'share-file': 'runtime',
  'submit-plan': 'runtime',
  'delegate-task': 'runtime',
};
const kindOf = (name: string): ToolKind | undefined => new Map(Object.entries(tools)).get(name);

function check(steps: unknown, id: unknown = 'p'): PlanCheck {
  return checkPlan({ id, steps }, kindOf);
}

function problems(...steps: readonly unknown[]): readonly string[] {
  const checked = check(steps);
  return checked.kind === 'refused' ? checked.problems : [];
}

/** A step that only has its place. */
function at(id: string, ...dependsOn: readonly string[]): object {
  return { id, tool: 'editor', depends_on: dependsOn };
}

function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { inner: value };
  return value;
}

describe('a plan that can be run', () => {
  it('gets defaults for what its steps leave out', () => {
    expect(
      check([
        { id: 'a', tool: 'editor' },
        { id: 'b', shell: 'sh', input: 'ls', depends_on: ['a'], on_error: 'skip', retries: 2 },
        { id: 'c', shell: 'sh', input: { command: 'pwd' }, if: { step: 'b', is: 'failed' } },
        { id: 'd', capsule: 'helper', version: '1.0.0', input: 'Sum up {{steps.a.output}}', depends_on: ['b'] },
      ]),
    ).toEqual({
      kind: 'plan',
      plan: {
        id: 'p',
        steps: [
          {
            id: 'a',
            work: { kind: 'tool', name: 'editor', input: {} },
            dependsOn: [],
            condition: null,
            onError: 'fail',
            retries: 0,
          },
          {
            id: 'b',
            work: { kind: 'shell', name: 'sh', command: 'ls' },
            dependsOn: ['a'],
            condition: null,
            onError: 'skip',
            retries: 2,
          },
          {
            id: 'c',
            work: { kind: 'shell', name: 'sh', command: 'pwd' },
            dependsOn: [],
            condition: { step: 'b', is: 'failed' },
            onError: 'fail',
            retries: 0,
          },
          {
            id: 'd',
            work: { kind: 'capsule', name: 'helper', version: '1.0.0', task: 'Sum up {{steps.a.output}}' },
            dependsOn: ['b'],
            condition: null,
            onError: 'fail',
            retries: 0,
          },
        ],
      },
    });
  });

  it.each([
    ['ids that objects inherit', [at('__proto__'), at('constructor', '__proto__'), at('toString', 'constructor')]],
    ['256 steps in a row', Array.from({ length: 256 }, (_, n) => at(`s${n}`, ...(n === 0 ? [] : [`s${n - 1}`])))],
    ['an input of 64 levels', [{ id: 'a', tool: 'editor', input: { inner: nested(63) } }]],
    ['a step that is named before it stands', [at('a', 'b'), at('b')]],
    ['a dependency named twice', [at('a'), at('b', 'a', 'a')]],
    [
      'an output of a step that is waited for through another',
      [at('a'), at('b', 'a'), { ...at('c', 'b'), input: { x: '{{steps.a.output}}' } }],
    ],
    [
      'an output of the step of a condition',
      [at('a'), { id: 'b', tool: 'editor', if: { step: 'a', is: 'passed' }, input: { x: '{{ steps.a.output }}' } }],
    ],
    [
      'braces of other languages',
      [{ id: 'a', tool: 'editor', input: { x: '${{ steps.b.outputs.sha }} {{name}} {{step.b}}' } }],
    ],
    [
      'a runtime tool that is no other way to plan or delegate',
      [{ id: 'a', tool: 'share-file', input: { path: 'a' } }],
    ],
  ])('may have %s', (_what, steps) => {
    expect(check(steps).kind).toBe('plan');
  });
});

describe('a plan that cannot be run', () => {
  it.each([
    ['one id twice', [at('a'), at('b'), at('a')], ['steps[0] and steps[2] share the id "a"']],
    [
      'a step that names nothing to do',
      [{ id: 'a', input: {} }],
      ['step "a" names none of tool, shell and capsule; exactly one is needed'],
    ],
    [
      'a step that names two things to do',
      [{ id: 'a', tool: 'editor', shell: 'sh' }],
      ['step "a" names tool and shell of tool, shell and capsule; exactly one is needed'],
    ],
    ['an unknown tool', [{ id: 'a', tool: 'edit' }], ['step "a" names the tool "edit", which does not exist']],
    [
      'a tool that objects inherit',
      [{ id: 'a', tool: '__proto__' }],
      ['step "a" names the tool "__proto__", which does not exist'],
    ],
    [
      'an unknown command',
      [{ id: 'a', shell: 'git', input: '' }],
      ['step "a" names the command "git", which does not exist'],
    ],
    [
      'a command as tool',
      [{ id: 'a', tool: 'sh' }],
      ['step "a" names sh as tool; it is a command, so name it as shell'],
    ],
    [
      'a tool as command',
      [{ id: 'a', shell: 'mood', input: 'x' }],
      ['step "a" names mood as shell; it is not a command, so name it as tool'],
    ],
    [
      'a skill',
      [{ id: 'a', tool: 'style' }],
      ['step "a" names the skill style, which is for you to read: call it yourself'],
    ],
    ['itself', [{ id: 'a', tool: 'submit-plan' }], ['step "a" cannot call submit-plan: a plan does not submit plans']],
    [
      'itself as command',
      [{ id: 'a', shell: 'submit-plan', input: 'x' }],
      ['step "a" names submit-plan as shell; it is not a command, so name it as tool'],
    ],
    [
      'a delegation',
      [{ id: 'a', tool: 'delegate-task' }],
      ['step "a" cannot call delegate-task: a step gives a task to a capsule with capsule and version'],
    ],
    [
      'arguments that are no object',
      [{ id: 'a', tool: 'editor', input: ['x'] }],
      ['step "a" has an input that is not an object; a tool takes the object of its arguments'],
    ],
    [
      'no command',
      [{ id: 'a', shell: 'sh' }],
      ['step "a" has an input that is not a command; give it as text or as {"command": text}'],
    ],
    [
      'more than a command',
      [{ id: 'a', shell: 'sh', input: { command: 'ls', cwd: '/' } }],
      ['step "a" has an input that is not a command; give it as text or as {"command": text}'],
    ],
    [
      'a capsule without a version',
      [{ id: 'a', capsule: 'helper', input: 'x' }],
      ['step "a" names a capsule without its version'],
    ],
    [
      'a capsule of no exact version',
      [{ id: 'a', capsule: 'helper', version: 'latest', input: 'x' }],
      ['step "a" has the version "latest", which is not an exact one'],
    ],
    [
      'a capsule of no name',
      [{ id: 'a', capsule: '../x', version: '1.0.0', input: 'x' }],
      ['step "a" names the capsule "../x", which is not a capsule name'],
    ],
    [
      'a capsule without a task',
      [{ id: 'a', capsule: 'helper', version: '1.0.0', input: {} }],
      ['step "a" has an input that is not a task; a capsule takes a text'],
    ],
    [
      'a version of a tool',
      [{ id: 'a', tool: 'editor', version: '1.0.0' }],
      ['step "a" has a version, which only a capsule has'],
    ],
    ['an unknown dependency', [at('a', 'z')], ['step "a" names "z" in depends_on, which is not a step of the plan']],
    [
      'an inherited name as dependency',
      [at('a', '__proto__')],
      ['step "a" names "__proto__" in depends_on, which is not a step of the plan'],
    ],
    [
      'an unknown condition',
      [{ ...at('a'), if: { step: 'z', is: 'passed' } }],
      ['step "a" names "z" in if, which is not a step of the plan'],
    ],
    ['a step that waits for itself', [at('a', 'a')], ['step "a" waits for itself']],
    [
      'a step whose condition is itself',
      [{ ...at('a'), if: { step: 'a', is: 'passed' } }],
      ['step "a" waits for itself'],
    ],
    [
      'a condition that never holds',
      [at('a'), { ...at('b'), if: { step: 'a', is: 'failed' } }],
      ['step "b" waits for the failure of "a", whose failure ends the plan: give that one on_error skip or continue'],
    ],
    [
      'a cycle',
      [at('a'), at('b', 'a', 'd'), at('c', 'b'), at('d', 'c')],
      ['the steps wait for each other: "b" → "d" → "c" → "b"'],
    ],
    [
      'a cycle through a condition',
      [{ ...at('a'), if: { step: 'b', is: 'passed' } }, at('b', 'a')],
      ['the steps wait for each other: "a" → "b" → "a"'],
    ],
    [
      'a long cycle, which is not shown whole',
      Array.from({ length: 256 }, (_, n) => at(`s${n}`, `s${(n + 1) % 256}`)),
      ['the steps wait for each other: "s0" → "s1" → "s2" → "s3" → "s4" → "s5" → "s6" → (249 more) → "s0"'],
    ],
    [
      'an output in a command',
      [at('a'), { id: 'b', shell: 'sh', input: 'echo {{steps.a.output}}', depends_on: ['a'] }],
      [
        'step "b" puts an output into a command, where it could run as one: let a tool write it into a file and have the command read that',
      ],
    ],
    [
      'an output of a step that is not waited for',
      [at('a'), { ...at('b'), input: { x: ['{{steps.a.output}}'] } }],
      ['step "b" uses the output of "a" without waiting for it: add it to depends_on'],
    ],
    [
      'an output of a later step',
      [{ ...at('a'), input: { x: '{{steps.b.output}}' } }, at('b', 'a')],
      ['step "a" uses the output of "b" without waiting for it: add it to depends_on'],
    ],
    [
      'a misspelt reference',
      [at('a'), { ...at('b', 'a'), input: { x: 'see {{steps.a.stdout}}' } }],
      ['step "b" holds "{{steps.a.stdout}}", which is not of the form {{steps.<id>.output}}'],
    ],
    [
      'an input of 65 levels',
      [{ id: 'a', tool: 'editor', input: { inner: nested(64) } }],
      ['step "a" has an input of more than 64 levels'],
    ],
    [
      'a plan of more than a mebibyte',
      [{ id: 'a', tool: 'editor', input: { x: 'x'.repeat(1024 * 1024) } }],
      ['the plan is longer than 1048576 characters'],
    ],
  ])('has %s', (_what, steps, expected) => {
    expect(problems(...steps)).toEqual(expected);
  });

  it('has a list of all its problems, up to ten', () => {
    expect(problems({ id: 'a', tool: 'none' }, at('b', 'y', 'z'), { id: 'b' })).toEqual([
      'steps[1] and steps[2] share the id "b"',
      'step "a" names the tool "none", which does not exist',
      'step "b" names none of tool, shell and capsule; exactly one is needed',
      'step "b" names "y" in depends_on, which is not a step of the plan',
      'step "b" names "z" in depends_on, which is not a step of the plan',
    ]);
    const many = problems(...Array.from({ length: 25 }, (_, n) => ({ id: `s${n}`, tool: 'none' })));
    expect(many.length).toBe(11);
    expect(many.at(-1)).toBe('and 15 more');
  });
});

/** What the schema says to a model and what the shape refuses are two texts of one rule. */
describe('the arguments of submit-plan', () => {
  const step = { id: 'a', tool: 'editor' };

  it.each([
    ['no steps', { id: 'p', steps: [] }, 'arguments.steps: must NOT have fewer than 1 items'],
    [
      '10,000 steps',
      { id: 'p', steps: Array.from({ length: 10_000 }, () => step) },
      'arguments.steps: must NOT have more than 256 items',
    ],
    ['no id', { steps: [step] }, 'arguments.id: is required'],
    ['an id that is a path', { id: '../p', steps: [step] }, 'arguments.id: must match pattern "^[A-Za-z0-9_-]+$"'],
    [
      'an id of 65 characters',
      { id: 'p'.repeat(65), steps: [step] },
      'arguments.id: must NOT have more than 64 characters',
    ],
    [
      'an empty step id',
      { id: 'p', steps: [{ ...step, id: '' }] },
      'arguments.steps[0].id: must match pattern "^[A-Za-z0-9_-]+$"',
    ],
    [
      'an unknown key',
      { id: 'p', steps: [{ ...step, after: [] }] },
      'arguments.steps[0].after: is not a known property',
    ],
    [
      'another on_error',
      { id: 'p', steps: [{ ...step, on_error: 'stop' }] },
      'arguments.steps[0].on_error: must be one of ["fail","skip","continue"]',
    ],
    ['six retries', { id: 'p', steps: [{ ...step, retries: 6 }] }, 'arguments.steps[0].retries: must be <= 5'],
    ['half a retry', { id: 'p', steps: [{ ...step, retries: 0.5 }] }, 'arguments.steps[0].retries: must be integer'],
    ['a condition that is text', { id: 'p', steps: [{ ...step, if: 'a' }] }, 'arguments.steps[0].if: must be object'],
    [
      'a condition without an end',
      { id: 'p', steps: [{ ...step, if: { step: 'a' } }] },
      'arguments.steps[0].if.is: is required',
    ],
    [
      'a dependency that is no text',
      { id: 'p', steps: [{ ...step, depends_on: [1] }] },
      'arguments.steps[0].depends_on[0]: must be string',
    ],
    [
      'a tool without a name',
      { id: 'p', steps: [{ ...step, tool: '' }] },
      'arguments.steps[0].tool: must NOT have fewer than 1 characters',
    ],
  ])('fail with %s', async (_what, args, sentence) => {
    expect((await new ArgumentCheck(planSchema).problemsOf(args))[0]).toBe(sentence);
    expect(checkPlan(args, kindOf)).toMatchObject({
      kind: 'refused',
      problems: [expect.stringContaining('does not fit')],
    });
  });

  it('may have every key there is', async () => {
    const full = { ...step, input: {}, depends_on: [], on_error: 'continue', retries: 5 };
    const args = { id: 'p-1_A', steps: [full, { id: 'b', tool: 'editor', if: { step: 'a', is: 'skipped' } }] };
    expect(await new ArgumentCheck(planSchema).problemsOf(args)).toEqual([]);
    expect(checkPlan(args, kindOf).kind).toBe('plan');
  });
});
