/** Every name that telemetry writes: those of OpenTelemetry's conventions as of one reading, and svc's own. */

/**
 * Where the names of generative AI were read. All of them have the status Development, so that they may change there; a test keeps them from being
 * written anywhere else.
 */
export const conventions = {
  repository: 'open-telemetry/semantic-conventions-genai',
  /**
   * The commit of `docs/gen-ai/client-inference.md` that was read; `docs/gen-ai/gen-ai-token-metrics.md` was read at 066d4a7f356f8600de6f10c42874626ab88692fb, and
   * `docs/gen-ai/mcp.md` at 0393513c908bf895e7b3ec480a2c1eb073c584af.
   */
  commit: '024a4f944a1291fcb627c9c47da69e79868dd15e',
} as const;

/** What `operation` may be. */
export const operations = { agent: 'invoke_agent', chat: 'chat', tool: 'execute_tool' } as const;

/** Attributes of spans, logs and points. */
export const attributes = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  conversation: 'gen_ai.conversation.id',
  model: 'gen_ai.request.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  firstChunkSeconds: 'gen_ai.response.time_to_first_chunk',
  systemInstructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  tokenType: 'gen_ai.token.type',
  tokenModality: 'gen_ai.token.modality',
  errorType: 'error.type',
  exitCode: 'process.exit.code',
  overflow: 'otel.metric.overflow',
  serviceName: 'service.name',
  serviceVersion: 'service.version',
  serviceInstance: 'service.instance.id',
  sdkName: 'telemetry.sdk.name',
  sdkLanguage: 'telemetry.sdk.language',
  sdkVersion: 'telemetry.sdk.version',
  session: 'svc.session.id',
  task: 'svc.task.id',
  taskState: 'svc.task.state',
  taskOrigin: 'svc.task.origin',
  attempts: 'svc.task.attempts',
  turn: 'svc.turn',
  retries: 'svc.inference.retries',
  hook: 'svc.hook.name',
  hookEvent: 'svc.hook.event',
  step: 'svc.plan.step',
  delegation: 'svc.delegation.id',
  outcome: 'svc.outcome',
  count: 'svc.count',
  ceiling: 'svc.spend.ceiling',
  spent: 'svc.spend.spent',
  signal: 'svc.telemetry.signal',
  door: 'svc.door',
  doorBinding: 'svc.door.binding',
  mcpMethod: 'mcp.method.name',
  mcpVersion: 'mcp.protocol.version',
  jsonRpcId: 'jsonrpc.request.id',
  rpcStatus: 'rpc.response.status_code',
  transport: 'network.transport',
  networkProtocol: 'network.protocol.name',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  urlPath: 'url.path',
  urlScheme: 'url.scheme',
} as const;

/** What tools are: those that run elsewhere, those that run here, and texts to be read. */
export const toolTypes = { extension: 'extension', function: 'function', datastore: 'datastore' } as const;

/**
 * Two names have been given to the same measure: receivers of today know `tokens` and `operation`, the newest conventions have put
 * the counters and `inference` in their places. Both are written.
 */
export const metrics = {
  operation: 'gen_ai.client.operation.duration',
  inference: 'gen_ai.client.inference.duration',
  agent: 'gen_ai.invoke_agent.duration',
  tool: 'gen_ai.execute_tool.duration',
  tokens: 'gen_ai.client.token.usage',
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
  lost: 'svc.telemetry.lost',
} as const;

/** Limits of the buckets that the conventions ask for: of durations in seconds, and of tokens. */
export const secondsBounds: readonly number[] = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
export const tokenBounds: readonly number[] = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

/** The provider of a bundled driver; of any other the name of the driver stands for it. */
export const providers: Readonly<Record<string, string>> = {
  'svc-driver-openai': 'openai',
  'svc-driver-anthropic': 'anthropic',
};

/** The value of an `error.type` for which there is no better one. */
export const otherError = '_OTHER';
