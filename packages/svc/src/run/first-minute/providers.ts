/** Lists the model providers that `svc "task"` knows: their address, their key, and the model that `svc` takes when the user names none. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';

/** A provider of models. */
export interface Provider {
  /** The part before the slash in `--model` and `SVC_MODEL`. */
  readonly name: string;
  readonly driver: 'svc-driver-anthropic' | 'svc-driver-openai';
  /** The one address to which `svc` sends its key. */
  readonly endpoint: string;
  readonly keyVariable: string;
  /** The variable with another address, as the libraries of the provider take it. The key then goes there, and to the provider no more. */
  readonly addressVariable: string;
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
    addressVariable: 'ANTHROPIC_BASE_URL',
    model: 'claude-sonnet-4-5',
  },
  {
    name: 'openai',
    driver: 'svc-driver-openai',
    endpoint: 'https://api.openai.com',
    keyVariable: 'OPENAI_API_KEY',
    addressVariable: 'OPENAI_BASE_URL',
    model: 'gpt-5-mini',
  },
];

export type Variables = Readonly<Record<string, string | undefined>>;

/** The address that the environment gives a provider instead of its own; null where it gives none. Throws `E-MAN-004` for one that gets no key. */
export function otherAddress({ addressVariable, endpoint }: Provider, env: Variables): string | null {
  const address = (env[addressVariable] ?? '').replace(/\/+$/, '');
  if (address === '') return null;
  const fault = endpointFault(address);
  if (fault !== undefined)
    throw new Diagnostic('E-MAN-004', `${addressVariable} is ${quoted(address)}, which ${fault}`, {
      hint: 'correct it, or name the model by its address: svc --model https://<host>/<model> --key-env <variable> "<task>"',
    });
  return new URL(address).origin === endpoint ? null : address;
}

/** Returns the provider at an address, which may get its key. Returns null for any other address, and where the environment sends the key elsewhere. */
export function providerAt(endpoint: string, env: Variables): Provider | null {
  const { origin } = new URL(endpoint);
  const provider = providers.find((each) => each.endpoint === origin) ?? null;
  return provider !== null && otherAddress(provider, env) === null ? provider : null;
}

/** Models whose providers say what they take at once, in tokens. */
const contexts: readonly (readonly [RegExp, number])[] = [
  [/^claude-/, 200_000],
  [/^gpt-5/, 272_000],
];

/** The tokens that a model takes at once, where its own provider serves it; null for any other, which may take far less. */
export function knownContext({
  model,
  endpoint,
}: {
  readonly model: string;
  readonly endpoint: string;
}): number | null {
  if (!providers.some((provider) => provider.endpoint === endpoint)) return null;
  return contexts.find(([names]) => names.test(model))?.[1] ?? null;
}
