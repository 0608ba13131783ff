/** The driver for the Chat Completions API as a component. */

import { driverExport } from '@svc/guest/driver.ts';
import { guestPorts } from '@svc/guest/provider/driver-ports.ts';
import { infer } from './openai-driver.ts';

/** `svc:driver/inference` */
export const inference = driverExport((request) => infer(request, guestPorts));
