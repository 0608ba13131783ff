/** Plays sessions with a server of the Model Context Protocol, and reads the frames of its calls. */

import { FrameStream } from './frame-stream.ts';
import { message, startCapsule, type RunLine, type SvcEnd } from './svc-process.ts';
import type { Workspace } from './workspace.ts';

/** What the frame of a call says, except for how long it took. */
export interface ShownCall {
  readonly tool: string;
  readonly content: string;
  readonly fence: string | null;
  readonly isError: boolean;
  readonly truncated: boolean;
}

export interface PlayedSession extends SvcEnd {
  readonly line: RunLine;
  readonly calls: readonly ShownCall[];
}

export interface SessionOptions {
  /** Before the message. */
  readonly whileUp?: (line: RunLine) => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a capsule of one message with `--workdir work` to its end. */
export async function playSession(
  workspace: Workspace,
  { whileUp, env = {} }: SessionOptions = {},
): Promise<PlayedSession> {
  const { process, line } = await startCapsule(workspace, ['--workdir', 'work'], { env });
  await whileUp?.(line);
  const stream = await FrameStream.open(line.url, 'message/stream', message('Do it.'));
  const { frames } = await stream.untilClosed();
  const end = await process.ended;
  const calls = frames.filter(({ event }) => event === 'artifact').map(({ data }) => shownCall(data['artifact']));
  return { ...end, line, calls };
}

function shownCall(artifact: unknown): ShownCall {
  const frame = artifact as Readonly<Record<string, unknown>>;
  return {
    tool: String(frame['tool_name']),
    content: String(frame['content']),
    fence: frame['fence_source'] as string | null,
    isError: frame['is_error'] === true,
    truncated: frame['truncated'] === true,
  };
}
