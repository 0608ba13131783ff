import { expect, it } from 'vitest';

import { carried, carriedBy, giverOf } from './companions.ts';

const giver = giverOf({ model: 'm', endpoint: 'https://name:secret@API.example.com/v1/openai' }, 'chat');

it('a signature carries what a provider gave to the model and origin that gave it, and to no other', () => {
  const signature = carried(giver, { as: 'reasoning' });
  const other = (changes: { readonly model?: string; readonly endpoint?: string }, protocol = 'chat'): string =>
    giverOf({ model: 'm', endpoint: 'https://api.example.com', ...changes }, protocol);
  expect(giver).toBe('chat https://api.example.com m');
  expect(carriedBy(signature, other({}))).toEqual({ giver, as: 'reasoning' });
  expect(carriedBy(signature, other({ model: 'n' }))).toBeNull();
  expect(carriedBy(signature, other({ endpoint: 'https://api.example.org' }))).toBeNull();
  expect(carriedBy(signature, other({ endpoint: 'https://api.example.com:8443' }))).toBeNull();
  expect(carriedBy(signature, other({}, 'messages'))).toBeNull();
});

it('a signature of a provider itself carries nothing', () => {
  expect(carriedBy('c2ln', giver)).toBeNull();
  expect(carriedBy('companions:{', giver)).toBeNull();
  expect(carriedBy(null, giver)).toBeNull();
});
