import type { DriverPorts, DriverRequest, DriverResponse } from '../lib/driver-world.ts';
import { runProviderTurn } from '../lib/provider-turn.ts';
import { aliasToolNames } from '../lib/tool-names.ts';
import { MessagesReply } from './messages-reply.ts';
import { messagesRequest, readMessagesConfig } from './messages-request.ts';

const defaultRetries = 3;

/** One turn at a Messages server. Throws an `Error` whose message is one line saying why there is no response. */
export function infer(request: DriverRequest, ports: DriverPorts): DriverResponse {
  const config = readMessagesConfig(request.config);
  const names = aliasToolNames(request.tools);
  return runProviderTurn(
    {
      request: messagesRequest(request, config, names),
      apiKey: request.apiKey,
      maxRetries: config.max_retries ?? defaultRetries,
      openReader: (sink) => new MessagesReply(sink, names),
    },
    ports,
  );
}
