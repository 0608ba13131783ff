/** Checks the form of a request, which programs without types may get wrong, and refuses every key that it does not know. */

import { closestName } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { isJsonObject } from '@svc/protocol/json-object.ts';
import type { Grants, LaunchRequest, Limits } from './requests.ts';

/** What a value has to be, as the end of a sentence, and whether it is. */
interface Shape {
  readonly wanted: string;
  readonly fits: (value: unknown) => boolean;
}

const isText = (value: unknown): value is string => typeof value === 'string';

const text: Shape = { wanted: 'a text', fits: isText };
const texts: Shape = {
  wanted: 'a list of texts',
  fits: (value) => Array.isArray(value) && Array.from(value as unknown[]).every(isText),
};
const flag: Shape = { wanted: 'true or false', fits: (value) => typeof value === 'boolean' };
const number: Shape = { wanted: 'a whole number above 0', fits: (value) => typeof value === 'number' };
const record: Shape = { wanted: 'an object', fits: isJsonObject };
const signal: Shape = {
  wanted: 'an AbortSignal',
  fits: (value) => isJsonObject(value) && typeof value['aborted'] === 'boolean',
};
const oneOf = (...words: readonly string[]): Shape => ({
  wanted: `one of ${words.join(', ')}`,
  fits: (value) => isText(value) && words.includes(value),
});

const ofRequest: Readonly<Record<keyof LaunchRequest, Shape>> = {
  command: texts,
  grants: record,
  class: oneOf('sealed', 'scoped', 'advisory'),
  cwd: text,
  stdin: oneOf('null', 'pipe', 'inherit'),
  output: oneOf('pipe', 'inherit'),
  signal,
};

const ofGrants: Readonly<Record<keyof Grants, Shape>> = {
  read: texts,
  write: texts,
  runWritten: flag,
  run: texts,
  network: texts,
  unixSockets: flag,
  env: record,
  limits: record,
};

const ofLimits: Readonly<Record<keyof Limits, Shape>> = {
  memoryBytes: number,
  timeMs: number,
  cpuSeconds: number,
  processes: number,
  openFiles: number,
  fileBytes: number,
  outputBytes: number,
};

/** `E-CAP-019` for an invalid request: an unknown key, or a value of another kind. What is undefined counts as absent, except the command. */
export function checkRequest(request: unknown): void {
  if (!isJsonObject(request)) throw unusable(`a request was to be given, and it is ${described(request)}`, shapeHint);
  if (request['command'] === undefined) throw unusable('a command is to be run, and none is named', commandHint);
  checkKeys('', request, ofRequest);
  const grants = request['grants'];
  if (!isJsonObject(grants)) return;
  checkKeys('grants.', grants, ofGrants);
  const { env = {}, limits = {} } = grants as { readonly env?: object; readonly limits?: Record<string, unknown> };
  for (const [name, value] of Object.entries(env)) {
    if (!isText(value))
      throw unusable(`grants.env.${quoted(name).slice(1, -1)} is ${described(value)}`, 'give a text, or leave it out');
  }
  checkKeys('grants.limits.', limits, ofLimits);
}

const commandHint = "name a program as the first word, with its arguments behind it: ['ls', '-l']";
const shapeHint = 'give an object as its declaration says: LaunchRequest';

function checkKeys(
  place: string,
  values: Readonly<Record<string, unknown>>,
  shapes: Readonly<Record<string, Shape>>,
): void {
  const known = Object.keys(shapes);
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const shape = Object.hasOwn(shapes, key) ? shapes[key] : undefined;
    if (shape === undefined) {
      const closest = closestName(key, known);
      const hint =
        closest === undefined ? `there are ${known.join(', ')}` : `${place}${closest} is one of ${known.join(', ')}`;
      throw unusable(`the request has ${quoted(`${place}${key}`)}, which means nothing`, hint);
    }
    if (!shape.fits(value)) throw unusable(`${place}${key} is ${described(value)}`, hintOf(key, shape));
  }
}

function hintOf(key: string, { wanted }: Shape): string {
  return key === 'command' ? commandHint : `give ${wanted}`;
}

/** What was given, in few words. */
function described(value: unknown): string {
  if (isText(value)) return quoted(value.length > longest ? `${value.slice(0, longest)}…` : value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return 'a list with something else than texts';
  return typeof value === 'object' ? 'an object' : `of type ${typeof value}`;
}

const longest = 60;

/** `E-CAP-019` for a request that cannot be carried out as it is. */
export function unusable(message: string, hint: string): Diagnostic {
  return new Diagnostic('E-CAP-019', message, { hint });
}
