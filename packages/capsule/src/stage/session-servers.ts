/** Starts the MCP servers of a session. */

import { chosenTools } from '@svc/artifacts/manifest/chosen-tools.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import { version } from '@svc/kit/version.ts';
import { checkListed, type ListedTools, KeptLists } from '@svc/session/tools/mcp/listed-tools.ts';
import type { PinnedTool } from '@svc/session/tools/mcp/pinned-tools.ts';
import { createMcpTools } from '@svc/session/tools/mcp/mcp-tools.ts';
import { ToolServer, type ToolServerSettings } from '@svc/session/tools/mcp/tool-server.ts';
import type { CutBefore } from '@svc/session/tools/captured-output.ts';
import type { Tool } from '@svc/session/tools/tool.ts';

export interface SessionServersDeps {
  /** `~/.svc/cache`. */
  readonly cacheDir: string;
  readonly sessionDirectory: string;
  /** The bytes that all logs of the session may still take. */
  readonly logs: LogBudget;
  readonly cutBefore: CutBefore;
  /** Aborted when the session was asked to stop: a server that has not listed its tools by then is not waited for. */
  readonly stop: AbortSignal;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** How a server is reached. */
type ServerAccess = Pick<ToolServerSettings, 'place' | 'deadlineMs' | 'pinned' | 'redact'>;

/** The MCP servers of one session. */
export class SessionServers {
  readonly #deps: SessionServersDeps;
  readonly #kept: KeptLists;
  readonly #servers: ToolServer[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: SessionServersDeps) {
    this.#deps = deps;
    this.#kept = new KeptLists(deps.cacheDir);
  }

  /**
   * The tools that the server of an artifact listed when it was last asked. One that was never asked is started and asked, and goes on
   * running; `E-RUN-036` when it does not answer, or not before the session is asked to stop.
   */
  async tools({ entry, manifest, sha256 }: InstalledArtifact, access: ServerAccess): Promise<readonly Tool[]> {
    const { name, description } = manifest;
    const { patterns: chosen, names } = chosenTools(entry);
    // Another choice of tools of the same server is another list.
    const key = chosen === null ? sha256 : sha256Hex(`${sha256} ${chosen.join(' ')}`);
    const { pinned = null } = access;
    const kept = (await this.#kept.read(key)) ?? (pinned === null ? null : await this.#checked(key, pinned, chosen));
    const { sessionDirectory, logs, cutBefore, onWarning } = this.#deps;
    const onChange = (live: ListedTools | null, change: string | null): void => {
      if (live !== null) this.#keep(key, live);
      if (change !== null) onWarning(changed(name, change, pinned === null ? nextSession : withUpdate(name)));
    };
    const onWaiting = (refused: string): void => onWarning(waiting(name, refused));
    const common = {
      onWaiting,
      name,
      chosen,
      sessionDirectory,
      logs,
      cutBefore,
      version,
      clock: systemClock,
      onChange,
    };
    const server = new ToolServer({ ...common, ...access }, kept);
    this.#servers.push(server);
    const offered = await this.#untilStop(server);
    if (offered.kind !== 'answered') {
      if (this.#deps.stop.aborted) throw silent(name, 'had not answered when svc was asked to stop');
      throw silent(name, offered.kind === 'refused' ? `could not be started: ${offered.reason}` : offered.reason);
    }
    const { tools, leftOut, unmatched } = offered.value;
    if (kept === null && tools.length + leftOut.length > 0) this.#keep(key, offered.value);
    const isEmpty = tools.length === 0 && unmatched === undefined;
    if (leftOut.length > 0 || isEmpty) onWarning(partlyOffered(name, offered.value));
    if (unmatched !== undefined) onWarning(notListed(name, unmatched));
    return createMcpTools({ name, description, server, listed: tools, names });
  }

  /** What of the tools that were accepted can be offered; checking takes long, so it is kept. */
  async #checked(key: string, pinned: readonly PinnedTool[], chosen: readonly string[] | null): Promise<ListedTools> {
    const listed = await checkListed(pinned, systemClock, chosen);
    this.#keep(key, listed);
    return listed;
  }

  /** Ends all servers. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
    await this.#writing;
  }

  async #untilStop(server: ToolServer): ReturnType<ToolServer['offered']> {
    const { stop } = this.#deps;
    const onStop = (): void => void server.close();
    stop.addEventListener('abort', onStop, { once: true });
    if (stop.aborted) onStop();
    try {
      return await server.offered();
    } finally {
      stop.removeEventListener('abort', onStop);
    }
  }

  #keep(sha256: string, listed: ListedTools): void {
    const write = async (): Promise<void> => await this.#kept.write(sha256, listed);
    this.#writing = this.#writing.then(write).catch((error: unknown) => {
      // Without it the next session asks the server, or reports the change again.
      if (!(error instanceof Diagnostic && error.code === 'E-IO-001')) throw error;
    });
  }
}

function silent(name: string, reason: string): Diagnostic {
  const [happened = '', said] = reason.split(/\n(?=its last words on stderr:\n)/, 2);
  const [what = '', ...hints] = happened.split('\n');
  const message = `the server of ${name} did not list its tools: it ${what}`;
  // The last words keep their line breaks: a stack trace without them says half.
  const hint = [...hints, ...(said === undefined ? [] : [said])].join(' ');
  return new Diagnostic('E-RUN-036', message, hint === '' ? {} : { hint });
}

function notListed(name: string, { names, hint }: NonNullable<ListedTools['unmatched']>): Diagnostic {
  const message = `the server of ${name} lists no tool ${firstNames(names, maxSentences)}, which artifacts[].tools chooses`;
  return new Diagnostic('W-RUN-006', message, { hint });
}

const maxSentences = 10;

function partlyOffered(name: string, { tools, leftOut, absent }: ListedTools): Diagnostic {
  if (absent !== undefined) {
    return new Diagnostic('W-RUN-006', `the server of ${name} ${absent}`, {
      hint: `svc uses nothing but tools of a server: without them, artifacts needs no ${name}`,
    });
  }
  const rest = leftOut.length - maxSentences;
  const told = [...leftOut.slice(0, maxSentences), ...(rest > 0 ? [`${rest} more`] : [])];
  const message =
    leftOut.length === 0
      ? `the server of ${name} lists no tool`
      : `the server of ${name} lists what is not offered: ${told.join('; ')}`;
  const all = rest > 0 ? '; svc list --json names each that is left out' : '';
  return new Diagnostic('W-RUN-006', message, { hint: `the model has ${tools.length} of its tools${all}` });
}

function waiting(name: string, refused: string): Diagnostic {
  if (refused === '') return stillStarting(name, 'has not listed its tools');
  const message = `the server of ${name} has not listed its tools after 5 s, and svc waits for at most a minute: ${refused.replaceAll('\n', ' ')}`;
  return new Diagnostic('W-RUN-189', message, {
    hint: 'a server that cannot start without the host needs it in capabilities.network.allow',
  });
}

/** `W-RUN-191`: what a server has not done three seconds after its start, or that of its installation. */
export function stillStarting(name: string, what: string): Diagnostic {
  return new Diagnostic('W-RUN-191', `the server of ${name} ${what} after 3 s, and svc waits for it`, {
    hint: 'Ctrl+C ends the wait; what the server says on standard error is told if it fails',
  });
}

const nextSession = 'the next session offers what it lists now';

function withUpdate(name: string): string {
  return `the tools that were accepted go on as long as they fit; svc update ${name} shows what differs and takes it`;
}

function changed(name: string, change: string, hint: string): Diagnostic {
  return new Diagnostic('W-RUN-007', `the server of ${name} lists other tools than this session offers: ${change}`, {
    hint,
  });
}
