/** Checks and keeps the list of tools that an MCP server offers, and makes tools of them. */

import { toUSVString } from 'node:util';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';

import { matchesText } from '@svc/artifacts/manifest/name-pattern.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { closestName } from '@svc/kit/diagnostics/closest-name.ts';
import { firstNames, printable, quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { inputSchemaProblem, type JsonSchema } from '../argument-check.ts';
import { isEmptyList, schemaWithoutNulls, withoutNulls } from './absent-values.ts';
import { checkable } from './checkable-schema.ts';

/** Everything that is offered is sent to the model with every turn. */
const maxTools = 128;
const maxDescription = 4096;
const maxSchema = 64 * 1024;
const maxOfAll = 512 * 1024;
/** The time for compiling the schemas of one list. */
const maxCheckMs = 5000;
const maxSentence = 300;
const maxNames = 10;

/** A tool as a server lists it, found to be harmless. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** What a server lists. `leftOut` says in a sentence for each what of it is not offered, and why. */
export interface ListedTools {
  readonly tools: readonly ListedTool[];
  readonly leftOut: readonly string[];
  /** Why it has no list, as a clause after its name. */
  readonly absent?: string;
  /** What the manifest chooses and the server does not list, and a hint at what was meant; absent where it lists all that is chosen. */
  readonly unmatched?: UnmatchedChoice | undefined;
}

interface UnmatchedChoice {
  readonly names: readonly string[];
  readonly hint: string;
}

const someSchema = z.pipe(
  z.transform((given) => (isEmptyList(given) ? {} : given)),
  z.record(z.string(), z.unknown()),
);

/** A title, an icon or a hint that is not as it should be takes no tool away: nobody reads them here. */
const shape = z.object({
  name: z.string(),
  description: z._default(z.string(), ''),
  inputSchema: z._default(someSchema, {}),
  execution: z.catch(z.object({ taskSupport: z.optional(z.string()) }), {}),
});

/** The form that names have since version 2025-11-25 of the protocol. Tools of older servers with other names are reported. */
const fitName = /^[A-Za-z0-9_.-]{1,128}$/;

/**
 * The tools that a session can offer, in the order of the server; whatever a server writes, their number and their size are bounded, and
 * a provider can be sent each schema. Texts keep no invisible characters. Only those that the manifest has `chosen` count, where it does.
 */
export async function checkListed(
  listed: readonly unknown[],
  clock: Pick<Clock, 'monotonicMs'>,
  chosen: readonly string[] | null = null,
): Promise<ListedTools> {
  const check = new ListCheck(clock);
  for (const tool of listed) {
    const name = nameOf(tool);
    const isChosen = chosen?.some((pattern) => name !== null && matchesText(pattern, name)) ?? true;
    if (isChosen) await check.take(tool);
  }
  return { ...check.result(), ...unmatchedOf(chosen ?? [], listed) };
}

function nameOf(tool: unknown): string | null {
  const name = isJsonObject(tool) ? tool['name'] : null;
  return typeof name === 'string' ? name : null;
}

function unmatchedOf(chosen: readonly string[], listed: readonly unknown[]): Pick<ListedTools, 'unmatched'> {
  const there = listed.map(nameOf).filter((name) => name !== null);
  const names = chosen.filter((pattern) => !there.some((name) => matchesText(pattern, name)));
  if (names.length === 0) return {};
  const fit = there.filter((name) => fitName.test(name));
  const meant = names.flatMap((name) => {
    const near = closestName(name, fit);
    return near === undefined ? [] : [names.length === 1 ? near : `${near} for ${name}`];
  });
  const hint =
    meant.length > 0 ? `did you mean ${firstNames(meant, maxNames)}?` : `it lists ${firstNames(fit, maxNames)}`;
  return { unmatched: { names, hint: fit.length === 0 ? 'it lists none' : hint } };
}

class ListCheck {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #tools = new Map<string, ListedTool>();
  readonly #leftOut: string[] = [];
  #length = 0;
  #checkedMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  async take(listed: unknown): Promise<void> {
    const given = isJsonObject(listed) ? withoutNulls(listed) : {};
    const reading = shape.safeParse(given);
    if (!reading.success) return this.#leave(unfit(given, reading.error.issues[0]?.path[0]));
    const { name, description, execution } = reading.data;
    const inputSchema = checkable(schemaWithoutNulls(reading.data.inputSchema));
    if (!fitName.test(name)) return this.#leave(`${quoted(name)}, whose name is not one of the protocol`);
    if (execution.taskSupport === 'required') return this.#leave(`${name}, which answers only as a task`);
    if (this.#tools.has(name)) return this.#leave(`a second ${name}`);
    if (this.#tools.size === maxTools) return this.#leave(`${name}, the tools being more than ${maxTools}`);
    const schemaLength = JSON.stringify(inputSchema).length;
    if (schemaLength > maxSchema)
      return this.#leave(`${name}, whose input schema is larger than ${maxSchema} characters`);
    // Arguments are an object in any case, and providers want it said.
    const tool = { name, description: shown(description), inputSchema: { type: 'object', ...inputSchema } };
    const length = schemaLength + tool.description.length;
    if (this.#length + length > maxOfAll)
      return this.#leave(`${name}, all together being larger than ${maxOfAll} characters`);
    const problem = await this.#schemaProblem(name, inputSchema);
    if (problem !== null) return this.#leave(problem);
    this.#length += length;
    this.#tools.set(name, tool);
  }

  result(): ListedTools {
    return { tools: [...this.#tools.values()], leftOut: this.#leftOut };
  }

  async #schemaProblem(name: string, schema: JsonSchema): Promise<string | null> {
    if (this.#checkedMs > maxCheckMs) return `${name}, checking the input schemas having taken too long`;
    const startedMs = this.#clock.monotonicMs();
    const problem = await inputSchemaProblem(name, schema);
    this.#checkedMs += this.#clock.monotonicMs() - startedMs;
    return problem === null ? null : `${name}: ${printable(problem.message)}`;
  }

  #leave(sentence: string): void {
    this.#leftOut.push(shortened(sentence, maxSentence));
  }
}

/** Names what has a name. */
function unfit({ name }: JsonObject, part: PropertyKey | undefined): string {
  if (typeof name !== 'string') return 'something that is not a tool';
  return `${fitName.test(name) ? name : quoted(name)}, whose ${String(part)} is not one of the protocol`;
}

/** How a list differs from the one that a session offers; null when it does not. */
export function changeOf(offered: ListedTools, live: ListedTools): string | null {
  const before = new Map(offered.tools.map((tool) => [tool.name, JSON.stringify(tool)]));
  const now = new Map(live.tools.map((tool) => [tool.name, JSON.stringify(tool)]));
  const parts = [
    part(
      'gone',
      [...before.keys()].filter((name) => !now.has(name)),
    ),
    part(
      'new',
      [...now.keys()].filter((name) => !before.has(name)),
    ),
    part(
      'changed',
      [...now].filter(([name, text]) => (before.get(name) ?? text) !== text).map(([name]) => name),
    ),
  ].filter((each) => each !== null);
  return parts.length === 0 ? null : parts.join('; ');
}

function part(what: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  return `${what}: ${firstNames(names, maxNames)}`;
}

const invisible = /[^\P{C}\n\t]/gu;

function shown(description: string): string {
  const text = toUSVString(description).replaceAll(invisible, '').trim();
  return text.length > maxDescription ? shortened(text, maxDescription - 1) : text;
}

const maxFile = 8 * 1024 * 1024;

const keptShape = z.object({
  tools: z.array(
    z.object({ name: z.string(), description: z.string(), inputSchema: z.record(z.string(), z.unknown()) }),
  ),
  leftOut: z.array(z.string()),
  unmatched: z.optional(z.object({ names: z.array(z.string()), hint: z.string() })),
});

/** What the servers of artifacts listed when they were last asked, by the content of the artifact. Safe to delete. */
export class KeptLists {
  readonly #directory: string;

  /** `cacheDir` is `~/.svc/cache`. */
  constructor(cacheDir: string) {
    this.#directory = join(cacheDir, 'mcp-tools');
  }

  /** Returns null when nothing is kept that can be used. A server that had no tool to offer is asked again. */
  async read(sha256: string): Promise<ListedTools | null> {
    const kept = await this.#kept(sha256);
    return kept === null || kept.tools.length === 0 ? null : kept;
  }

  /** What was left out when the server was last asked; null when it was not, or what is kept cannot be read. */
  async leftOut(sha256: string): Promise<readonly string[] | null> {
    return (await this.#kept(sha256))?.leftOut ?? null;
  }

  /** `E-IO-001` when it cannot be written. */
  async write(sha256: string, { tools, leftOut, unmatched }: ListedTools): Promise<void> {
    await replaceFile(this.#path(sha256), [Buffer.from(`${JSON.stringify({ tools, leftOut, unmatched })}\n`)]);
  }

  async #kept(sha256: string): Promise<ListedTools | null> {
    const path = this.#path(sha256);
    try {
      if ((await stat(path)).size > maxFile) return null;
      return keptShape.safeParse(JSON.parse(await readFile(path, 'utf8'))).data ?? null;
    } catch (error) {
      // Never kept, not to be read, or not whole: the server is asked.
      if (error instanceof SyntaxError || errorCode(error) !== undefined) return null;
      throw error;
    }
  }

  #path(sha256: string): string {
    return join(this.#directory, `${sha256}.json`);
  }
}
