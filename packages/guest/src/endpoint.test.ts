import { expect, it } from 'vitest';

import { providerUrl } from './endpoint.ts';

it.each([
  ['https://api.example.com', 'https://api.example.com/v1/messages'],
  ['https://api.example.com/', 'https://api.example.com/v1/messages'],
  ['http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1/messages'],
  ['http://127.0.0.1:11434/v1/messages', 'http://127.0.0.1:11434/v1/messages'],
  ['http://127.0.0.1:11434/v1/messages/', 'http://127.0.0.1:11434/v1/messages'],
  ['http://127.0.0.1:11434/v1/v1', 'http://127.0.0.1:11434/v1/v1/messages'],
  ['https://gateway.example.com/team/openai/v1/', 'https://gateway.example.com/team/openai/v1/messages'],
])('puts the path behind %s', (endpoint, url) => {
  expect(providerUrl(endpoint, '/v1/messages')).toBe(url);
});

it('says when no endpoint is set', () => {
  expect(() => providerUrl('', '/v1/messages')).toThrow('inference.endpoint is not set');
});
