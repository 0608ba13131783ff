import { describe, expect, it } from 'vitest';

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionFailure } from '@svc/guest/request-failure.ts';
import { hintsFor, providerHint } from './provider-hint.ts';

const file = { file: './svc.yaml', keyVariable: 'TEAM_KEY' };
const task = { file: null, keyVariable: 'OPENAI_API_KEY' };

describe('the hint for what a provider failed of', () => {
  it('knows the words in which a driver says that nothing listens', () => {
    const { message } = connectionFailure('http://127.0.0.1:9', { tag: 'connection-refused' });
    expect(providerHint(message, file)).toMatch(/^nothing listens there: /);
  });

  it.each([
    [
      'provider answered 401: invalid api key',
      file,
      'it does not take the key in TEAM_KEY, which inference.api_key of ./svc.yaml names: set it to another one, in the environment or in .env beside that file',
    ],
    [
      'provider answered 401',
      { ...file, keyVariable: null },
      'it wants a key: name the variable that holds it in ./svc.yaml, inference: { api_key: ${NAME} }',
    ],
    [
      'provider answered 401: no',
      task,
      'it does not take the key in OPENAI_API_KEY: export OPENAI_API_KEY=<another key>',
    ],
    [
      'provider answered 401: no',
      { ...task, keyVariable: null },
      'it wants a key: --key-env names the variable that holds it, beside the --model with that address',
    ],
    ['provider answered 402', task, 'the account at the provider has no credit: look at its billing'],
    [
      'provider answered 403: not yours',
      file,
      'the provider knows the key, and does not allow it this: look at its permissions there, and at inference.model of ./svc.yaml',
    ],
    [
      'provider answered 403: <!DOCTYPE html><html><title>Access denied</title>',
      file,
      'what answers is no provider of models, but a web page or a proxy: look at inference.endpoint of ./svc.yaml',
    ],
    [
      'provider answered 404: model not found',
      file,
      'the provider has no such model, or nothing is at that address: look at inference.model and inference.endpoint of ./svc.yaml',
    ],
    [
      'provider answered 404: model not found',
      task,
      'the provider has no such model, or nothing is at that address: look at --model',
    ],
    [
      'provider answered 429: slow down (after 4 attempts)',
      file,
      'too many requests, or the quota of the account is used up: wait, or look at its limits at the provider',
    ],
    ['provider answered 529', file, 'the provider has a failure of its own: give the task again later'],
    [
      'provider answered 400: what?',
      file,
      'the provider does not take the request: look at inference.model of ./svc.yaml',
    ],
    [
      'provider answered without an event stream: <html>',
      file,
      'what answers is no provider of models, but a web page or a proxy: look at inference.endpoint of ./svc.yaml',
    ],
    [
      'cannot reach http://127.0.0.1:9: connection refused (after 4 attempts)',
      file,
      'nothing listens there: start the server of the model, or look at inference.endpoint of ./svc.yaml',
    ],
    [
      'cannot reach https://h: the name does not resolve',
      task,
      'look at the network, HTTPS_PROXY if it is behind a proxy, and the address of the model, from --model or a variable; svc --continue keeps it, unless --model names another, as /model does in a chat',
    ],
    [
      'the connection broke before the response was whole: the other side closed it',
      file,
      'give the task again: what it has done stays done; when it happens each time, the provider or a proxy before it cuts long answers off',
    ],
    [
      'cannot reach https://h: the proxy proxy.test:3128: nothing listens there (after 4 attempts)',
      task,
      'HTTPS_PROXY names that proxy: look at it, or name the host in NO_PROXY where it is reached without',
    ],
    [
      'cannot reach https://h: the proxy proxy.test:3128 does not connect to h:443 (407)',
      task,
      'put user and password of the proxy into the address that HTTPS_PROXY has',
    ],
    [
      'cannot reach https://h: its certificate is not trusted',
      task,
      'name the file of your own certificate authority in NODE_EXTRA_CA_CERTS',
    ],
    [
      'provider reported an error: the quota is used up',
      file,
      'the account at the provider has no quota or credit left: look at its limits and its billing there',
    ],
    [
      'provider answered 429: You exceeded your current quota, please check your plan and billing details.',
      file,
      'the account at the provider has no quota or credit left: look at its limits and its billing there',
    ],
    [
      "provider answered 400: This model's maximum context length is 4096 tokens",
      file,
      'the conversation is longer than the model takes: give a smaller task, name the hook svc-hook-compact in the manifest, or take a model with more room at inference.model of ./svc.yaml',
    ],
    [
      'provider answered 422: body.stream_options: Extra inputs are not permitted',
      file,
      'the provider does not take the request with stream_options: inference.driver.config of ./svc.yaml: { extra_body: { stream_options: null } } leaves it out',
    ],
    [
      "provider answered 400: Unsupported parameter: 'max_tokens' is not supported with this model.",
      file,
      'the provider does not take the request with max_tokens: inference.driver.config of ./svc.yaml: { max_tokens_field: max_completion_tokens } names it otherwise',
    ],
    [
      'provider answered 422: body.stream_options: Extra inputs are not permitted',
      task,
      'the provider does not take the request: look at --model',
    ],
    [
      'provider reported an error: invalid api key',
      task,
      'it does not take the key in OPENAI_API_KEY: export OPENAI_API_KEY=<another key>',
    ],
    ['provider reported an error: model m-1 not found', task, 'the provider has no such model: look at --model'],
    [
      'provider reported overloaded_error: Overloaded',
      file,
      'the provider has a failure of its own: give the task again later',
    ],
    [
      'provider gave up its reply: network_error (after 4 attempts)',
      file,
      'the provider has a failure of its own: give the task again later',
    ],
    [
      'the answer is compressed (gzip), which was not asked for',
      file,
      'a proxy, or what answers there, compresses what was asked for as it is: look at the network, and at inference.endpoint of ./svc.yaml',
    ],
    [
      'provider answered 400: max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens',
      file,
      'the model writes fewer tokens in one answer than are asked for: lower inference.max_tokens of ./svc.yaml',
    ],
    [
      'provider answered 400: max_tokens is too large: 8192. This model supports at most 4096 completion tokens',
      task,
      'the model writes fewer tokens in one answer than are asked for: take another one at --model, or make a manifest with svc new capsule <name> --from <session> and lower inference.max_tokens there',
    ],
    [
      "provider answered 400: Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead, of at most 4096",
      file,
      'the provider does not take the request with max_tokens: inference.driver.config of ./svc.yaml: { max_tokens_field: max_completion_tokens } names it otherwise',
    ],
    [
      "provider answered 400: This model's maximum context length is 4096 tokens",
      task,
      'the conversation is longer than the model takes: give a smaller task, or take a model with more room at --model',
    ],
    [
      'provider answered 302',
      file,
      'what answers there sends requests elsewhere, and svc does not follow: look at inference.endpoint of ./svc.yaml',
    ],
    [
      'max_turns exceeded: 10 of 10 inference turns used',
      file,
      'svc trace steps shows what the turns went into: raise inference.max_turns of ./svc.yaml, or ask for less at once',
    ],
    [
      'max_turns exceeded: 60 of 60 inference turns used',
      task,
      'svc trace steps shows what the turns went into: ask for less at once',
    ],
    ['the model refused to answer', task, 'ask in other words, or take another model at --model'],
    [
      "the provider's content filter stopped the reply",
      file,
      'ask in other words, or take another model at inference.model of ./svc.yaml',
    ],
    [
      'the driver used up its memory',
      file,
      'the provider sent more than the driver may keep of one answer: ask for less at once, or look at inference.endpoint of ./svc.yaml',
    ],
    [
      'the request to https://api.example.test is larger than the 64 MiB that svc sends',
      file,
      'the conversation holds too much, such as pictures or long answers of tools: name the hook svc-hook-compact in the manifest, or give a smaller task',
    ],
    ['the model is on holiday', file, null],
    ['the tool said: provider answered 401', file, null],
  ])('%s', (words, place, hint) => {
    expect(providerHint(words, place)).toBe(hint);
  });

  it.each([
    ['inference:\n  api_key: ${TEAM_KEY}    # of the team\n', 'TEAM_KEY'],
    ['inference:\n  model: m\n  api_key: "${TEAM_KEY}"\n', 'TEAM_KEY'],
    ['inference: { model: m, api_key: ${TEAM_KEY} }\n', 'TEAM_KEY'],
    ['inference:\n  # api_key: ${OLD_KEY}\n  model: m\n', null],
    ['inference: { model: m }\n', null],
  ])('names the variable of the manifest %j', (text, variable) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-hint-'));
    writeFileSync(join(folder, 'svc.yaml'), text);
    const hint = hintsFor({ manifest: './svc.yaml' }, folder, null)('provider answered 401');
    rmSync(folder, { recursive: true });
    if (variable === null) expect(hint).toMatch(/^it wants a key: /);
    else expect(hint).toContain(`the key in ${variable}, which`);
  });

  it('reads no file where the manifest was made for the task', () => {
    const made = 'inference:\n  model: "m"\n  api_key: ${OPENAI_API_KEY}    # the variable\n';
    const hint = hintsFor({ manifest: './svc.yaml' }, '/nowhere', made)('provider answered 401');
    expect(hint).toBe('it does not take the key in OPENAI_API_KEY: export OPENAI_API_KEY=<another key>');
  });
});
