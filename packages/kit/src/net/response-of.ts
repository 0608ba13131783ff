import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * The head of the answer. Rejects with what is wrong with the connection, and with `ECONNRESET` where it ends without an answer: Node closes
 * one whose server would speak another protocol (101) and tells no more than that. The listener for errors stays for the life of the request.
 */
export function responseOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    request.once('close', () => {
      reject(Object.assign(new Error('the connection was closed without an answer'), { code: 'ECONNRESET' }));
    });
  });
}
