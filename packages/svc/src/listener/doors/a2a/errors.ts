/** The errors of the A2A protocol, and how they are written. */

import type { JsonRpcFault, JsonRpcId } from '@svc/protocol/json-rpc.ts';

/** Code of JSON-RPC, status of HTTP and the usual message of each error (A2A 1.0, 5.4 and 9.5). */
const errors = {
  TASK_NOT_FOUND: [-32001, 404, 'Task not found'],
  TASK_NOT_CANCELABLE: [-32002, 400, 'Task cannot be canceled'],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, 'Push notifications are not supported'],
  UNSUPPORTED_OPERATION: [-32004, 400, 'This operation is not supported'],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400, 'Content type is not supported'],
  VERSION_NOT_SUPPORTED: [-32009, 400, 'A2A version is not supported'],
  INVALID_PARAMS: [-32602, 400, 'Invalid parameters'],
  METHOD_NOT_FOUND: [-32601, 404, 'Method not found'],
  INVALID_REQUEST: [-32600, 400, 'Request payload validation error'],
  INTERNAL: [-32603, 500, 'Internal error'],
} as const satisfies Record<string, readonly [number, number, string]>;

export type A2aReason = keyof typeof errors;

/** What stands in the details of an error. */
type Detail = Readonly<Record<string, unknown>>;

/** These are JSON-RPC's own: they carry no reason of A2A. */
const plain: ReadonlySet<A2aReason> = new Set(['INVALID_PARAMS', 'METHOD_NOT_FOUND', 'INVALID_REQUEST', 'INTERNAL']);

/** A call that is answered with an error of A2A. */
export class A2aFault extends Error {
  readonly reason: A2aReason;
  readonly code: number;
  readonly status: number;
  readonly details: readonly Detail[];

  constructor(reason: A2aReason, message?: string, details?: readonly Detail[]) {
    const [code, status, usual] = errors[reason];
    super(message ?? usual);
    this.name = 'A2aFault';
    this.reason = reason;
    this.code = code;
    this.status = status;
    this.details = details ?? (plain.has(reason) ? [] : [errorInfo(reason, {})]);
  }
}

function errorInfo(reason: A2aReason, metadata: Readonly<Record<string, string>>): Detail {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org', metadata };
}

/** An error with facts for programs. */
export function faultOf(
  reason: A2aReason,
  message: string | undefined,
  metadata: Readonly<Record<string, string>>,
): A2aFault {
  return new A2aFault(reason, message, [errorInfo(reason, metadata)]);
}

/** How much of an unknown id an answer repeats. */
const longestEcho = 256;

export function taskNotFound(taskId: string): A2aFault {
  return faultOf('TASK_NOT_FOUND', undefined, { taskId: taskId.slice(0, longestEcho) });
}

/** `field` is the path of what is wrong, `description` a clause that follows it: `must be a string`. */
export function invalidField(field: string, description: string): A2aFault {
  return new A2aFault('INVALID_PARAMS', `Invalid parameters: ${field} ${description}`, [
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field, description }] },
  ]);
}

/** A fault of a request that is none, in the words of A2A. */
export function ofJsonRpc(fault: JsonRpcFault): { readonly code: number; readonly message: string } {
  if (fault.code === -32700) return { code: fault.code, message: 'Invalid JSON payload' };
  return { code: fault.code, message: fault.message.replace(/^Invalid Request/, 'Request payload validation error') };
}

export function encodeFault(
  id: JsonRpcId | null,
  {
    code,
    message,
    details = [],
  }: { readonly code: number; readonly message: string; readonly details?: readonly Detail[] },
): string {
  const error = details.length === 0 ? { code, message } : { code, message, data: details };
  return JSON.stringify({ jsonrpc: '2.0', id, error });
}
