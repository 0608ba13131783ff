/** The model providers that `svc "task"` knows: where they are, which key is theirs, and which model is taken when none is named. */

/** A provider of models. */
export interface Provider {
  /** The part before the slash in `--model` and `SVC_MODEL`. */
  readonly name: string;
  readonly driver: 'svc-driver-anthropic' | 'svc-driver-openai';
  /** The one place that gets its key. */
  readonly endpoint: string;
  readonly keyVariable: string;
  /** Taken where a key is all that is known. */
  readonly model: string;
}

/** Ordered as their keys count. */
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

/** The provider at an address, which gets its key; null for any other. */
export function providerAt(endpoint: string): Provider | null {
  const { origin } = new URL(endpoint);
  return providers.find((provider) => provider.endpoint === origin) ?? null;
}
