/** Decides which model does a task for which no manifest names one. */

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { endpointFault, isInsecure } from '@svc/kit/net/endpoint.ts';
import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import { otherAddress, providerAt, providers, type Provider, type Variables } from './providers.ts';
import { ollamaAddress } from './ask-ollama.ts';

/** A model and the way to it. */
export interface ChosenModel {
  /** As its provider calls it. */
  readonly model: string;
  readonly driver: Provider['driver'];
  readonly endpoint: string;
  /** The variable with the key that goes to `endpoint`; null where none goes. */
  readonly keyVariable: string | null;
  /** What named it, for a person: `--model`, a variable, or the address that answered. */
  readonly from: string;
  /** Whether what is sent there can be read on its way. */
  readonly isInsecure?: true;
}

interface ModelQuestion {
  /** `--model` */
  readonly flag: string | undefined;
  /** `--key-env`: the variable with the key for the model that is named. */
  readonly keyEnv?: string | undefined;
  /** `--insecure-http`: `--model` may name a private address with http. */
  readonly insecureHttp?: boolean;
  readonly env: Variables;
  /** The name of a model that is there at this address; null when nothing answers in time, or has none. */
  readonly askOllama: (address: string) => Promise<string | null>;
  /** Another person of this machine whose program answers there; null where nobody else's does. */
  readonly strangerAt: (address: string) => number | null;
}

/**
 * The first that is set: `--model`, `SVC_MODEL`, the key of a provider, a model of an Ollama that answers (docs/adr/manifest-and-grants.md "A task needs no
 * manifest"). Throws `E-MAN-004` when nothing is set, or the named one cannot be asked; `E-MAN-005` when what answers is another person's and nobody has
 * named it. Only the process environment counts: a folder must not choose where keys go.
 */
export async function chooseModel(question: ModelQuestion): Promise<ChosenModel> {
  const { flag, keyEnv, insecureHttp = false, env, askOllama, strangerAt } = question;
  if (insecureHttp && flag === undefined)
    throw noModel('--insecure-http goes with --model: nothing else names an address with http', anAddress);
  const { SVC_MODEL: variable = '' } = env;
  if (flag !== undefined) return namedModel(flag, '--model', question);
  if (variable !== '') return namedModel(variable, 'SVC_MODEL', question);
  if (keyEnv !== undefined)
    throw noModel('--key-env goes with --model: a key is for the model that is named', byAddress);
  const keyed = providers.find(
    ({ keyVariable, addressVariable }) => isSet(env, keyVariable) || isSet(env, addressVariable),
  );
  if (keyed !== undefined) return keyedModel(keyed, env);
  const address = ollamaAddress(env);
  const fault = endpointFault(address);
  const model = fault === undefined ? await askOllama(address) : null;
  const stranger = model === null ? null : strangerAt(address);
  if (model !== null && stranger !== null) throw notOwn(address, model, stranger);
  if (model !== null && modelShape.test(model)) return { ...atAddress(address), model, from: new URL(address).host };
  throw noModel(`no model is named, no key is set, and no model answers at ${address}`);
}

/** The usual model of a provider is known at its own address alone. */
function keyedModel(provider: Provider, env: Variables): ChosenModel {
  const { name, model, keyVariable, addressVariable } = provider;
  if (otherAddress(provider, env) !== null)
    throw noModel(
      `${addressVariable} names a server, and nothing names a model of it`,
      `name one: svc --model ${name}/<model> "<task>", or export SVC_MODEL=${name}/<model>`,
    );
  if (isSet(env, keyVariable)) return { ...wayTo(provider, env), model, from: keyVariable };
  throw noModel(`${addressVariable} is set, and ${keyVariable} is not`, `export ${keyVariable}=<your key>`);
}

/** The name stands in a manifest, where a text such as `${HOME}` means a variable. */
export const modelShape: RegExp = /^[\w.:/@+-]{1,256}$/;

/** `provider/name`, or `http(s)://host[:port][/v1]/name`. */
function namedModel(text: string, from: string, question: ModelQuestion): ChosenModel {
  const { env, keyEnv } = question;
  const found = /^https?:/i.test(text) ? modelAt(text, from, question) : modelOf(text, from, env);
  const chosen = keyEnv === undefined ? found : { ...found, keyVariable: keyEnv, from: `${from}, ${keyEnv}` };
  if (!modelShape.test(chosen.model))
    throw noModel(`${from} names the model ${quoted(chosen.model)}, which is no name of a model`);
  if (chosen.keyVariable === null || isSet(env, chosen.keyVariable)) return chosen;
  if (keyEnv !== undefined) throw noModel(`--key-env names ${keyEnv}, which is not set`, `export ${keyEnv}=<your key>`);
  throw noModel(
    `${from} names ${quoted(text)}, whose provider wants a key, and ${chosen.keyVariable} is not set`,
    `export ${chosen.keyVariable}=<your key>, or name a model that needs none: ollama/<model>`,
  );
}

function modelOf(text: string, from: string, env: Variables): ChosenModel {
  const slash = text.indexOf('/');
  const [name, model] = [text.slice(0, Math.max(slash, 0)), text.slice(slash + 1)];
  const provider = providers.find((each) => each.name === name);
  if (slash < 1 || model === '' || (provider === undefined && name !== 'ollama'))
    throw noModel(
      `${from} is ${quoted(text)}, which does not say whose model it is`,
      `write ${setUp(text, env)}${known} or http://<host>:<port>/<model>`,
    );
  if (provider !== undefined) {
    const other = otherAddress(provider, env) === null ? '' : `, ${provider.addressVariable}`;
    return { ...wayTo(provider, env), model, from: `${from}${other}` };
  }
  const address = ollamaAddress(env);
  const fault = endpointFault(address);
  if (fault !== undefined) throw noModel(`OLLAMA_HOST is ${quoted(address)}, which ${fault}`);
  return { ...atAddress(address), model, from };
}

/** `openai/gpt, ` for a model without a provider, once for each provider that has a key or an address. */
function setUp(text: string, env: Variables): string {
  if (text.includes('/') || !modelShape.test(text)) return '';
  const there = providers.filter((each) => isSet(env, each.keyVariable) || isSet(env, each.addressVariable));
  return there.map(({ name }) => `${name}/${text}, `).join('');
}

const known = [...providers.map(({ name }) => name), 'ollama'].map((name) => `${name}/<model>`).join(', ');

/** The key of a provider that is known by this very address goes along, and no other. */
function modelAt(text: string, from: string, { env, insecureHttp = false }: ModelQuestion): ChosenModel {
  const problem = endpointFault(text, insecureHttp);
  if (problem !== undefined) {
    const isPrivate = endpointFault(text, true) === undefined;
    const message = `the address ${quoted(text)} of ${from} ${problem}`;
    throw noModel(message, isPrivate ? insecureHint : anAddress);
  }
  const url = new URL(text);
  // Many servers print their address with the version of the API.
  const [, version = '', name = ''] = /^((?:\/[^/]+)*?\/v\d{1,3}(?=\/.))?\/(.*)$/s.exec(url.pathname) ?? [];
  const model = decodePercent(name);
  if (model === null || model === '')
    throw noModel(`${from} is ${quoted(text)}, which names no model behind the address`, anAddress);
  const provider = providerAt(url.origin, env);
  if (provider !== null) return { ...wayTo(provider, env), model, from };
  const driver = providers.find(({ endpoint }) => endpoint === url.origin)?.driver;
  return {
    ...atAddress(`${url.origin}${version}`, driver),
    ...(isInsecure(text) ? { isInsecure: true } : {}),
    model,
    from,
  };
}

/** A server of that address needs no key, as many of one's own do not. */
function wayTo(provider: Provider, env: Variables): Omit<ChosenModel, 'model' | 'from'> {
  const { driver, endpoint, keyVariable } = provider;
  const other = otherAddress(provider, env);
  if (other === null) return { driver, endpoint, keyVariable };
  return { driver, endpoint: other, keyVariable: isSet(env, keyVariable) ? keyVariable : null };
}

/** Any server of Chat Completions, or that of another driver, without a key. */
function atAddress(
  endpoint: string,
  driver: Provider['driver'] = 'svc-driver-openai',
): Omit<ChosenModel, 'model' | 'from'> {
  return { driver, endpoint, keyVariable: null };
}

/**
 * Names the model of an earlier task at the address that it had, whatever the variables say by now, as flags do; `keyEnv` is the variable of its key. Throws
 * `E-MAN-004` where that is gone.
 */
export function sameModel(
  { model, endpoint = '', insecure_http: isInsecure, context }: CapsuleManifest['inference'],
  keyEnv: string | null,
  env: Variables,
): { model?: string; keyEnv?: string; insecureHttp?: true; context?: number } {
  if (endpoint === '') return {};
  if (keyEnv !== null && !isSet(env, keyEnv))
    throw noModel(
      `the session asked ${quoted(model)} at ${endpoint} with the key in ${keyEnv}, which is not set`,
      `export ${keyEnv}=<your key>, or go on with another model: --model <provider>/<model>`,
    );
  const provider = providers.find((each) => each.endpoint === endpoint && otherAddress(each, env) === null);
  return {
    model: `${provider?.name ?? endpoint}/${model}`,
    ...(keyEnv === null || keyEnv === provider?.keyVariable ? {} : { keyEnv }),
    ...(isInsecure === true ? { insecureHttp: true } : {}),
    ...(context.max_tokens === undefined ? {} : { context: context.max_tokens }),
  };
}

function isSet(env: Variables, name: string): boolean {
  return (env[name] ?? '') !== '';
}

const byAddress = 'name the model: svc --model https://<host>/<model> --key-env <variable> "<task>"';
const anAddress =
  'write https://<host>/<model>, http://localhost:8000/<model> for a server of this machine, or --insecure-http --model http://192.168.1.5:8000/<model> for one of a private network';
const insecureHint = 'add --insecure-http where anybody on the way may read the task, the answers and the key';

/** A task may hold what is for nobody else, and any user of a machine may listen on a port that is free. */
function notOwn(address: string, model: string, uid: number): Diagnostic {
  const named = modelShape.test(model) ? model : '<model>';
  return new Diagnostic(
    'E-MAN-005',
    `the task is not given to what answers at ${address}: another user of this machine runs it, number ${uid}`,
    {
      hint: `start an Ollama of your own, or say that you want this one: svc --model ollama/${named} "<task>"`,
    },
  );
}

const anyModel =
  'export ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama with a model, or name one: svc --model http://localhost:8000/<model> "<task>"';

function noModel(problem: string, hint: string = anyModel): Diagnostic {
  return new Diagnostic('E-MAN-004', problem, { hint });
}
