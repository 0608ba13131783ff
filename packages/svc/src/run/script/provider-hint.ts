/** Says what a person can do about a task that the provider of its model has failed. */

import { resolve } from 'node:path';

import { lastingReason } from '@svc/guest/provider/failure-reason.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';

/** Where it is decided which model is asked, and with which key. */
export interface ModelPlace {
  /** The manifest, for a person; null of a task without one. */
  readonly file: string | null;
  /** The variable that the key comes from; null where none goes along, and where nothing says it. */
  readonly keyVariable: string | null;
}

interface ModelChoice {
  readonly manifest: string;
  /** A capsule of a store, instead of a manifest that is a file. */
  readonly capsule?: string;
}

/** `providerHint` for a run. `made` is the manifest of a task that has none of its own, which is no file; the file is only read for a failure. */
export function hintsFor(choice: ModelChoice, cwd: string, made: string | null): (words: string) => string | null {
  return (words) =>
    providerHint(words, made === null ? placeOf(choice, cwd) : { file: null, keyVariable: keyVariableIn(made) });
}

function placeOf({ manifest: file, capsule }: ModelChoice, cwd: string): ModelPlace {
  if (capsule !== undefined) return { file: 'its manifest', keyVariable: null };
  const reading = readSmallText(resolve(cwd, file));
  return { file, keyVariable: reading.kind === 'text' ? keyVariableIn(reading.text) : null };
}

/** The variable that the key of a manifest comes from; null where it names none. */
export function keyVariableIn(manifest: string): string | null {
  return /^[ \t{,]*(?:inference: *\{[^\n]*?)?api_key: *["']?\$\{([A-Za-z_]\w{0,99})\}/m.exec(manifest)?.[1] ?? null;
}

/** The hint for a failure in the words of the trace; null for one that is not of the provider. */
export function providerHint(words: string, place: ModelPlace): string | null {
  const [, status] = /^provider answered (\d{3})\b/.exec(words) ?? [];
  if (
    status !== undefined &&
    Number(status) < 500 &&
    /^provider answered \d{3}: *<(?:!doctype|html|head)\b/i.test(words)
  )
    return pageHint(place);
  if (status !== undefined)
    return (
      plainStatusHint(Number(status), place) ?? reasonHint(words, place) ?? statusHint(Number(status), words, place)
    );
  if (words.startsWith('provider reported ')) return reasonHint(words, place) ?? itsOwnFailure;
  if (words.startsWith('provider gave up its reply')) return itsOwnFailure;
  if (/^the request to \S+ is larger than /.test(words))
    return 'the conversation holds too much, such as pictures or long answers of tools: name the hook svc-hook-compact in the manifest, or give a smaller task';
  if (words.startsWith('the answer is compressed'))
    return `a proxy, or what answers there, compresses what was asked for as it is: look at the network, and at ${addressIn(place)}`;
  if (words.startsWith('provider answered without an event stream')) return pageHint(place);
  const [, refusal] = /^cannot reach \S+: the proxy \S+( does not connect to \S+ \(407\))?/.exec(words) ?? [null, ''];
  if (refusal !== '')
    return refusal === undefined
      ? 'HTTPS_PROXY names that proxy: look at it, or name the host in NO_PROXY where it is reached without'
      : 'put user and password of the proxy into the address that HTTPS_PROXY has';
  if (/^cannot reach \S+: its certificate is not trusted/.test(words))
    return 'name the file of your own certificate authority in NODE_EXTRA_CA_CERTS';
  // The words of the guest's library, with which drivers are made.
  if (/^cannot reach \S+: connection refused/.test(words))
    return `nothing listens there: start the server of the model, or look at ${addressIn(place)}`;
  if (words.startsWith('cannot reach '))
    return `look at the network, HTTPS_PROXY if it is behind a proxy, and ${addressIn(place)}`;
  if (/^(?:the connection broke|the provider ended its reply)/.test(words))
    return 'give the task again: what it has done stays done; when it happens each time, the provider or a proxy before it cuts long answers off';
  return endHint(words, place);
}

/** For an end that is no failure of the connection. */
function endHint(words: string, place: ModelPlace): string | null {
  if (words.startsWith('max_turns exceeded: ')) {
    const more = place.file === null ? '' : `raise inference.max_turns of ${place.file}, or `;
    return `svc trace steps shows what the turns went into: ${more}ask for less at once`;
  }
  if (words === 'the driver used up its memory')
    return `the provider sent more than the driver may keep of one answer: ask for less at once, or look at ${addressIn(place)}`;
  if (words === 'the model refused to answer' || words === "the provider's content filter stopped the reply")
    return `ask in other words, or take another model at ${modelIn(place)}`;
  return null;
}

function pageHint(place: ModelPlace): string {
  return `what answers is no provider of models, but a web page or a proxy: look at ${addressIn(place)}`;
}

const itsOwnFailure = 'the provider has a failure of its own: give the task again later';

/** For a status that means one thing, whatever the words are. */
function plainStatusHint(status: number, place: ModelPlace): string | null {
  switch (status) {
    case 401:
      return keyHint(place);
    case 402:
      return 'the account at the provider has no credit: look at its billing';
    case 403:
      return `the provider knows the key, and does not allow it this: look at its permissions there, and at ${modelIn(place)}`;
    case 404:
      return `the provider has no such model, or nothing is at that address: look at ${bothIn(place)}`;
    default:
      return null;
  }
}

/** For a reason that the words name; null where they name none. */
function reasonHint(words: string, place: ModelPlace): string | null {
  switch (lastingReason(words)) {
    case 'quota':
      return 'the account at the provider has no quota or credit left: look at its limits and its billing there';
    case 'context':
      return `the conversation is longer than the model takes: give a smaller task, ${place.file === null ? '' : 'name the hook svc-hook-compact in the manifest, '}or take a model with more room at ${modelIn(place)}`;
    case 'key':
      return keyHint(place);
    case 'model':
      return `the provider has no such model: look at ${modelIn(place)}`;
    case 'request':
      return refusedHint(words, place);
    case null:
      return null;
  }
}

function statusHint(status: number, words: string, place: ModelPlace): string | null {
  if (status === 429)
    return 'too many requests, or the quota of the account is used up: wait, or look at its limits at the provider';
  if (status >= 500) return itsOwnFailure;
  if (status >= 300 && status < 400)
    return `what answers there sends requests elsewhere, and svc does not follow: look at ${addressIn(place)}`;
  return status >= 400 ? refusedHint(words, place) : null;
}

/** Keys of a request that the manifest can leave out or name otherwise. */
const ownKeys = /\b(stream_options|temperature|top_p|top_k|max_tokens|max_completion_tokens)\b/;

/** A number of tokens that is too high, of a key that the provider knows. */
const tooManyTokens =
  /^(?!.*(?:unsupported|unknown|unrecognized|extra inputs)).*\bmax_(?:completion_)?tokens\b.*(?:[<>≤]|maximum|too large|at most|less than|exceed)/i;

function refusedHint(words: string, place: ModelPlace): string {
  const [, key] = ownKeys.exec(words) ?? [];
  if (tooManyTokens.test(words)) {
    const fewer = 'the model writes fewer tokens in one answer than are asked for';
    return place.file === null
      ? `${fewer}: take another one at --model, or make a manifest with svc new capsule <name> --from <session> and lower inference.max_tokens there`
      : `${fewer}: lower inference.max_tokens of ${place.file}`;
  }
  const refused = 'the provider does not take the request';
  if (key === undefined || place.file === null) return `${refused}: look at ${modelIn(place)}`;
  const config = key.startsWith('max_')
    ? `{ max_tokens_field: ${key === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'} } names it otherwise`
    : `{ extra_body: { ${key}: null } } leaves it out`;
  return `${refused} with ${key}: inference.driver.config of ${place.file}: ${config}`;
}

function keyHint({ file, keyVariable }: ModelPlace): string {
  if (file === null)
    return keyVariable === null
      ? 'it wants a key: --key-env names the variable that holds it, beside the --model with that address'
      : `it does not take the key in ${keyVariable}: export ${keyVariable}=<another key>`;
  return keyVariable === null
    ? `it wants a key: name the variable that holds it in ${file}, inference: { api_key: \${NAME} }`
    : `it does not take the key in ${keyVariable}, which inference.api_key of ${file} names: set it to another one, in the environment or in .env beside that file`;
}

function modelIn({ file }: ModelPlace): string {
  return file === null ? '--model' : `inference.model of ${file}`;
}

function bothIn({ file }: ModelPlace): string {
  return file === null ? '--model' : `inference.model and inference.endpoint of ${file}`;
}

/** A session that goes on with this one asks at the same address, whatever the variables say by then. */
const ofTask =
  'the address of the model, from --model or a variable; svc --continue keeps it, unless --model names another, as /model does in a chat';

function addressIn({ file }: ModelPlace): string {
  return file === null ? ofTask : `inference.endpoint of ${file}`;
}
