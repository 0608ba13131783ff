import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import type { A2aCapsule } from './a2a-capsule.ts';

/** The newest revision, or the one before, in which a client begins with `initialize`. */
export type Revision = '2026-07-28' | '2025-11-25';
export const revisions = ['2026-07-28', '2025-11-25'] as const;

export interface ClientChoice {
  readonly revision: Revision;
  /** What its user answers to a question; absent for a client that can ask nobody. `null` declines. */
  readonly answer?: (question: string) => string | null | Promise<string | null>;
  readonly headers?: Record<string, string>;
}

/** The official client, connected to the door of a capsule. */
export async function connectMcp({ url }: Pick<A2aCapsule, 'url'>, choice: ClientChoice): Promise<Client> {
  const client = mcpClient(choice);
  const requestInit = { headers: choice.headers ?? {} };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return client;
}

export function mcpClient({ revision, answer }: ClientChoice): Client {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode: revision === '2026-07-28' ? 'auto' : 'legacy' },
      capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
    },
  );
  if (answer !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const text = await answer(params.message);
      return text === null ? { action: 'decline' } : { action: 'accept', content: { answer: text } };
    });
  }
  return client;
}
