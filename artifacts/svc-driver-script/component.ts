import { emitChunk, emitThinkingChunk } from 'svc:text/chunks@0.1.0';

import type { DriverRequest, DriverResponse } from '../lib/driver-world.ts';
import { sleep } from '../lib/wasi-clock.ts';
import { ScriptDriver } from './script-driver.ts';

const driver = new ScriptDriver({ sleep, emitText: emitChunk, emitThinking: emitThinkingChunk });

/** `svc:driver/inference` */
export const inference = {
  infer: (request: DriverRequest): DriverResponse => driver.infer(request),
};
