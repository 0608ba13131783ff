import { describe, expect, it } from 'vitest';

import type { DriverRequest, ToolDefinition } from '../driver.ts';
import { RequestFailure } from '../request-failure.ts';
import type { DriverNote } from './driver-notes.ts';
import { type OfferedTools, RefusedTools } from './refused-tools.ts';
import { refusedRequest, reportedFailure } from './reported-error.ts';
import { aliasToolNames } from './tool-names.ts';

function toolsWith(inputSchema: string): readonly ToolDefinition[] {
  return ['read', 'write', 'g++', 'search'].map((name) => ({ name, description: '', inputSchema }));
}

const tools = toolsWith('{}');

const request: DriverRequest = {
  model: 'm',
  endpoint: 'http://127.0.0.1:9',
  apiKey: null,
  config: '{}',
  system: '',
  messages: [],
  tools,
  maxTokens: 8,
  continuationId: null,
};

function offering(changes: Partial<DriverRequest> = {}, refused: RefusedTools = new RefusedTools()): OfferedTools {
  const changed = { ...request, ...changes };
  return refused.offered(changed, aliasToolNames(changed.tools));
}

/** The names that a failure takes away. */
function leftOutBy(failure: RequestFailure): readonly string[] {
  const offered = offering();
  const notes: DriverNote[] = [];
  const again = offered.leaveOut(failure, { note: (note) => void notes.push(note) });
  const names = notes.map((note) => ('left_out' in note ? note.left_out.tool : '?'));
  expect([again, offered.tools.length]).toEqual([names.length > 0, tools.length - names.length]);
  return names;
}

const openai = (message: string, more: object = {}): string => JSON.stringify({ error: { message, ...more } });

describe('the tool that a provider refuses', () => {
  it.each([
    [
      'a name',
      openai("Invalid schema for function 'write': In context=('properties', 'read'), 'type' is missing."),
      ['write'],
    ],
    ['an alias', openai("Invalid schema for function 'g__': object schema missing properties."), ['g++']],
    [
      'a name and a number',
      openai("Invalid schema for function 'search'", { param: 'tools[3].function.parameters' }),
      ['search'],
    ],
    ['a number', openai('tools.2.custom.input_schema: JSON schema is invalid.'), ['g++']],
    ['the number of a field', openai("Invalid 'tools[1].function.name': string too long."), ['write']],
    [
      'numbers of declarations',
      openai(
        '* GenerateContentRequest.tools[0].function_declarations[1].parameters.items: missing field.\n* GenerateContentRequest.tools[0].function_declarations[3].name: bad',
      ),
      ['write', 'search'],
    ],
    [
      'a place',
      JSON.stringify({ detail: [{ loc: ['body', 'tools', 3, 'function', 'parameters'], msg: 'bad' }] }),
      ['search'],
    ],
    [
      'a path',
      JSON.stringify([{ code: 'invalid_type', path: [2, 'function', 'parameters'], message: 'Required' }]),
      ['g++'],
    ],
    ['a tool', openai('Tool "read" has an unsupported schema'), ['read']],
    ['no tool that was offered', openai("Invalid schema for function 'shell'"), []],
    ['a number beyond the last', openai('tools.9.custom.input_schema: bad'), []],
    ['a message', openai("messages.1: unexpected result of the tool 'read'"), []],
    ['a call', openai("parameters for tool call of function 'read' did not match schema"), []],
    ['a role', openai("messages with role 'tool' must be a response to a preceding message with 'tool_calls'"), []],
    ['a number that counts from 1', openai("Value at 'toolConfig.tools.1.member.toolSpec.name' is too long"), []],
    ['no tool', openai('model is overloaded'), []],
  ])('is left out by %s', (_, body, left) => {
    expect(leftOutBy(refusedRequest(400, body, null))).toEqual(left);
  });

  it('is left out for an error of the status 400 in a stream, and for no other status', () => {
    const error = { code: 400, message: 'tools.0.custom.name: bad' };
    expect(leftOutBy(reportedFailure('an error', { error }))).toEqual(['read']);
    expect(leftOutBy(reportedFailure('an error', { error: { ...error, code: 500 } }))).toEqual([]);
    expect(leftOutBy(refusedRequest(422, JSON.stringify({ error }), null))).toEqual(['read']);
    expect(leftOutBy(refusedRequest(500, JSON.stringify({ error }), null))).toEqual([]);
  });

  it('is left out from then on, for this model with this schema', () => {
    const refused = new RefusedTools();
    offering({}, refused).leaveOut(refusedRequest(400, openai('tools.0: bad'), null), { note: () => {} });
    const names = (changes: Partial<DriverRequest>): readonly string[] =>
      offering(changes, refused).tools.map(({ name }) => name);
    expect(names({})).toEqual(['write', 'g++', 'search']);
    expect(names({ model: 'another' })).toHaveLength(4);
    expect(names({ endpoint: 'http://127.0.0.1:10' })).toHaveLength(4);
    expect(names({ tools: toolsWith('{"type":"object"}') })).toHaveLength(4);
  });

  it('is asked for at most eight times in a turn', () => {
    const many = Array.from({ length: 20 }, (_, index) => ({ name: `t${index}`, description: '', inputSchema: '{}' }));
    const offered = offering({ tools: many });
    const failure = refusedRequest(400, openai('tools.0: bad'), null);
    const again = Array.from({ length: 10 }, () => offered.leaveOut(failure, { note: () => {} }));
    expect(again).toEqual([...Array.from({ length: 8 }, () => true), false, false]);
    expect(offered.tools).toHaveLength(12);
  });
});
