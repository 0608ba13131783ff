import type { Launcher } from '@svc/sandbox/launcher.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Driver } from '../driver.ts';
import { McpService } from '../mcp-server/mcp-service.ts';
import { CliDriverTask } from './cli-driver-task.ts';
import type { CliDialect } from './cli-dialect.ts';
import { KnownConversations } from './known-conversations.ts';

export interface CliDriverSettings {
  readonly dialect: CliDialect;
  /** As the manifest names it, for messages. */
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

/** What the programs of a session are served with. */
export interface ProgramService {
  /** One for the session, asked of every request to the tool server. */
  readonly token: Secret;
  /** Names that cannot be guessed. */
  readonly mintName: () => string;
  /** Of svc. */
  readonly version: string;
  /** The door for a program that may reach this port of ours, and what its grants name. */
  readonly launcherFor: (servicePort: number) => Launcher;
  /** `host:port` at which that program finds this port of ours. */
  readonly addressFor: (servicePort: number) => string;
  readonly onBug: (error: unknown) => void;
}

/** What the tasks of a driver share. */
export interface CliDriverParts {
  readonly settings: CliDriverSettings;
  readonly conversations: KnownConversations;
  /** Opened with the first inference. */
  readonly opened: () => Promise<OpenedService>;
}

export interface OpenedService {
  readonly tools: McpService;
  readonly launcher: Launcher;
}

/**
 * The driver behind a program with a dialect of its own: one run of it is one inference, and the calls it makes in the middle of that come over
 * the Model Context Protocol (docs/drivers.md "Its tools, and ours"). The tool server is opened with the first inference and ends with the driver.
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
