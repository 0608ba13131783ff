/** An answer of the proxy's own: its status and one plain sentence. The connection ends with it. */
export interface ProxyRefusal {
  readonly kind: 'refused';
  readonly status: 400 | 403 | 408 | 417 | 431 | 501 | 502 | 503 | 504 | 505;
  readonly text: string;
}

const phrases: Readonly<Record<ProxyRefusal['status'], string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  408: 'Request Timeout',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
};

export function refuse(status: ProxyRefusal['status'], text: string): ProxyRefusal {
  return { kind: 'refused', status, text };
}

/** The whole response. A refusal to `HEAD` has no body, or its text would be read as the next response. */
export function encodeRefusal({ status, text }: ProxyRefusal, method: string): Buffer {
  const body = Buffer.from(`${text}\n`);
  const head = [
    `HTTP/1.1 ${status} ${phrases[status]}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    '',
  ].join('\r\n');
  return method === 'HEAD' ? Buffer.from(head) : Buffer.concat([Buffer.from(head), body]);
}
