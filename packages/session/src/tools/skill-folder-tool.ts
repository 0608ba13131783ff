/** Makes a tool of a standard skill folder, which gives its text and the files beside it. */

import { firstNames, shortened } from '@svc/kit/diagnostics/printable.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { neverReached, type Tool, type ToolDeclaration, type ToolOutcome } from './tool.ts';

/** How a skill presents itself before it is called. */
interface SkillOffer {
  readonly name: string;
  readonly description: string;
  /** All files but `SKILL.md`, sorted. */
  readonly files: readonly string[];
}

interface SkillFolderSettings extends SkillOffer {
  readonly version: string;
  /** What is behind the head of `SKILL.md`, asked for with each call. */
  readonly text: () => string;
  /** Where programs have its folder, as its text is to be read. */
  readonly place: string;
  /** What answers while it is in use, in words; null where nothing is narrowed. */
  readonly limits: () => string | null;
  /** The bytes of one of `files`. Throws the Diagnostic of a folder that is not what it was. */
  readonly read: (file: string) => Promise<Buffer>;
}

/** In UTF-16 units. */
const partLength = 64 * 1024;
/** How many files the text names. */
const mostNamed = 20;
/** How many files a refusal names. */
const mostListed = 50;

/** Declares such a skill to a model. Models pass over every second skill that fits without a word that it is to be called first. */
export function skillFolderDeclaration({ name, description, files }: SkillOffer): ToolDeclaration {
  const file = { type: 'string', description: 'A file of the skill that its text names; leave it out for the text.' };
  const part = { type: 'integer', minimum: 1, description: 'Which part of a long file; 1 when left out.' };
  return {
    name,
    description: `Skill: call it before you begin. ${description}`,
    kind: 'skill',
    inputSchema: {
      type: 'object',
      properties: files.length === 0 ? {} : { file, part },
      additionalProperties: false,
    },
  };
}

/** A skill: calling it gives its text or a file of it, and does nothing. */
export function createSkillFolderTool(settings: SkillFolderSettings): Tool {
  return {
    ...skillFolderDeclaration(settings),
    call: async ({ file, part }) =>
      typeof file === 'string'
        ? await fileOutcome(file, typeof part === 'number' ? part : 1, settings)
        : passed(textOf(settings)),
  };
}

function textOf({ name, version, text, files, place, limits }: SkillFolderSettings): string {
  const allowed = limits();
  const only = allowed === null ? '' : ` While it is in use only these answer: ${allowed}`;
  const where = files.length === 0 ? '' : ` Paths in it are below ${place}`;
  const also = files.length === 0 ? [] : [`[also: ${firstNames(files, mostNamed)}; call ${name} with file]`];
  return [`[skill ${name} ${version}.${where}${where !== '' && only !== '' ? '.' : ''}${only}]`, text(), ...also].join(
    '\n',
  );
}

async function fileOutcome(
  asked: string,
  part: number,
  { name, files, read }: SkillFolderSettings,
): Promise<ToolOutcome> {
  const file = asked.replace(/^\.\//, '');
  if (!files.includes(file)) return neverReached(noSuchFile(name, asked, files));
  const text = decodeStrictUtf8(await read(file));
  if (text === null || text.includes('\0')) {
    return neverReached(`${file} of the skill ${name} is no text; a program can read it`);
  }
  const parts = partsOf(text);
  const shown = parts[part - 1];
  if (shown === undefined) return neverReached(`${file} of the skill ${name} has ${parts.length} parts`);
  if (parts.length === 1) return passed(shown);
  return passed(`${shown}\n[part ${part} of ${parts.length} of ${file}]`);
}

/** No part ends within a character. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  do {
    const end = from + partLength;
    const isWithin = end < text.length && /^[\uDC00-\uDFFF]/.test(text.charAt(end));
    const to = isWithin ? end - 1 : end;
    parts.push(text.slice(from, to));
    from = to;
  } while (from < text.length);
  return parts;
}

function noSuchFile(name: string, asked: string, files: readonly string[]): string {
  const there = files.length === 0 ? 'it has none' : `it has ${firstNames(files, mostListed)}`;
  return `the skill ${name} has no file ${JSON.stringify(shortened(asked, 200))}; ${there}`;
}

function passed(content: string): ToolOutcome {
  return { status: 'passed', content, exitCode: null, truncated: false };
}
