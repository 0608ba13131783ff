/** Lists the model providers that `svc "task"` knows: their address, their key, and the model that `svc` takes when the user names none. */

/** A provider of models. */
export interface Provider {
  /** The part before the slash in `--model` and `SVC_MODEL`. */
  readonly name: string;
  readonly driver: 'svc-driver-anthropic' | 'svc-driver-openai';
  /** The one address to which `svc` sends its key. */
  readonly endpoint: string;
  readonly keyVariable: string;
  /** The model that `svc` takes when it knows only the key. */
  readonly model: string;
}

/** The first whose key is set counts. */
export const providers: readonly Provider[] = [
  {
    name: 'anthropic',
    driver: 'svc-driver-anthropic',
    endpoint: 'https://api.anthropic.com',
    keyVariable: 'ANTHROPIC_API_KEY',
    model: 'claude-sonnet-4-5',
  },
  {
    name: 'openai',
    driver: 'svc-driver-openai',
    endpoint: 'https://api.openai.com',
    keyVariable: 'OPENAI_API_KEY',
    model: 'gpt-5-mini',
  },
];

/** Returns the provider at an address, which may get its key. Returns null for any other address. */
export function providerAt(endpoint: string): Provider | null {
  const { origin } = new URL(endpoint);
  return providers.find((provider) => provider.endpoint === origin) ?? null;
}
