import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { chooseModel, type ChosenModel } from './choose-model.ts';

interface Given {
  readonly flag?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What Ollama answers. */
  readonly there?: string | null;
  /** Whose it is. */
  readonly stranger?: number;
}

async function chosen({ flag, env = {}, there = null, stranger }: Given): Promise<ChosenModel> {
  return await chooseModel({ flag, env, askOllama: async () => there, strangerAt: () => stranger ?? null });
}

async function refusal(given: Given): Promise<string> {
  try {
    await chosen(given);
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'allowed';
}

const keys = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' };
const anthropic: Omit<ChosenModel, 'model' | 'from'> = {
  driver: 'svc-driver-anthropic',
  endpoint: 'https://api.anthropic.com',
  keyVariable: 'ANTHROPIC_API_KEY',
};
const openai: Omit<ChosenModel, 'model' | 'from'> = {
  driver: 'svc-driver-openai',
  endpoint: 'https://api.openai.com',
  keyVariable: 'OPENAI_API_KEY',
};
const here: Omit<ChosenModel, 'model' | 'from'> = {
  driver: 'svc-driver-openai',
  endpoint: 'http://localhost:11434',
  keyVariable: null,
};

describe('the model of a task without a manifest', () => {
  it('comes from another user only when it is named', async () => {
    const there = { there: 'qwen3:8b', stranger: 1001 };
    expect(await refusal(there)).toBe(
      'E-MAN-005: the task is not given to what answers at http://localhost:11434: another user of this machine runs it, number 1001',
    );
    expect(await refusal({ stranger: 1001 })).toMatch(/^E-MAN-004/);
    expect(await chosen({ ...there, flag: 'ollama/qwen3:8b' })).toEqual({
      ...here,
      model: 'qwen3:8b',
      from: '--model',
    });
  });

  it.each<[what: string, given: Given, chosen: ChosenModel]>([
    [
      '--model, ahead of everything',
      { flag: 'openai/gpt-x', env: { ...keys, SVC_MODEL: 'anthropic/c' }, there: 'q' },
      { ...openai, model: 'gpt-x', from: '--model' },
    ],
    [
      'SVC_MODEL, ahead of the keys',
      { env: { ...keys, SVC_MODEL: 'ollama/qwen3:8b' }, there: 'q' },
      { ...here, model: 'qwen3:8b', from: 'SVC_MODEL' },
    ],
    [
      'ANTHROPIC_API_KEY, ahead of OPENAI_API_KEY',
      { env: { ...keys, SVC_MODEL: '' }, there: 'q' },
      { ...anthropic, model: 'claude-sonnet-4-5', from: 'ANTHROPIC_API_KEY' },
    ],
    [
      'OPENAI_API_KEY, ahead of what runs here',
      { env: { OPENAI_API_KEY: 'o' }, there: 'q' },
      { ...openai, model: 'gpt-5-mini', from: 'OPENAI_API_KEY' },
    ],
    ['a model that runs here', { there: 'qwen3:8b' }, { ...here, model: 'qwen3:8b', from: 'localhost:11434' }],
  ])('can be %s', async (_, given, expected) => {
    expect(await chosen(given)).toEqual(expected);
  });

  it('has an address that gets no key, unless a provider serves there', async () => {
    expect(await chosen({ flag: 'https://models.example/meta/llama-3', env: keys })).toEqual({
      driver: 'svc-driver-openai',
      endpoint: 'https://models.example',
      keyVariable: null,
      model: 'meta/llama-3',
      from: '--model',
    });
    expect(await chosen({ flag: 'http://localhost:1234/v1/org/m', env: {} })).toMatchObject({
      endpoint: 'http://localhost:1234/v1',
      model: 'org/m',
    });
    expect(await chosen({ flag: 'https://api.openai.com/v1/gpt', env: keys })).toMatchObject({
      ...openai,
      model: 'gpt',
    });
    expect(await chosen({ flag: 'https://api.openai.com.example/gpt', env: keys })).toMatchObject({
      keyVariable: null,
    });
    expect(await chosen({ flag: 'https://api.openai.com:8443/gpt', env: keys })).toMatchObject({ keyVariable: null });
    expect(await chosen({ flag: 'https://API.openai.com/gpt', env: keys })).toMatchObject(openai);
    expect(await chosen({ flag: 'https://api.anthropic.com/claude-x', env: keys })).toMatchObject(anthropic);
  });

  it.each([
    ['0.0.0.0', 'http://localhost:11434'],
    ['0.0.0.0:80', 'http://localhost:80'],
    ['127.0.0.1:9999', 'http://127.0.0.1:9999'],
    ['https://ollama.example/', 'https://ollama.example'],
  ])('comes from a server where OLLAMA_HOST is %s', async (host, endpoint) => {
    expect(await chosen({ env: { OLLAMA_HOST: host }, there: 'q' })).toMatchObject({ endpoint, model: 'q' });
  });

  it.each<[Given, string]>([
    [{}, 'no model is named, no key is set, and no model answers at http://localhost:11434'],
    [
      { env: { OLLAMA_HOST: 'http://far.example' }, there: 'q' },
      'no model is named, no key is set, and no model answers at http://far.example',
    ],
    [
      { there: '${OPENAI_API_KEY}' },
      'no model is named, no key is set, and no model answers at http://localhost:11434',
    ],
    [{ flag: 'openai/gpt' }, '--model names "openai/gpt", whose provider wants a key, and OPENAI_API_KEY is not set'],
    [{ env: { SVC_MODEL: 'gpt' } }, 'SVC_MODEL is "gpt", which does not say whose model it is'],
    [{ flag: 'mistral/x' }, '--model is "mistral/x", which does not say whose model it is'],
    [{ flag: 'ollama/${HOME}' }, '--model names the model "${HOME}", which is no name of a model'],
    [
      { flag: 'http://localhost:8000/' },
      '--model is "http://localhost:8000/", which names no model behind the address',
    ],
    [
      { flag: 'http://far.example/m' },
      'the address "http://far.example/m" of --model must be https, or http to a loopback address',
    ],
    [
      { flag: 'https://me:secret@far.example/m' },
      'the address "https://…@far.example/m" of --model must not hold a user or password',
    ],
    [{ flag: 'http://localhost/%ff' }, '--model is "http://localhost/%ff", which names no model behind the address'],
    [
      { flag: 'ollama/q', env: { OLLAMA_HOST: 'http://far.example' } },
      'OLLAMA_HOST is "http://far.example", which must be https, or http to a loopback address',
    ],
  ])('fails for %j', async (given, message) => {
    expect(await refusal(given)).toBe(`E-MAN-004: ${message}`);
  });

  it.each<[string, string]>([
    ['gpt-5', 'write anthropic/<model>, openai/<model>, ollama/<model> or http://<host>:<port>/<model>'],
    ['openai/gpt-5', 'export OPENAI_API_KEY=<your key>, or name a model that needs none: ollama/<model>'],
  ])('says how --model %s is mended', async (flag, hint) => {
    const refused = await chooseModel({ flag, env: {}, askOllama: async () => null, strangerAt: () => null }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: 'E-MAN-004', hint });
  });
});
