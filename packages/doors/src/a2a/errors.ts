/** The errors of the A2A protocol, and how they are written. */

import type { JsonRpcFault, JsonRpcId } from '@svc/protocol/json-rpc.ts';

/** Code of JSON-RPC, status of HTTP and its name, and the usual message of each error (A2A 1.0, 5.4, 9.5 and 11.6). */
const errors = {
  TASK_NOT_FOUND: [-32001, 404, 'NOT_FOUND', 'Task not found'],
  TASK_NOT_CANCELABLE: [-32002, 400, 'FAILED_PRECONDITION', 'Task cannot be canceled'],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, 'FAILED_PRECONDITION', 'Push notifications are not supported'],
  UNSUPPORTED_OPERATION: [-32004, 400, 'FAILED_PRECONDITION', 'This operation is not supported'],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400, 'INVALID_ARGUMENT', 'Content type is not supported'],
  VERSION_NOT_SUPPORTED: [-32009, 400, 'FAILED_PRECONDITION', 'A2A version is not supported'],
  INVALID_PARAMS: [-32602, 400, 'INVALID_ARGUMENT', 'Invalid parameters'],
  METHOD_NOT_FOUND: [-32601, 404, 'NOT_FOUND', 'Method not found'],
  INVALID_REQUEST: [-32600, 400, 'INVALID_ARGUMENT', 'Request payload validation error'],
  PARSE: [-32700, 400, 'INVALID_ARGUMENT', 'Invalid JSON payload'],
  INTERNAL: [-32603, 500, 'INTERNAL', 'Internal error'],
} as const satisfies Record<string, readonly [number, number, string, string]>;

export type A2aReason = keyof typeof errors;

/** What stands in the details of an error. */
type Detail = Readonly<Record<string, unknown>>;

/** These are JSON-RPC's own: they carry no reason of A2A. */
const plain: ReadonlySet<A2aReason> = new Set([
  'INVALID_PARAMS',
  'METHOD_NOT_FOUND',
  'INVALID_REQUEST',
  'PARSE',
  'INTERNAL',
]);

/** A call that is answered with an error of A2A. */
export class A2aFault extends Error {
  readonly reason: A2aReason;
  readonly code: number;
  readonly status: number;
  readonly statusName: string;
  readonly details: readonly Detail[];

  constructor(reason: A2aReason, message?: string, details?: readonly Detail[]) {
    const [code, status, statusName, usual] = errors[reason];
    super(message ?? usual);
    this.name = 'A2aFault';
    this.reason = reason;
    this.code = code;
    this.status = status;
    this.statusName = statusName;
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
const maxEcho = 256;

export function taskNotFound(taskId: string): A2aFault {
  return faultOf('TASK_NOT_FOUND', undefined, { taskId: taskId.slice(0, maxEcho) });
}

/** `field` is the path of what is wrong, `description` a clause that follows it: `must be a string`. */
export function invalidField(field: string, description: string): A2aFault {
  return new A2aFault('INVALID_PARAMS', `Invalid parameters: ${field} ${description}`, [
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field, description }] },
  ]);
}

/** A body that is not sent as JSON. */
export function notJson(): A2aFault {
  return new A2aFault('CONTENT_TYPE_NOT_SUPPORTED', 'Content type is not supported: send application/json');
}

/** A fault of an invalid request, in the words of A2A. */
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

/** The same as a `google.rpc.Status`, as HTTP+JSON answers. `status` is that of the answer. */
export function encodeStatus(fault: Pick<A2aFault, 'statusName' | 'message' | 'details'>, status: number): string {
  const { statusName, message, details } = fault;
  const error = { code: status, status: statusName, message };
  return JSON.stringify({ error: details.length === 0 ? error : { ...error, details } });
}
