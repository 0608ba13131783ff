/** Runs one turn of a conversation at a server of the Chat Completions API. */

import type { DriverCode } from '../driver-ports.ts';
import { giverOf } from '../companions.ts';
import { ConversationKeeper } from '../kept-conversation.ts';
import { runProviderTurn } from '../provider-turn.ts';
import { RefusedTools } from '../refused-tools.ts';
import { aliasToolNames, withOwnArguments } from '../tool-names.ts';
import { ChatReply } from './chat-reply.ts';
import { chatMessages, chatRequest, readChatConfig } from './chat-request.ts';

const defaultRetries = 3;

/** Opens a driver for Chat Completions servers, which keeps the conversation it was asked about last. A turn throws an `Error` whose message is one line saying why there is no response. */
export function openDriver(): DriverCode {
  const keeper = new ConversationKeeper();
  const refused = new RefusedTools();
  return function* (request, ports) {
    const config = readChatConfig(request.config);
    const names = aliasToolNames(request.tools);
    const giver = giverOf(request, 'chat');
    const conversation = keeper.take(request, {
      shape: JSON.stringify([giver, ...request.tools.map(({ name }) => name)]),
      make: () => chatMessages(names, giver),
      now: ports.now(),
    });
    const response = yield* runProviderTurn(
      {
        offered: refused.offered(request, names),
        requestWith: (tools) => chatRequest({ ...request, tools }, { conversation, config, names }),
        apiKey: request.apiKey,
        maxRetries: config.max_retries ?? defaultRetries,
        openReader: (sink) => new ChatReply(sink, { names, giver }),
      },
      ports,
    );
    return { ...withOwnArguments(response, names), continuationId: conversation.continuationId };
  };
}
