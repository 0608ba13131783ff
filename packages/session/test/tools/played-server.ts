/** Tool servers over processes that play the server of an artifact. */

import type { ToolOutcome } from '../../src/tools/tool.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { type Handler, type LooseMessage } from '../../../../test/support/fake-launcher.ts';
import type { ListedTools } from '../../src/tools/mcp/listed-tools.ts';
import { type LaunchedServer, launchedServer } from '../../src/tools/mcp/launched-server.ts';
import { ToolServer, type ServerCall, type ToolServerSettings } from '../../src/tools/mcp/tool-server.ts';

export const anything = { type: 'object' };
export const echo = { name: 'echo', description: '', inputSchema: anything };
export const slow = { name: 'slow', description: '', inputSchema: anything };
export const kept: ListedTools = { tools: [echo, slow], leftOut: [] };

/** A server whose `slow` never answers, and whose other tools answer with how often the server was called. */
export function wellMeant(listed: readonly unknown[] = kept.tools): Handler {
  let calls = 0;
  return ({ id, method, params }, process) => {
    const result = (value: LooseMessage): void => process.write({ id, result: value });
    if (method === 'initialize') {
      const { protocolVersion } = params as { readonly protocolVersion: string };
      result({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } });
    }
    if (method === 'tools/list') result({ tools: listed });
    if (method !== 'tools/call' || (params as { readonly name: string }).name === 'slow') return;
    calls += 1;
    result({ content: [{ type: 'text', text: `call ${calls}` }] });
  };
}

/** Answers the handshake and the list, and leaves the rest to `own`. */
export function unlike(own: Handler): Handler {
  const common = wellMeant();
  return (message, process) => {
    if (message['method'] === 'tools/call') own(message, process);
    else common(message, process);
  };
}

export interface Given
  extends Partial<ToolServerSettings>, Pick<LaunchedServer, 'hiddenIn' | 'endGraceMs' | 'asksRequests'> {
  readonly kept?: ListedTools | null;
}

export function serverOver(launcher: Launcher, given: Given = {}): ToolServer {
  const { kept: list = kept, hiddenIn = () => null, endGraceMs = 5, asksRequests = false, ...settings } = given;
  const program = { command: '/opt/server', args: ['--all'], env: { LANG: 'C' } };
  const place = launchedServer({ launcher, ...program, hiddenIn, endGraceMs, asksRequests });
  const common = {
    name: 'notes',
    deadlineMs: 20_000,
    sessionDirectory: '/nowhere',
    logs: new LogBudget(),
    cutBefore: (text: string) => text,
    version: '1.2.3',
  };
  const clock = { monotonicMs: () => 0 };
  return new ToolServer({ place, ...common, clock, onChange: () => {}, ...settings }, list);
}

export function call(tool: string, signal = new AbortController().signal): ServerCall {
  return { tool, args: { text: 'hi' }, signal };
}

export function passed(content: string): ToolOutcome {
  return { status: 'passed', content, exitCode: null, truncated: false };
}

export function failed(content: string): ToolOutcome {
  return { status: 'failed', content, exitCode: null, truncated: false };
}
