/** Plays what a provider sent to the driver of its API. */

import * as z from 'zod';

import type { DriverResponse } from '@svc/guest/driver.ts';
import { RequestFailure } from '@svc/guest/request-failure.ts';
import { openDriver as openMessagesDriver } from '@svc/guest/provider/messages/messages-driver.ts';
import { openDriver as openChatDriver } from '@svc/guest/provider/chat/chat-driver.ts';
import {
  blocking,
  driverRequest,
  events,
  ScriptedPorts,
  type ScriptedResponse,
  waiting,
} from '../artifacts/scripted-ports.ts';
import { each, origin } from './read-wall.ts';

const text = z.string();

/** What is played under one title. */
export const providerAnswer = z.strictObject({
  each,
  status: z.int().optional(),
  headers: z.record(text, text).optional(),
  /** Each is the data of an event. */
  events: z.array(z.union([text, z.record(text, z.unknown())])).optional(),
  body: text.optional(),
  /** Comes again and again behind the rest; `''` is silence. */
  held_by: text.optional(),
  seen: z
    .strictObject({
      thinking: text.optional(),
      text: text.optional(),
      /** `<id> <name> <arguments>` each. */
      calls: z.array(text).optional(),
      stop: text.optional(),
    })
    .optional(),
  /** What the driver fails with; a pattern between slashes. */
  failure: text.optional(),
  /** Whether it asks once more. */
  again: z.boolean().optional(),
  waits_ms: z.int().optional(),
});

/** A file of this folder. */
export const providerFile = z.strictObject({
  ...origin,
  api: z.enum(['chat-completions', 'messages']),
  answers: z.record(text, providerAnswer),
});

type ProviderFile = z.infer<typeof providerFile>;
type ProviderAnswer = z.infer<typeof providerAnswer>;

/** Each driver as a component runs it, and as a process does. */
const drivers = {
  'chat-completions': [blocking(openChatDriver()), waiting(openChatDriver())],
  messages: [blocking(openMessagesDriver()), waiting(openMessagesDriver())],
} as const;

/** What a driver made of an answer, in the keys of its file. */
export interface Played extends Pick<ProviderAnswer, 'seen' | 'failure'> {
  readonly requests: number;
  readonly sleptMs: readonly number[];
}

/** Plays an answer to the driver as it runs here and there, twice where it is asked for again; `cut` says in which pieces it arrives. */
export async function play(
  api: ProviderFile['api'],
  given: ProviderAnswer,
  cut: (body: string) => readonly string[],
): Promise<readonly Played[]> {
  const response: ScriptedResponse = {
    status: given.status ?? 200,
    headers: given.headers ?? {},
    pieces: cut(given.body ?? events(...(given.events ?? [])).join('')),
    ...(given.held_by === undefined ? {} : { heldBy: given.held_by }),
  };
  return await Promise.all(drivers[api].map(async (ask) => await playTo(ask, response)));
}

async function playTo(ask: (typeof drivers)['messages'][number], response: ScriptedResponse): Promise<Played> {
  const ports = new ScriptedPorts(response, response);
  const outcome = await outcomeOf(async () => await ask(driverRequest({ config: '{"max_retries":1}' }), ports));
  return { ...outcome, requests: ports.requests.length, sleptMs: ports.slept };
}

async function outcomeOf(run: () => Promise<DriverResponse>): Promise<Pick<Played, 'seen' | 'failure'>> {
  try {
    return { seen: seenIn(await run()) };
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    return { failure: error.message.replace(/ \(after 2 attempts\)$/, '') };
  }
}

function seenIn({ content, stopReason }: DriverResponse): NonNullable<ProviderAnswer['seen']> {
  const joined = (parts: readonly string[], key: string): object =>
    parts.length === 0 ? {} : { [key]: parts.join('') };
  const calls = content.flatMap((block) =>
    block.tag === 'tool-call' ? [`${block.val.id} ${block.val.name} ${block.val.input}`] : [],
  );
  return {
    ...joined(
      content.flatMap((block) => (block.tag === 'thinking' ? [block.val.text] : [])),
      'thinking',
    ),
    ...joined(
      content.flatMap((block) => (block.tag === 'text' ? [block.val] : [])),
      'text',
    ),
    ...(calls.length === 0 ? {} : { calls }),
    stop: 'val' in stopReason ? `${stopReason.tag}: ${stopReason.val}` : stopReason.tag,
  };
}
