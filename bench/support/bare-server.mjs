// @ts-check
// The floor of a server: node:http answering each request with the body it was started with. Prints its port.
import { createServer } from 'node:http';

const body = Buffer.from(process.argv[2] ?? '');
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' && address !== null ? address.port : address);
});
