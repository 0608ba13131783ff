/** Reads what a client says of where it wants to be notified (A2A 1.0, 4.3). */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { PushReceiver } from './push-queue.ts';
import type { PushRule } from './push-rule.ts';
import { invalidField } from '../errors.ts';
import { objectOf, optionalId, optionalObject, optionalText, requiredId } from '../params.ts';

/** Where a client wants to be notified of a task. */
export interface PushRequest {
  /** With null the agent chooses it. */
  readonly id: string | null;
  readonly url: URL;
  readonly token: string | null;
  readonly authentication: { readonly scheme: string; readonly credentials: string | null } | null;
}

const maxToken = 1024;
const maxCredentials = 8192;
/** What an HTTP header can carry. */
const visible = /^[\x20-\x7e]*$/;
const schemeShape = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;

/** `field` is what the config is found under, with a dot behind it; empty for the params themselves. Throws a fault that names the field. */
export function parsePush(config: JsonObject, rule: PushRule, field = ''): PushRequest {
  const url = rule.urlOf(requiredText(config['url'], `${field}url`));
  if (typeof url === 'string') throw invalidField(`${field}url`, url);
  const token = header(optionalText(config['token'], `${field}token`, maxToken), `${field}token`);
  const authentication = optionalObject(config['authentication'], `${field}authentication`);
  return {
    id: optionalId(config['id'], `${field}id`),
    url,
    token,
    authentication:
      authentication === undefined ? null : parseAuthentication(authentication, `${field}authentication.`),
  };
}

/** The task and the config that a method is for. */
export function parseConfigRequest(params: unknown): { readonly taskId: string; readonly id: string } {
  const asked = objectOf(params, 'params');
  return { taskId: requiredId(asked['taskId'], 'taskId'), id: requiredId(asked['id'], 'id') };
}

/** The task that a method is for, and everything that was asked of it. */
export function parseConfigsRequest(params: unknown): { readonly taskId: string; readonly asked: JsonObject } {
  const asked = objectOf(params, 'params');
  return { taskId: requiredId(asked['taskId'], 'taskId'), asked };
}

function parseAuthentication(given: JsonObject, field: string): NonNullable<PushRequest['authentication']> {
  const scheme = requiredText(given['scheme'], `${field}scheme`);
  if (!schemeShape.test(scheme)) throw invalidField(`${field}scheme`, 'must be a scheme of HTTP, such as Bearer');
  const credentials = optionalText(given['credentials'], `${field}credentials`, maxCredentials);
  return { scheme, credentials: header(credentials, `${field}credentials`) };
}

function requiredText(given: unknown, field: string): string {
  // Longer addresses are refused by the rule, which says so.
  const text = optionalText(given, field, 64 * 1024);
  if (text === null) throw invalidField(field, 'is required');
  return text;
}

function header(text: string | null, field: string): string | null {
  if (text !== null && !visible.test(text)) throw invalidField(field, 'must hold visible ASCII characters alone');
  return text;
}

/** What each notification is sent with: the token as a header and as the key of its signature. */
export function receiverOf({ token, authentication }: PushRequest, traceparent: string | undefined): PushReceiver {
  const { scheme, credentials } = authentication ?? { scheme: '', credentials: null };
  return {
    headers: {
      'user-agent': 'svc',
      'content-type': 'application/a2a+json',
      'a2a-version': '1.0',
      ...(authentication === null ? {} : { authorization: credentials === null ? scheme : `${scheme} ${credentials}` }),
      ...(token === null ? {} : { 'x-a2a-notification-token': token }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    key: token,
  };
}

/** As clients see it later: credentials are for the receiver alone. */
export function shownPush({ url, token, authentication }: PushRequest, id: string, taskId: string): JsonObject {
  const shown = { ...authentication, ...(authentication?.credentials == null ? {} : { credentials: '…' }) };
  return {
    id,
    taskId,
    url: url.href,
    ...(token === null ? {} : { token }),
    ...(authentication === null ? {} : { authentication: shown }),
  };
}
