import { describe, expect, it } from 'vitest';

import { chatCompletions, messages, providerUrl } from './provider-url.ts';

const chat = (endpoint: string): string => providerUrl(endpoint, chatCompletions);
const message = (endpoint: string): string => providerUrl(endpoint, messages);

describe('the address of a Chat Completions server', () => {
  it.each([
    ['https://api.openai.com', 'https://api.openai.com/v1/chat/completions'],
    ['https://api.example.com/', 'https://api.example.com/v1/chat/completions'],
    ['http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1/chat/completions'],
    ['http://127.0.0.1:11434/v1/v1', 'http://127.0.0.1:11434/v1/v1/chat/completions'],
    ['https://gateway.example.com/team/openai/v1/', 'https://gateway.example.com/team/openai/v1/chat/completions'],
    ['https://models.example.com/v1beta/openai/', 'https://models.example.com/v1beta/openai/chat/completions'],
    ['https://models.example.com/api/paas/v4', 'https://models.example.com/api/paas/v4/chat/completions'],
    ['https://models.example.com/v1/openai', 'https://models.example.com/v1/openai/chat/completions'],
    ['https://models.example.com/inference', 'https://models.example.com/inference/chat/completions'],
    ['https://gateway.example.com/v1/a/g/compat', 'https://gateway.example.com/v1/a/g/compat/chat/completions'],
    ['https://models.example.com/chat/completions', 'https://models.example.com/chat/completions'],
    [
      'https://models.example.com/api/paas/v4/chat/completions/',
      'https://models.example.com/api/paas/v4/chat/completions',
    ],
  ])('is made of %s', (endpoint, url) => {
    expect(chat(endpoint)).toBe(url);
  });

  it('is not one of another API', () => {
    expect(() => chat('https://api.example.com/v1/messages')).toThrow(
      'inference.endpoint is an address of the Messages API, and this driver speaks Chat Completions: leave out its /messages, or name the driver svc-driver-anthropic',
    );
    expect(() => chat('https://api.example.com/v1/responses/')).toThrow(
      'inference.endpoint is an address of the Responses API, and this driver speaks Chat Completions: leave out its /responses',
    );
  });

  it('is missed where none is set', () => {
    expect(() => chat('')).toThrow('inference.endpoint is not set');
  });
});

describe('the address of a Messages server', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com/v1/messages'],
    ['http://127.0.0.1:4000/v1', 'http://127.0.0.1:4000/v1/messages'],
    ['https://models.example.com/anthropic/v1/', 'https://models.example.com/anthropic/v1/messages'],
    ['https://models.example.com/v1beta/anthropic', 'https://models.example.com/v1beta/anthropic/messages'],
    ['https://models.example.com/anthropic', 'https://models.example.com/anthropic/v1/messages'],
    ['https://models.example.com/api/anthropic/', 'https://models.example.com/api/anthropic/v1/messages'],
    ['https://gateway.example.com/v1/a/g/anthropic', 'https://gateway.example.com/v1/a/g/anthropic/v1/messages'],
    ['https://models.example.com/api/messages', 'https://models.example.com/api/messages'],
  ])('is made of %s', (endpoint, url) => {
    expect(message(endpoint)).toBe(url);
  });

  it('is not one of another API', () => {
    expect(() => message('https://api.example.com/v1/chat/completions')).toThrow(
      'inference.endpoint is an address of the Chat Completions API, and this driver speaks Messages: leave out its /chat/completions, or name the driver svc-driver-openai',
    );
  });
});
