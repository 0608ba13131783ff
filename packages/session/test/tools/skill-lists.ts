import fc from 'fast-check';

import {
  allowedTools,
  type JudgedToolCall,
  type ListedCallable,
  type Permit,
} from '../../src/tools/skills/allowed-tools.ts';
import { Inventory } from '../../src/tools/inventory.ts';
import { SkillCeiling } from '../../src/tools/skills/skill-ceiling.ts';
import type { NarrowedLaunch } from '@svc/sandbox/launcher.ts';
import type { Tool, ToolCallContext } from '../../src/tools/tool.ts';

/** What a capsule of these tests offers. */
const commands = ['git', 'ls', 'cat', 'grep', 'python3', 'bash', 'npm', 'make', 'jq'];
const linear = ['get_issue', 'create_issue', 'search'];
const skills = ['a', 'b', 'c', 'd'];

export const callables: readonly ListedCallable[] = [
  ...commands.map((name) => ({ name, kind: 'shell' })),
  { name: 'svc-tool-editor', kind: 'wasm' },
  { name: 'svc-tool-request-input', kind: 'wasm' },
  { name: 'delegate-task', kind: 'runtime' },
  ...linear.map((name) => ({ name: `linear__${name}`, kind: 'mcp', artifact: 'linear' })),
  ...skills.map((name) => ({ name, kind: 'skill' })),
];

const place = { root: '.skills/x/', scripts: { 'scripts/a.py': 'python3' } };

const vocabulary = [
  'Read',
  'Grep',
  'Glob',
  'Write',
  'Edit',
  'Bash',
  'Bash(git:*)',
  'Bash(git diff:*)',
  'Bash(git diff --stat)',
  'Bash(git diff --stat:*)',
  'Bash(git * --stat)',
  'Bash(git d*:*)',
  'Bash(npm run test:*)',
  'Bash(npm run *)',
  'Bash(jq:*)',
  'Bash(cat:*)',
  'Bash(cat x)',
  'Bash(docker:*)',
  'Bash(*)',
  'Bash(scripts/a.py:*)',
  'Bash(make)',
  'mcp__linear__get_issue',
  'mcp__linear__*',
  'mcp__linear',
  'mcp__none__x',
  'Task',
  'Agent(deployer)',
  'Skill',
  'Skill(a)',
  'WebFetch',
  'TodoWrite',
  'linear__search',
  'svc-tool-editor',
  'Bash(git; rm)',
  'Bash($(x))',
  '',
  '(',
  'Read(x)',
  '*',
];

const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...vocabulary) },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
);

/** The words of a list. */
export const words: fc.Arbitrary<readonly string[]> = fc.array(word, { maxLength: 6 });

/** A list, or null for a skill without one. */
export const list: fc.Arbitrary<readonly string[] | null> = fc.option(words, { freq: 5 });

/** Lists of skills in use, in the order of their use. */
export const stack: fc.Arbitrary<readonly (readonly string[] | null)[]> = fc.array(list, { maxLength: 3 });

const argument = fc.constantFrom('diff', '--stat', 'run', 'test', 'push', '.skills/x/scripts/a.py', 'x', "'*'", "''");

/** A call that the model may make. */
export const call: fc.Arbitrary<readonly [tool: string, args: Readonly<Record<string, string>>]> = fc.oneof(
  fc.tuple(
    fc.constantFrom(...commands),
    fc.array(argument, { maxLength: 4 }).map((given) => ({ command: given.join(' ') })),
  ),
  fc.tuple(
    fc.constant('svc-tool-editor'),
    fc.constantFrom('read', 'write', 'patch', 'list', 'search').map((command) => ({ command })),
  ),
  fc.tuple(fc.constantFrom(...linear.map((name) => `linear__${name}`)), fc.constant({})),
  fc.tuple(
    fc.constant('delegate-task'),
    fc.constantFrom('deployer', 'other').map((capsule) => ({ capsule })),
  ),
);

export function permitsOf(given: readonly string[] | null, among = callables): readonly Permit[] | undefined {
  return given === null ? undefined : allowedTools(given, among, place).permits;
}

/** What became of a call: whether its tool ran, and what its launch did not get. */
export interface Dispatched {
  readonly ran: boolean;
  readonly narrowed: NarrowedLaunch | null;
  /** Whether a hook was asked. */
  readonly judged: boolean;
}

interface Seen {
  ran: boolean;
  narrowed: NarrowedLaunch | null;
  judged: boolean;
}

/** One session for all cases: each has a ceiling of its own. */
let seen: Seen = { ran: false, narrowed: null, judged: false };
let made = '';
let ceiling = new SkillCeiling([]);

const tools = callables.map(({ name, kind, artifact }): Tool => ({
  name,
  kind: kind as Tool['kind'],
  artifact: artifact ?? '',
  description: '',
  inputSchema: { type: 'object' },
  call: (_, { narrowed = null }) => {
    if (name === made) Object.assign(seen, { ran: true, narrowed });
    return Promise.resolve({ status: 'passed', content: '', exitCode: null, truncated: false });
  },
}));

const inventory = new Inventory(tools, { now: () => 0, monotonicMs: () => 0 }, undefined, {
  judge: (...asked) => ceiling.judge(...asked),
  use: (...used) => ceiling.use(...used),
  clash: (names) => ceiling.clash(names),
  ended: (id) => ceiling.ended(id),
});

const context = {
  taskId: 't',
  place: 't/1/m1/t1',
  signal: new AbortController().signal,
  settle: (look: () => Promise<unknown>) => look(),
  judge: () => {
    seen.judged = true;
    return Promise.resolve({ kind: 'proceed' });
  },
} as unknown as ToolCallContext;

/** Uses skills with these lists in one task of a session, and then makes a call through its dispatch. One at a time. */
export async function dispatched(
  lists: readonly (readonly Permit[] | undefined)[],
  [name, input]: readonly [string, Readonly<Record<string, string>>],
): Promise<Dispatched> {
  seen = { ran: false, narrowed: null, judged: false };
  made = name;
  ceiling = new SkillCeiling(
    tools.map((tool) => {
      const permits = tool.kind === 'skill' ? lists[skills.indexOf(tool.name)] : undefined;
      return permits === undefined ? tool : (Object.assign(Object.create(tool), { permits }) as Tool);
    }),
  );
  // As dispatch marks them, whatever order a model could come to them in.
  lists.forEach((_, index) => ceiling.use('t', skills[index] ?? ''));
  await inventory.dispatch({ id: '', name, input }, context);
  return seen;
}

/** The same call as lists judge it. */
export function judged([tool, { command = '', capsule = '' }]: readonly [
  string,
  Readonly<Record<string, string>>,
]): JudgedToolCall {
  return { tool, command, capsule, words: command.split(' ').filter((each) => each !== '') };
}

export { commands };
