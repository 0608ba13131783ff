import { driverExport } from '../lib/driver-export.ts';
import { guestPorts } from '../lib/guest-ports.ts';
import { infer } from './openai-driver.ts';

/** `svc:driver/inference` */
export const inference = driverExport((request) => infer(request, guestPorts));
