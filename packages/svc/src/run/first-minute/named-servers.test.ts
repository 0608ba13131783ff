import { describe, expect, it } from 'vitest';

import { serverName, serverWords } from './named-servers.ts';

describe('an MCP server of a command line', () => {
  it.each([
    ['npx -y @modelcontextprotocol/server-filesystem .', 'filesystem'],
    ['npx -y @acme/notes-mcp@1.2.3', 'notes'],
    ['uvx mcp-server-git --repository .', 'git'],
    ['uvx --from made-server==1.2.3 made-program', 'made'],
    ['node ./tools/My_Notes.mjs .', 'my-notes'],
    ['mcp-server', 'server'],
    ['github-mcp-server stdio', 'github'],
  ])('has a name of its command: %s', (line, name) => {
    expect(serverName(line.split(' '), new Set())).toBe(name);
  });

  it('never has a name that the model calls something else by', () => {
    expect(serverName(['git-server'], new Set(['git', 'git-2']))).toBe('git-3');
  });

  it.each([
    ['', 'it is empty'],
    ['/bin/sh x', '"/bin/sh" is not the bare name of a program'],
    [
      '127.0.0.1:8931/mcp',
      '"127.0.0.1:8931/mcp" is not the bare name of a program, and an address begins with https:// or http://',
    ],
    [
      'mcp.example.com/mcp x',
      '"mcp.example.com/mcp" is not the bare name of a program, and an address begins with https:// or http://',
    ],
    [`x ${'y '.repeat(200)}`, 'it has more than 100 words'],
  ])('has a bare name and few words, unlike %j', (line, problem) => {
    expect(serverWords(line)).toBe(problem);
  });
});
