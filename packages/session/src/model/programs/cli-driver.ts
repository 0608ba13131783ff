/** Asks a model through a coding program, which calls the tools of the capsule. */

import type { Launcher } from '@svc/sandbox/launcher.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import {
  type Driver,
  type DriverOutcome,
  type DriverTask,
  type InferenceCall,
  type InferenceRequest,
  redactedOutcome,
} from '../driver.ts';
import { McpService, InferenceTools } from './mcp-service.ts';
import type { CliDialect, CliStart } from './cli-dialect.ts';
import { KnownConversations, type Continuation, continuationPrompt, openingPrompt } from './known-conversations.ts';
import { ProgramRun } from './program-run.ts';

interface CliDriverSettings {
  readonly dialect: CliDialect;
  /** The name that the manifest gives it, for messages. */
  readonly name: string;
  /** What is started: a bare name or an absolute path. */
  readonly command: string;
  /** What the manifest gives the program, in front of the words of the dialect. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** `inference.api_key`, which the program gets and nothing else of the capsule. */
  readonly apiKey: Secret | null;
  readonly maxTurns: number;
  /** Whether `capabilities.network.allow` names a host. */
  readonly hasNetwork: boolean;
  readonly service: ProgramService;
  readonly redact: (text: string) => string;
  /** How long a program may take to end by itself, and again after it was asked to. */
  readonly endGraceMs: number;
}

/** What a session gives to its programs. */
export interface ProgramService {
  /** One for the session, asked of every request to the tool server. */
  readonly token: Secret;
  /** Names that cannot be guessed. */
  readonly mintName: () => string;
  /** The version of `svc`. */
  readonly version: string;
  /** The door for a program that may reach this port of ours, and what its grants name. */
  readonly launcherFor: (servicePort: number) => Launcher;
  /** `host:port` at which that program finds this port of ours. */
  readonly addressFor: (servicePort: number) => string;
  readonly onBug: (error: unknown) => void;
}

/** What the tasks of a driver share. */
interface CliDriverParts {
  readonly settings: CliDriverSettings;
  readonly conversations: KnownConversations;
  /** Opened with the first inference. */
  readonly opened: () => Promise<OpenedService>;
}

interface OpenedService {
  readonly tools: McpService;
  readonly launcher: Launcher;
}

/**
 * The driver behind a program with a dialect of its own: one run of it is one inference, and the calls it makes in the middle of that come over
 * the Model Context Protocol (docs/drivers.md "Its tools, and those of the capsule"). The tool server is opened with the first inference and ends with the driver.
 */
export function createCliDriver(settings: CliDriverSettings): Driver {
  const { service } = settings;
  const conversations = new KnownConversations();
  const open = new Set<CliDriverTask>();
  let opening: Promise<OpenedService> | null = null;
  const parts: CliDriverParts = { settings, conversations, opened: () => (opening ??= openService(service)) };
  return {
    label: settings.name,
    openTask() {
      const task = new CliDriverTask(parts, () => open.delete(task));
      open.add(task);
      return task;
    },
    async close() {
      await Promise.all([...open].map((task) => task.close()));
      const opened = await opening;
      await opened?.tools.close();
    },
  };
}

async function openService({ launcherFor, ...service }: ProgramService): Promise<OpenedService> {
  const tools = await McpService.open(service);
  return { tools, launcher: launcherFor(tools.port) };
}

const tokenVariable = 'SVC_MCP_TOKEN';

/** What programs and providers say to somebody who is not signed in. */
const notSignedIn = /\blog(?:ged)?[ -]?in\b|api[ _-]?key|authenticat|unauthori[sz]ed|\b401\b/i;

/** A refusal of our own, which a program may take for one of its provider. */
const refusedByProxy = /capabilities\.network\.allow does not name it/;

interface RunEnd {
  readonly outcome: DriverOutcome;
  /** Whether it showed or called anything: another run would do it twice. */
  readonly acted: boolean;
}

/** The inferences of one task. */
class CliDriverTask implements DriverTask {
  readonly #parts: CliDriverParts;
  readonly #onClosed: () => void;
  #run: ProgramRun | null = null;
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: CliDriverParts, onClosed: () => void) {
    this.#parts = parts;
    this.#onClosed = onClosed;
  }

  async infer(request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome> {
    const { settings, opened } = this.#parts;
    const answered = opened().then((service) => this.#answer(service, request, call));
    this.#running = answered.catch(() => {});
    return redactedOutcome(this.#explained(await answered), settings.redact);
  }

  async close(): Promise<void> {
    this.#run?.fail('the task is over');
    await this.#running;
    this.#onClosed();
  }

  /** Goes on with what the program remembers; sends it everything when it does not remember after all. */
  async #answer(service: OpenedService, request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome> {
    const { conversations } = this.#parts;
    const known = conversations.find(request.messages);
    if (known !== null) {
      const { outcome, acted } = await this.#once({ service, request, call, known });
      const isFinal = acted || isAnswer(outcome) || outcome.kind === 'unavailable' || call.signal.aborted;
      if (isFinal) return this.#remembered(request, outcome);
      conversations.forget(known.id);
    }
    const { outcome } = await this.#once({ service, request, call, known: null });
    return this.#remembered(request, outcome);
  }

  async #once(attempt: {
    readonly service: OpenedService;
    readonly request: InferenceRequest;
    readonly call: InferenceCall;
    readonly known: Continuation | null;
  }): Promise<RunEnd> {
    const { service, request, call, known } = attempt;
    const { settings } = this.#parts;
    const { dialect, name, endGraceMs, maxTurns } = settings;
    const tools = new InferenceTools({
      definitions: request.tools,
      callTool: call.callTool,
      maxCalls: dialect.boundsTurns ? null : maxTurns,
      onFault: () => this.#run?.fail('the call was broken off'),
      onStubborn: (why) => this.#run?.fail(`${name} goes on although ${why}`),
    });
    const offer = service.tools.offer(tools);
    const hasTools = request.tools.length > 0;
    const start = dialect.start({
      model: request.model,
      system: request.system,
      prompt: known === null ? openingPrompt(request.messages) : continuationPrompt(known.rest),
      maxTurns,
      maxTokens: request.maxTokens,
      resume: known?.id ?? null,
      toolsUrl: hasTools ? `http://${settings.service.addressFor(service.tools.port)}${offer.path}` : null,
      tokenVariable,
    });
    try {
      const launch = await service.launcher.launch(this.#launchOf(start));
      if (launch.kind === 'refused') {
        return {
          outcome: { kind: 'unavailable', error: `${name} could not be started: ${launch.reason}` },
          acted: false,
        };
      }
      const run = new ProgramRun({ launched: launch.process, decoder: dialect.decoder(), name, call, endGraceMs });
      this.#run = run;
      const outcome = await run.follow(start.stdin);
      return { outcome, acted: run.showed || tools.made > 0 };
    } finally {
      offer.withdraw();
      await tools.finish();
      this.#run = null;
    }
  }

  #launchOf(start: CliStart): Parameters<OpenedService['launcher']['launch']>[0] {
    const { settings } = this.#parts;
    const { apiKey, args, command, dialect, env, service } = settings;
    return {
      command,
      args: [...args, ...start.args],
      env: {
        ...start.env,
        ...env,
        ...(apiKey === null ? {} : { [dialect.keyVariable]: apiKey.reveal() }),
        [tokenVariable]: service.token.reveal(),
      },
      stdin: 'pipe',
    };
  }

  #remembered(request: InferenceRequest, outcome: DriverOutcome): DriverOutcome {
    if (outcome.kind !== 'response' || !isAnswer(outcome)) return outcome;
    const { content, continuationId } = outcome.response;
    const messages = [...request.messages, { role: 'assistant', content }] as const;
    if (continuationId !== undefined) this.#parts.conversations.remember(messages, continuationId);
    return outcome;
  }

  /** A failure with what its reader can do about it. */
  #explained(outcome: DriverOutcome): DriverOutcome {
    if (outcome.kind === 'failed') return { ...outcome, error: this.#withHints(outcome.error) };
    if (outcome.kind !== 'response' || outcome.response.error === undefined) return outcome;
    const { response } = outcome;
    return { kind: 'response', response: { ...response, error: this.#withHints(outcome.response.error) } };
  }

  #withHints(error: string): string {
    const { dialect, hasNetwork, name } = this.#parts.settings;
    const variables = [dialect.keyVariable, ...dialect.loginVariables].join(' or ');
    const hints = [
      notSignedIn.test(error) && !refusedByProxy.test(error)
        ? `set inference.api_key, or list ${variables} in capabilities.env.allow`
        : null,
      hasNetwork ? null : `capabilities.network.allow names no host at which ${name} reaches its model`,
    ];
    return [error, ...hints.filter((hint) => hint !== null)].join('; ');
  }
}

function isAnswer(outcome: DriverOutcome): boolean {
  return outcome.kind === 'response' && outcome.response.stopReason !== 'error';
}
