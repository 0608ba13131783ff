/** The skills that a person has a task begin with: their names, in a header or in the metadata of a message. */

/** The names in their order, each once. `problem` repeats nothing of what was sent. */
export type DecodedTaskSkills =
  | { readonly kind: 'skills'; readonly skills: readonly string[] }
  | { readonly kind: 'invalid'; readonly problem: string };

export const skillsHeader = 'x-svc-task-skills';

const mostSkills = 8;
const nameShape = /^[a-z0-9][a-z0-9-]{0,99}$/;

/** The header of a message that begins with these. */
export function encodeTaskSkills(skills: readonly string[]): Readonly<Record<string, string>> {
  return skills.length === 0 ? {} : { [skillsHeader]: skills.join(', ') };
}

/** `header` gives the value of a header; one that stands several times counts as a list. */
export function decodeTaskSkills(header: (name: string) => string | undefined): DecodedTaskSkills {
  const given = header(skillsHeader)?.trim() ?? '';
  return given === '' ? { kind: 'skills', skills: [] } : namedSkills(given.split(',').map((each) => each.trim()));
}

/** Names from a place where they are a list. */
export function namedSkills(given: unknown): DecodedTaskSkills {
  if (!Array.isArray(given) || given.some((name) => typeof name !== 'string' || !nameShape.test(name))) {
    return { kind: 'invalid', problem: 'must be names of skills' };
  }
  const skills = [...new Set(given as readonly string[])];
  if (skills.length > mostSkills) return { kind: 'invalid', problem: `must name at most ${mostSkills} skills` };
  return { kind: 'skills', skills };
}
