import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { chooseModel, type ChosenModel, sameModel } from './choose-model.ts';
import { knownContext } from './providers.ts';

type Inference = Parameters<typeof sameModel>[0];

interface Given {
  readonly flag?: string | undefined;
  readonly keyEnv?: string | undefined;
  readonly insecureHttp?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** What Ollama answers. */
  readonly there?: string | null;
  /** Whose it is. */
  readonly stranger?: number;
}

async function chosen({ flag, env = {}, there = null, stranger, ...flags }: Given): Promise<ChosenModel> {
  return await chooseModel({ flag, ...flags, env, askOllama: async () => there, strangerAt: () => stranger ?? null });
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

  it('gets the key that --key-env names, at its address and with its version', async () => {
    const named = { keyEnv: 'TEAM_KEY', env: { ...keys, TEAM_KEY: 't' } };
    expect(await chosen({ ...named, flag: 'https://router.example/api/v1/meta/llama-3' })).toEqual({
      driver: 'svc-driver-openai',
      endpoint: 'https://router.example/api/v1',
      keyVariable: 'TEAM_KEY',
      model: 'meta/llama-3',
      from: '--model, TEAM_KEY',
    });
    expect(await chosen({ ...named, flag: 'openai/gpt' })).toMatchObject({ ...openai, keyVariable: 'TEAM_KEY' });
    expect(await chosen({ ...named, env: { ...named.env, SVC_MODEL: 'https://models.example/m' } })).toMatchObject({
      endpoint: 'https://models.example',
      keyVariable: 'TEAM_KEY',
    });
  });

  it('stays the one of an earlier task, at the address that it had whatever the variables say, and wants its key', async () => {
    const asked = { model: 'claude-x', endpoint: 'https://api.anthropic.com', context: {} } as Inference;
    const env = { ANTHROPIC_API_KEY: 'a' };
    expect(sameModel(asked, 'ANTHROPIC_API_KEY', env)).toEqual({ model: 'anthropic/claude-x' });
    const moved = { ...env, ANTHROPIC_BASE_URL: 'https://gateway.example' };
    const { model: flag, keyEnv } = sameModel(asked, 'ANTHROPIC_API_KEY', moved);
    expect(await chosen({ env: moved, flag, keyEnv })).toMatchObject({ ...anthropic, model: 'claude-x' });
    const own = { model: 'm', endpoint: 'http://10.0.0.7:8000', insecure_http: true, context: { max_tokens: 9000 } };
    expect(sameModel(own as Inference, null, {})).toEqual({
      model: 'http://10.0.0.7:8000/m',
      insecureHttp: true,
      context: 9000,
    });
    expect(() => sameModel(asked, 'ANTHROPIC_API_KEY', {})).toThrow(
      'the session asked "claude-x" at https://api.anthropic.com with the key in ANTHROPIC_API_KEY, which is not set',
    );
  });

  it('comes from the address of OPENAI_BASE_URL, which alone gets the key then', async () => {
    const env = { OPENAI_BASE_URL: 'https://gateway.example/openai/v1/', OPENAI_API_KEY: 'o' };
    const gateway = { ...openai, endpoint: 'https://gateway.example/openai/v1' };
    expect(await chosen({ env, flag: 'openai/org/m' })).toEqual({
      ...gateway,
      model: 'org/m',
      from: '--model, OPENAI_BASE_URL',
    });
    expect(await chosen({ env: { ...env, OPENAI_API_KEY: '' }, flag: 'openai/m' })).toMatchObject({
      keyVariable: null,
    });
    for (const elsewhere of ['https://api.openai.com/v1/gpt', 'https://gateway.example/m'])
      expect(await chosen({ env, flag: elsewhere })).toMatchObject({ keyVariable: null });
    const own = { ...env, OPENAI_BASE_URL: 'https://api.openai.com/v1' };
    expect(await chosen({ env: own })).toEqual({ ...openai, model: 'gpt-5-mini', from: 'OPENAI_API_KEY' });
    const other = { ANTHROPIC_API_KEY: 'a', ANTHROPIC_BASE_URL: 'https://gateway.example/claude' };
    expect(await chosen({ env: other, flag: 'anthropic/c' })).toMatchObject({
      ...anthropic,
      endpoint: 'https://gateway.example/claude',
    });
  });

  it('has a known context only where its own provider serves it', () => {
    const at = (endpoint: string, model: string): number | null => knownContext({ endpoint, model });
    expect(at('https://api.anthropic.com', 'claude-sonnet-4-5')).toBe(200_000);
    expect(at('https://api.openai.com', 'gpt-5-mini')).toBe(272_000);
    expect(at('https://api.openai.com', 'other')).toBeNull();
    expect(at('http://localhost:11434', 'gpt-5')).toBeNull();
  });

  it('has an address with http in a private network only with --insecure-http', async () => {
    const flag = 'http://192.168.1.5:8000/v1/m';
    expect(await chosen({ flag, insecureHttp: true, keyEnv: 'TEAM_KEY', env: { TEAM_KEY: 't' } })).toEqual({
      driver: 'svc-driver-openai',
      endpoint: 'http://192.168.1.5:8000/v1',
      keyVariable: 'TEAM_KEY',
      isInsecure: true,
      model: 'm',
      from: '--model, TEAM_KEY',
    });
    expect(await chosen({ flag: 'https://far.example/m', insecureHttp: true })).not.toHaveProperty('isInsecure');
    expect(await chosen({ flag: 'http://localhost:1/m', insecureHttp: true })).not.toHaveProperty('isInsecure');
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
    [
      { flag: 'http://192.168.1.5/m' },
      'the address "http://192.168.1.5/m" of --model must be https, or http to a loopback address',
    ],
    [
      { flag: 'http://far.example/m', insecureHttp: true },
      'the address "http://far.example/m" of --model must be https, or http to a private address in digits',
    ],
    [
      { env: { SVC_MODEL: 'http://192.168.1.5/m' }, insecureHttp: true },
      '--insecure-http goes with --model: nothing else names an address with http',
    ],
    [
      { keyEnv: 'TEAM_KEY', env: { TEAM_KEY: 't' } },
      '--key-env goes with --model: a key is for the model that is named',
    ],
    [{ flag: 'https://far.example/m', keyEnv: 'TEAM_KEY' }, '--key-env names TEAM_KEY, which is not set'],
    [
      { env: { OPENAI_BASE_URL: 'https://far.example' }, there: 'q' },
      'OPENAI_BASE_URL names a server, and nothing names a model of it',
    ],
    [
      { env: { OPENAI_BASE_URL: 'https://api.openai.com/v1' }, there: 'q' },
      'OPENAI_BASE_URL is set, and OPENAI_API_KEY is not',
    ],
    [
      { flag: 'openai/m', env: { OPENAI_BASE_URL: 'http://192.168.1.5', OPENAI_API_KEY: 'o' } },
      'OPENAI_BASE_URL is "http://192.168.1.5", which must be https, or http to a loopback address',
    ],
    [{ flag: 'http://localhost/%ff' }, '--model is "http://localhost/%ff", which names no model behind the address'],
    [
      { flag: 'ollama/q', env: { OLLAMA_HOST: 'http://far.example' } },
      'OLLAMA_HOST is "http://far.example", which must be https, or http to a loopback address',
    ],
  ])('fails for %j', async (given, message) => {
    expect(await refusal(given)).toBe(`E-MAN-004: ${message}`);
  });

  const forms = 'anthropic/<model>, openai/<model>, ollama/<model> or http://<host>:<port>/<model>';
  it.each<[string, string, Record<string, string>?]>([
    ['gpt-5', `write ${forms}`],
    ['m1', `write openai/m1, ${forms}`, { OPENAI_BASE_URL: 'http://localhost:8000/v1' }],
    ['openai/gpt-5', 'export OPENAI_API_KEY=<your key>, or name a model that needs none: ollama/<model>'],
  ])('says how --model %s is mended', async (flag, hint, env = {}) => {
    const refused = await chooseModel({ flag, env, askOllama: async () => null, strangerAt: () => null }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: 'E-MAN-004', hint });
  });
});
