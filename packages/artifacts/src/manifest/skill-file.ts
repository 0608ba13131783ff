/** Reads SKILL.md, the file that a standard skill folder is about: its head in YAML, and the text behind it. */

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import { isExactVersion } from './names.ts';
import { splitSkill } from './skill-head.ts';
import { parseYaml } from './yaml-source.ts';

/** What `SKILL.md` says (https://agentskills.io/specification, docs/skills.md "SKILL.md"). */
export interface SkillFile {
  /** As the file has it; null where it has none. */
  readonly name: string | null;
  /** At most 4,096 characters. */
  readonly description: string;
  /** Is null if the file names none that is exact. */
  readonly version: string | null;
  /** The words of `allowed-tools`; null without any. */
  readonly allowed: readonly string[] | null;
  /** Behind the head, without the line ends around it. */
  readonly text: string;
  readonly callers: SkillCallers;
  /** `compatibility` in one line; null without it. */
  readonly compatibility: string | null;
  /** The fields that neither the standard knows nor `svc` uses. */
  readonly otherFields: readonly string[];
}

/** Who may call a skill: `disable-model-invocation: true` leaves it to people, `user-invocable: false` to the model, and both to nobody. */
export type SkillCallers = 'all' | 'people' | 'model' | 'nobody';

/** More of it does not help a model to choose. */
const longestDescription = 4096;
/** Lists of public skills have at most some dozens of words. */
const mostWords = 1000;

const usedFields: ReadonlySet<string> = new Set([
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'allowed-tools',
  'disable-model-invocation',
  'user-invocable',
]);

/** `E-ART-004` where it has no head, no description, or a head that is no YAML; `file` is for messages. */
export function parseSkillFile(file: string, whole: string): SkillFile {
  const parts = splitSkill(whole);
  if (parts === null) throw unfit(file, 'does not begin with a head between two lines "---"');
  const fields = fieldsOf(file, parts.head);
  const description = textOf(fields['description']);
  if (description === null) throw unfit(file, 'has no description, by which a model chooses a skill');
  const metadata = asJsonObject(fields['metadata']) ?? {};
  const version = [metadata['version'], fields['version']].find(isExactVersion);
  return {
    name: textOf(fields['name']),
    description: description.slice(0, longestDescription).toWellFormed(),
    version: typeof version === 'string' ? version : null,
    allowed: allowedWords(file, fields['allowed-tools']),
    text: parts.text,
    callers: callersOf(fields),
    compatibility: textOf(fields['compatibility'])?.replaceAll(/\s+/g, ' ') ?? null,
    otherFields: Object.keys(fields).filter((field) => !usedFields.has(field)),
  };
}

/** Splits words of `allowed-tools` at blanks and commas outside of parentheses. */
export function splitAllowed(text: string): readonly string[] {
  const words: string[] = [];
  let depth = 0;
  let word = '';
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth = Math.max(0, depth - 1);
    if (depth === 0 && /[\s,]/.test(character)) {
      words.push(word);
      word = '';
    } else word += character;
  }
  return [...words, word].filter((each) => each !== '');
}

/** Many files have a colon in a plain value, which other clients take for text: such values are quoted, and the head is read once more. */
function fieldsOf(file: string, head: string): Readonly<Record<string, unknown>> {
  const read = yamlFields(file, head);
  const fields = read instanceof Diagnostic ? yamlFields(file, quotedValues(head)) : read;
  if (!(fields instanceof Diagnostic)) return fields;
  const first = read instanceof Diagnostic ? read : fields;
  const line = first.location === undefined ? '' : `, line ${first.location.line}`;
  throw unfit(`${file}${line}`, `has a head that is not valid: ${first.message}`);
}

function callersOf(fields: Readonly<Record<string, unknown>>): SkillCallers {
  const isForPeople = fields['disable-model-invocation'] === true;
  if (fields['user-invocable'] === false) return isForPeople ? 'nobody' : 'model';
  return isForPeople ? 'people' : 'all';
}

function yamlFields(file: string, head: string): Readonly<Record<string, unknown>> | Diagnostic {
  try {
    const { value, problems } = parseYaml(file, head);
    const [problem] = problems;
    return problem ?? asJsonObject(value ?? {}) ?? new Diagnostic('E-ART-004', 'it holds no fields');
  } catch (error) {
    const first = error instanceof DiagnosticList ? error.diagnostics[0] : undefined;
    if (first === undefined) throw error;
    return first;
  }
}

function quotedValues(head: string): string {
  const quoted = head.split('\n').map((line) => {
    const [, key, value] = /^([A-Za-z][\w-]*):[ \t]+(\S.*?)[ \t\r]*$/.exec(line) ?? [];
    const isPlain = value !== undefined && !/^["'|>[{&*!]/.test(value);
    return isPlain ? `${key}: ${JSON.stringify(value)}` : line;
  });
  return quoted.join('\n');
}

function allowedWords(file: string, value: unknown): readonly string[] | null {
  const texts = (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string');
  const words = texts.flatMap((each) => splitAllowed(each));
  if (words.length > mostWords) {
    throw new Diagnostic('E-ART-003', `${file}: allowed-tools has more than ${mostWords} words`);
  }
  const isEmpty = value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
  if (words.length === 0 && !isEmpty)
    throw unfit(file, 'has an allowed-tools that is neither text nor a list of texts');
  return words.length === 0 ? null : words;
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function unfit(file: string, why: string): Diagnostic {
  return new Diagnostic('E-ART-004', `${file} ${why}`, {
    hint: 'a skill begins with ---, name: and description:, and --- again; its text comes behind',
  });
}
