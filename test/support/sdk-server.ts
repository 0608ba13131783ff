/** Serves notes by the Model Context Protocol with the official library. */

import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';

/** A server as its author would write it, with the official SDK. Bundled into one file by `sdkServerProgram`. */
const server = new McpServer({ name: 'notes', version: '1.0.0' });

server.registerTool(
  'write_note',
  { description: 'Writes a note.', inputSchema: z.object({ name: z.string().regex(/^[a-z]+$/), text: z.string() }) },
  ({ name, text }) => {
    writeFileSync(`${name}.txt`, text);
    return { content: [{ type: 'text', text: `written: ${name}` }] };
  },
);

server.registerTool(
  'read_note',
  {
    description: 'Reads a note.',
    inputSchema: z.object({ path: z.string() }),
    outputSchema: z.object({ text: z.string() }),
  },
  ({ path }) => {
    const structuredContent = { text: readFileSync(path, 'utf8') };
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  },
);

server.registerTool('environment', { description: 'Tells what it sees.', inputSchema: z.object({}) }, () => ({
  content: [{ type: 'text', text: Object.keys(process.env).sort().join(' ') }],
}));

await server.connect(new StdioServerTransport());
