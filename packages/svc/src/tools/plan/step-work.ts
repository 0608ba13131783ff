import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { artifactName, exactVersion } from '@svc/artifacts/manifest/names.ts';
import type { ToolKind } from '../tool.ts';
import type { StepWork, SubmittedStep } from './plan.ts';

export type KindOf = (name: string) => ToolKind | undefined;

export type CheckedWork =
  | { readonly kind: 'work'; readonly work: StepWork }
  | { readonly kind: 'refused'; readonly reason: string };

/** What no step may name, and why. */
const closedToSteps: ReadonlyMap<string, string> = new Map([
  ['submit-plan', 'a plan does not submit plans'],
  ['delegate-task', 'a step gives a task to a capsule with capsule and version'],
]);

/** What a step is to do, with every name looked up; the input's references are looked at elsewhere. */
export function checkWork(step: SubmittedStep, kindOf: KindOf): CheckedWork {
  const { tool, shell, capsule, version } = step;
  const named = Object.entries({ tool, shell, capsule }).filter(([, value]) => value !== undefined);
  if (named.length !== 1) {
    const names = named.length === 0 ? 'none' : named.map(([key]) => key).join(' and ');
    return refused(`names ${names} of tool, shell and capsule; exactly one is needed`);
  }
  if (capsule === undefined && version !== undefined) return refused('has a version, which only a capsule has');
  if (tool !== undefined) return toolWork(tool, step.input, kindOf);
  if (shell !== undefined) return shellWork(shell, step.input, kindOf);
  return capsuleWork(capsule ?? '', version, step.input);
}

function toolWork(name: string, input: unknown, kindOf: KindOf): CheckedWork {
  const closed = closedToSteps.get(name);
  if (closed !== undefined) return refused(`cannot call ${name}: ${closed}`);
  const kind = kindOf(name);
  if (kind === undefined) return refused(`names the tool ${quoted(name)}, which does not exist`);
  if (kind === 'shell') return refused(`names ${name} as tool; it is a command, so name it as shell`);
  if (kind === 'skill') return refused(`names the skill ${name}, which is for you to read: call it yourself`);
  if (input === undefined) return { kind: 'work', work: { kind: 'tool', name, input: {} } };
  if (!isObject(input)) return refused('has an input that is no object; a tool takes the object of its arguments');
  return { kind: 'work', work: { kind: 'tool', name, input } };
}

function shellWork(name: string, input: unknown, kindOf: KindOf): CheckedWork {
  const kind = kindOf(name);
  if (kind !== undefined && kind !== 'shell')
    return refused(`names ${name} as shell; it is no command, so name it as tool`);
  if (kind === undefined) return refused(`names the command ${quoted(name)}, which does not exist`);
  const command = commandOf(input);
  if (command === null) return refused('has an input that is no command; give it as text or as {"command": text}');
  return { kind: 'work', work: { kind: 'shell', name, command } };
}

function capsuleWork(name: string, version: string | undefined, input: unknown): CheckedWork {
  if (!artifactName.safeParse(name).success)
    return refused(`names the capsule ${quoted(name)}, which is no capsule name`);
  if (version === undefined) return refused('names a capsule without its version');
  if (!exactVersion.safeParse(version).success)
    return refused(`has the version ${quoted(version)}, which is no exact one`);
  if (typeof input !== 'string' || input === '') return refused('has an input that is no task; a capsule takes a text');
  return { kind: 'work', work: { kind: 'capsule', name, version, task: input } };
}

function commandOf(input: unknown): string | null {
  if (typeof input === 'string') return input;
  if (!isObject(input) || Object.keys(input).length !== 1) return null;
  const { command } = input;
  return typeof command === 'string' ? command : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(reason: string): CheckedWork {
  return { kind: 'refused', reason };
}
