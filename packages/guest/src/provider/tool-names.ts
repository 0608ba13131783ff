/** Gives tools names that providers accept, and finds the tools of such names again. */

import type { DriverResponse, ToolDefinition } from '../driver.ts';
import { schemaOf, type ToolSchema } from './tool-schemas.ts';

const maxName = 64;

/** Names as a provider accepts them, and back. */
export interface ToolNames {
  toProvider(name: string): string;
  /** A name the provider was never told comes back as it is: the host answers it as an unknown tool. */
  fromProvider(name: string): string;
  /** The arguments of the tool with this name; null for one that nobody offers. */
  schema(name: string): ToolSchema | null;
}

/** The response with the arguments of its calls under the names that their tools know. */
export function withOwnArguments(response: DriverResponse, names: ToolNames): DriverResponse {
  const content = response.content.map((block): typeof block => {
    if (block.tag !== 'tool-call') return block;
    const { id, name, input } = block.val;
    return { tag: 'tool-call', val: { id, name, input: names.schema(name)?.fromProvider(input) ?? input } };
  });
  return { ...response, content };
}

/**
 * Providers accept letters, digits, `_` and `-`, at most 64 characters; a command such as `g++` or `python3.11` is none of these.
 * Such a name is sent under an alias that no other tool has. The same tools always get the same aliases.
 */
export function aliasToolNames(tools: readonly ToolDefinition[]): ToolNames {
  const aliases = new Map<string, string>();
  const names = new Map<string, string>();
  const fits = tools.filter((tool) => accepted(tool.name) === tool.name);
  const others = tools.filter((tool) => accepted(tool.name) !== tool.name);
  for (const { name } of [...fits, ...others]) {
    const alias = unused(accepted(name), names);
    aliases.set(name, alias);
    names.set(alias, name);
  }
  const schemas = new Map<string, ToolSchema>();
  return {
    toProvider: (name) => aliases.get(name) ?? accepted(name),
    fromProvider: (name) => names.get(name) ?? name,
    schema: (name) => {
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined) return null;
      const schema = schemas.get(name) ?? schemaOf(tool);
      schemas.set(name, schema);
      return schema;
    },
  };
}

function accepted(name: string): string {
  const legal = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, maxName);
  return legal === '' ? '_' : legal;
}

function unused(alias: string, taken: ReadonlyMap<string, string>): string {
  let candidate = alias;
  for (let number = 2; taken.has(candidate); number += 1) {
    const suffix = `_${number}`;
    candidate = alias.slice(0, maxName - suffix.length) + suffix;
  }
  return candidate;
}
