import type { DriverRequest, DriverResponse } from '../lib/driver-world.ts';
import { guestPorts } from '../lib/guest-ports.ts';
import { infer } from './openai-driver.ts';

/** `svc:driver/inference` */
export const inference = {
  infer: (request: DriverRequest): DriverResponse => infer(request, guestPorts),
};
