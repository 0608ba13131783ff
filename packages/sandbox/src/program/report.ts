/** Writes for people what a command would get and what this machine can enforce. */

import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { ExplainedFile, ExplainedLimit, Explanation, Probe } from '../library/requests.ts';

/** `--explain`: a heading and lines for each part. */
export function renderExplanation(explanation: Explanation): string {
  const { class: wanted, mechanism, program, args, cwd, network, env, limits, notStopped, warnings } = explanation;
  const parts: readonly (readonly [heading: string, lines: readonly string[]])[] = [
    [`Class ${wanted}, by ${mechanism}`, [`runs ${[program, ...args].join(' ')}`, `starts in ${cwd}`]],
    [`Files, by ${explanation.filesHeldBy}`, fileLines(explanation.files)],
    [`Network, by ${explanation.networkHeldBy}`, network.length === 0 ? ['none'] : network],
    ['Variables', [env.join(', ')]],
    ['Limits', limits.flatMap(limitLines)],
    ['Not stopped', notStopped],
    ['Warnings', warnings],
  ];
  return parts
    .filter(([, lines]) => lines.length > 0)
    .map(([heading, lines]) => `${printable(heading)}\n${lines.map((line) => `  ${printable(line)}\n`).join('')}`)
    .join('\n');
}

const words: Readonly<Record<ExplainedFile['access'], string>> = {
  read: 'read',
  run: 'read and run',
  write: 'read and write',
  'write and run': 'read, write and run',
  own: 'write, empty at first, gone afterwards',
};

/** What was granted and what is its own, each; what its programs need, counted by the directories at the top. */
function fileLines(files: readonly ExplainedFile[]): readonly string[] {
  const [needed, others] = [true, false].map((isNeeded) => files.filter(({ why }) => (why === 'needed') === isNeeded));
  const lines = (others ?? []).map(({ path, access }) => `${path}: ${words[access]}`);
  const few = (needed ?? []).length <= mostLines;
  if (few) return [...lines, ...(needed ?? []).map(({ path, access }) => `${path}: ${words[access]}, needed`)];
  const tops = new Map<string, number>();
  for (const { path, access } of needed ?? []) {
    const top = `/${path.split('/')[1]}: ${words[access]}`;
    tops.set(top, (tops.get(top) ?? 0) + 1);
  }
  return [...lines, ...[...tops].map(([top, count]) => `${top}, ${count} needed (--json lists them)`)];
}

const mostLines = 40;

function limitLines({ limit, most, of, heldBy }: ExplainedLimit): readonly string[] {
  return most === null ? [] : [`${limit} ${most}, ${of === 'command' ? 'in all' : 'of each process'}: ${heldBy}`];
}

/** `--probe`: the class, and for each stronger one what stands in its way. */
export function renderProbe({ class: found, mechanism, obstacles }: Probe): string {
  const lines = (['sealed', 'scoped', 'advisory'] as const).map((each) => {
    const obstacle = obstacles[each];
    return `  ${each}: ${obstacle === null ? 'yes' : `no, ${printable(obstacle)}`}\n`;
  });
  return `This machine can enforce ${found ?? 'nothing'}, by ${mechanism}\n${lines.join('')}`;
}
