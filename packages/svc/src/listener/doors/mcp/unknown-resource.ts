/** Has clients told in the code of their own revision that a resource is not there. */

import type * as Sdk from '@modelcontextprotocol/server';

import { asJsonObject } from '@svc/protocol/json-object.ts';

/** Of the revisions before 2026, which the library answers as the later ones have it: `-32602`. */
const resourceNotFound = -32_002;
const invalidParams = -32_602;

/** Before a server is connected to the transport. What the library sends for its `ResourceNotFoundError` is known by its data, which is the address alone. */
export function sayUnknownByRevision(transport: Sdk.Transport, version: () => string | undefined): void {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if ('error' in message && isOfBefore(version()) && isUnknown(message.error)) {
      await send({ ...message, error: { ...message.error, code: resourceNotFound } }, options);
    } else {
      await send(message, options);
    }
  };
}

function isOfBefore(version: string | undefined): boolean {
  return version !== undefined && version < '2026';
}

function isUnknown({ code, data }: { readonly code: number; readonly data?: unknown }): boolean {
  const keys = Object.keys(asJsonObject(data) ?? {});
  return code === invalidParams && keys.length === 1 && keys[0] === 'uri';
}
