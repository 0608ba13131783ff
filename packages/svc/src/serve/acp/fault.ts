/** The errors with which a request of an editor is refused. */

/** The error of JSON-RPC that answers a request. */
export class AcpFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'AcpFault';
    this.code = code;
  }
}

export function invalidParams(message: string): AcpFault {
  return new AcpFault(-32_602, message);
}

export function invalidRequest(message: string): AcpFault {
  return new AcpFault(-32_600, message);
}

export function methodNotFound(): AcpFault {
  return new AcpFault(-32_601, 'Method not found');
}

/** Nothing is known under that name. */
export function notFound(message: string): AcpFault {
  return new AcpFault(-32_002, message);
}

/** The capsule failed, in words for a person. */
export function failed(message: string): AcpFault {
  return new AcpFault(-32_603, message);
}
