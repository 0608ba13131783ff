import type { DriverPorts, DriverRequest, DriverResponse } from '../lib/driver-world.ts';
import { runProviderTurn } from '../lib/provider-turn.ts';
import { aliasToolNames } from '../lib/tool-names.ts';
import { ChatReply } from './chat-reply.ts';
import { chatRequest, readChatConfig } from './chat-request.ts';

const defaultRetries = 3;

/** One turn at a Chat Completions server. Throws an `Error` whose message is one line saying why there is no response. */
export function infer(request: DriverRequest, ports: DriverPorts): DriverResponse {
  const config = readChatConfig(request.config);
  const names = aliasToolNames(request.tools);
  return runProviderTurn(
    {
      request: chatRequest(request, config, names),
      apiKey: request.apiKey,
      maxRetries: config.max_retries ?? defaultRetries,
      openReader: (sink) => new ChatReply(sink, names),
    },
    ports,
  );
}
