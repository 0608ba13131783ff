/** Reads `artifacts[].tools`: the tools of an MCP server that are offered, and under which names, or the words of a skill. */

import type { ArtifactEntry } from './schema.ts';

interface ChosenTools {
  /** Names that the server has, with `*` for any part; null where all are offered. */
  readonly patterns: readonly string[] | null;
  /** The names that the manifest gives, by those that the server has. */
  readonly names: ReadonlyMap<string, string>;
}

export function chosenTools({ tools }: Pick<ArtifactEntry, 'tools'>): ChosenTools {
  if (tools === undefined || tools === 'capsule') return { patterns: null, names: new Map() };
  const renamed = tools.flatMap((item) => (typeof item === 'string' ? [] : Object.entries(item)));
  const patterns = tools.flatMap((item) => (typeof item === 'string' ? [item] : Object.keys(item)));
  return { patterns, names: new Map(renamed) };
}

/** The words that an entry sets in place of the `allowed-tools` of its skill; undefined where it sets none. */
export function skillWords({ tools }: Pick<ArtifactEntry, 'tools'>): readonly string[] | 'capsule' | undefined {
  return Array.isArray(tools) ? tools.filter((word) => typeof word === 'string') : tools;
}

/** The name of a tool of an MCP server before the model. Names of artifacts have no underscore. */
export function serverToolName(artifact: string, tool: string): string {
  return `${artifact}__${tool}`;
}
