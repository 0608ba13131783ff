/** Finds what the lists of the skills of a capsule allow: `allowed-tools` of `SKILL.md`, or what the operator says in its place. */

import { skillWords } from '@svc/artifacts/manifest/chosen-tools.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import { type AllowedTools, allowedTools, type Permit, shownPermits } from '@svc/session/tools/skills/allowed-tools.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import type { FolderArtifact } from '../launch/skill-folders.ts';

interface Listed {
  readonly name: string;
  readonly kind: string;
  readonly artifact?: string | undefined;
  readonly permits?: readonly Permit[];
  readonly callers?: Tool['callers'];
}

/** The tools of a session with the lists of its skills. */
export interface LimitedSkills<Named extends Listed> {
  /** Skills whose lists come to nothing here are for people alone. */
  readonly tools: readonly Named[];
  /** What answers while a skill is in use, in words, by its name. */
  readonly limits: ReadonlyMap<string, string>;
  /** `W-RUN-210` for the lists with words that stand for nothing here. */
  readonly warnings: readonly Diagnostic[];
}

/**
 * Gives each skill what its list allows of these tools; `rootOf` is its folder as commands name it. `E-MAN-003` for a word of the operator's that stands for
 * nothing here.
 */
export function limitSkills<Named extends Listed>(
  tools: readonly Named[],
  skills: readonly FolderArtifact[],
  rootOf: (name: string) => string,
): LimitedSkills<Named> {
  const limits = new Map<string, string>();
  const partly: Partly[] = [];
  const limited = new Map<string, readonly Permit[]>();
  for (const { manifest, entry, skill } of skills) {
    const { name } = manifest;
    const words = wordsOf({ entry, skill });
    if (words === null || tools.every((tool) => tool.name !== name)) continue;
    const { permits, unknown } = allowedTools(words, tools, { root: rootOf(name), scripts: skill.scripts });
    if (unknown.length > 0 && entry.tools !== undefined) throw unknownWord(name, unknown);
    if (unknown.length > 0 || permits.length === 0) partly.push({ name, permits, unknown });
    limited.set(name, permits);
    limits.set(name, shownPermits(permits));
  }
  const callable = tools.filter(({ name, callers }) => callers !== 'model' || limited.get(name)?.length !== 0);
  const warnings = partlyAllowed(partly);
  return { tools: callable.map((tool) => withPermits(tool, limited.get(tool.name))), limits, warnings };
}

/** Returns null for a skill that narrows nothing. */
export function wordsOf({ entry, skill }: Pick<FolderArtifact, 'entry' | 'skill'>): readonly string[] | null {
  const own = skillWords(entry);
  return own === 'capsule' ? null : (own ?? skill.allowed);
}

function withPermits<Named extends Listed>(tool: Named, permits: readonly Permit[] | undefined): Named {
  if (permits === undefined) return tool;
  return permits.length === 0 ? { ...tool, permits, callers: 'people' } : { ...tool, permits };
}

const mostNamed = 20;

interface Partly extends AllowedTools {
  readonly name: string;
}

/** A line for all skills of one kind: a capsule may have dozens. */
function partlyAllowed(skills: readonly Partly[]): readonly Diagnostic[] {
  const none = skills.filter(({ permits }) => permits.length === 0);
  const some = skills.filter(({ permits }) => permits.length > 0);
  return [
    ...ofLists(
      none,
      () => 'names nothing that this capsule has, so that no model is offered it',
      'grant what it names',
    ),
    ...ofLists(some, (words) => `has words that stand for nothing here: ${words}`, 'grant what they name'),
  ];
}

function ofLists(skills: readonly Partly[], clause: (words: string) => string, hint: string): readonly Diagnostic[] {
  if (skills.length === 0) return [];
  const names = firstNames(
    skills.map(({ name }) => name),
    mostNamed,
  );
  const words = firstNames([...new Set(skills.flatMap(({ unknown }) => unknown))], mostNamed);
  const message = `allowed-tools of the ${skills.length === 1 ? 'skill' : 'skills'} ${names} ${clause(words)}`;
  const more = 'or set tools on its entry: a list in place of its own, or capsule, which narrows nothing';
  return [new Diagnostic('W-RUN-210', message, { hint: `${hint}, ${more}` })];
}

function unknownWord(name: string, unknown: readonly string[]): Diagnostic {
  return new Diagnostic(
    'E-MAN-003',
    `artifacts[].tools of ${name} has words that stand for nothing here: ${unknown.join(', ')}`,
    {
      hint: 'name tools and commands of this capsule, such as Read, Bash(git diff:*) or the name of a tool',
    },
  );
}
