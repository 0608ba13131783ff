import { Command } from 'commander';
import { createParser, type EventSourceMessage } from 'eventsource-parser';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { openCall } from './capsule-client.ts';
import type { CommandContext } from './command-context.ts';
import { locateCapsule } from './locate-capsule.ts';
import { WatchView } from './watch-view.ts';

interface WatchOptions {
  readonly json?: boolean;
}

/** `svc watch`: the client of `stream/watch` (D1 "`svc watch` behaviour"). It never reconnects. */
export function watchCommand(context: CommandContext): Command {
  return new Command('watch')
    .description('Follow a running capsule.')
    .argument('[session]', 'session id, at least 4 of its last characters, or host:port; the newest when absent')
    .option('--json', 'write one JSON object per frame')
    .action(async (wanted: string | undefined, options: WatchOptions) => {
      const { address } = locateCapsule(context.home, wanted);
      await watch(address, options.json ?? false, context);
    });
}

async function watch(address: string, json: boolean, context: CommandContext): Promise<void> {
  const response = await openCall({
    address,
    method: 'stream/watch',
    params: {},
    token: context.env['SVC_LISTENER_TOKEN'],
    headers: { 'last-event-id': '0' },
  });
  if (response.headers['content-type']?.startsWith('text/event-stream') !== true) {
    response.destroy();
    throw new Diagnostic('E-IO-003', `the capsule at ${address} answered ${response.statusCode} and no event stream`, {
      hint: response.statusCode === 401 ? 'set SVC_LISTENER_TOKEN to the token of that capsule' : 'is it a capsule?',
    });
  }
  // Nobody reads what is printed any more: there is nothing left to do.
  let unread = false;
  context.stdout.once('error', () => {
    unread = true;
    response.destroy();
  });
  const view = new WatchView(context, json);
  let lastId: string | undefined;
  let closed = false;
  const parser = createParser({
    onEvent: (event: EventSourceMessage) => {
      lastId = event.id ?? lastId;
      closed ||= event.event === 'capsule-closed';
      view.show(event);
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response) parser.feed(decoder.decode(chunk as Buffer, { stream: true }));
  } catch (error) {
    // A reset connection is a lost one, like an end without a word.
    if (!unread && !(error instanceof Error && 'code' in error && error.code === 'ECONNRESET')) throw error;
  }
  if (unread) return;
  view.end();
  if (!closed) throw connectionLost(address, lastId);
  context.stderr.write('the capsule closed its stream\n');
}

function connectionLost(address: string, lastId: string | undefined): Diagnostic {
  const seen = lastId === undefined ? 'no event was seen' : `the last event id seen was ${lastId}`;
  return new Diagnostic('E-IO-003', `the connection to ${address} was lost; ${seen}`, {
    hint: 'run the command again to reattach',
  });
}
