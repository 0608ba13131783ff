/** Keeps the tools of a session to the number that providers take. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import type { Tool, ToolKind } from '@svc/session/tools/tool.ts';

/** Chat Completions takes no request with more; no model chooses well among as many. */
const maxTools = 128;
const maxNames = 10;

/** Which are kept before others. */
const order: readonly ToolKind[] = ['runtime', 'wasm', 'native', 'skill', 'shell', 'mcp'];

interface LimitedTools {
  readonly tools: readonly Tool[];
  /** Is null if all are kept. */
  readonly warning: Diagnostic | null;
}

/** At most 128 tools: what is not of an MCP server first, then the servers in the order of the manifest. The warning has the numbers of each. */
export function limitedTools(all: readonly Tool[]): LimitedTools {
  if (all.length <= maxTools) return { tools: all, warning: null };
  const ranked = order.flatMap((kind) => all.filter((tool) => tool.kind === kind));
  const kept = new Set(ranked.slice(0, maxTools));
  const left = ranked.slice(maxTools).map(({ name }) => name);
  const names = new Set(ranked.map(groupOf));
  const numbers = [...names].map((name) => {
    const tools = ranked.filter((tool) => groupOf(tool) === name);
    const count = tools.filter((tool) => kept.has(tool)).length;
    return `${name} ${count === tools.length ? count : `${count} of ${tools.length}`}`;
  });
  const message = `${all.length} tools are more than the ${maxTools} that providers take: ${numbers.join(', ')}; left out: ${firstNames(left, maxNames)}`;
  const hint = 'choose the tools of a server with artifacts[].tools';
  return { tools: all.filter((tool) => kept.has(tool)), warning: new Diagnostic('W-RUN-006', message, { hint }) };
}

function groupOf({ kind, artifact, name }: Tool): string {
  return kind === 'mcp' ? (artifact ?? name) : 'others';
}
