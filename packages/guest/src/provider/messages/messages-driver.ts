/** Runs one turn of a conversation at a server of the Messages API. */

import type { DriverCode } from '../driver-ports.ts';
import { giverOf } from '../companions.ts';
import { ConversationKeeper } from '../kept-conversation.ts';
import { runProviderTurn } from '../provider-turn.ts';
import { RefusedTools } from '../refused-tools.ts';
import { aliasToolNames, withOwnArguments } from '../tool-names.ts';
import { MessagesReply } from './messages-reply.ts';
import { mergedTurns } from './messages-conversation.ts';
import { cacheMarks, messagesRequest, readMessagesConfig } from './messages-request.ts';
import { signedBy } from './thinking-signature.ts';

const defaultRetries = 3;

/** Opens a driver for Messages servers, which keeps the conversation it was asked about last. A turn throws an `Error` whose message is one line saying why there is no response. */
export function openDriver(): DriverCode {
  const keeper = new ConversationKeeper();
  const refused = new RefusedTools();
  return function* (request, ports) {
    const config = readMessagesConfig(request.config);
    const names = aliasToolNames(request.tools);
    const giver = giverOf(request, 'messages');
    const marks = cacheMarks(config);
    const conversation = keeper.take(request, {
      shape: JSON.stringify([giver, ...request.tools.map(({ name }) => name)]),
      make: () => mergedTurns({ names, giver, marked: marks.turns }),
      now: ports.now(),
    });
    const response = yield* runProviderTurn(
      {
        offered: refused.offered(request, names),
        requestWith: (tools) => messagesRequest({ ...request, tools }, { conversation, config, names, marks }),
        apiKey: request.apiKey,
        maxRetries: config.max_retries ?? defaultRetries,
        openReader: (sink) => new MessagesReply(sink, names),
      },
      ports,
    );
    return { ...signedBy(giver, withOwnArguments(response, names)), continuationId: conversation.continuationId };
  };
}
