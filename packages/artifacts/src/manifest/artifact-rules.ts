import { Draft } from './draft.ts';
import type { Findings } from './findings.ts';

/** The rules of an artifact's manifest that look at more than one key. */
export function checkArtifactRules(data: unknown, findings: Findings): void {
  const draft = new Draft(data);
  if (draft.at('implementation') !== 'mcp') {
    if (!draft.has('command')) return;
    findings.add('E-MAN-003', 'command is for implementation: mcp', {
      path: ['command'],
      part: 'key',
      hint: 'a native tool is started without arguments; remove the key',
    });
    return;
  }
  if (!draft.has('command')) {
    findings.add('E-MAN-001', 'command is missing', {
      path: ['command'],
      hint: 'implementation: mcp starts this command, such as [bin/server]',
    });
  }
  if (draft.has('runtime') && draft.at('runtime') !== 'tool') {
    findings.add('E-MAN-003', 'implementation: mcp is for runtime: tool', { path: ['implementation'] });
  }
  if (draft.has('input_schema')) {
    findings.add('E-MAN-003', 'input_schema cannot stand beside implementation: mcp', {
      path: ['input_schema'],
      part: 'key',
      hint: 'the server says what the arguments of each tool are',
    });
  }
}
