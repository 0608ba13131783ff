import { driverExport } from '../../packages/guest/src/driver-export.ts';
import { guestPorts } from '../../packages/guest/src/guest-ports.ts';
import { infer } from './anthropic-driver.ts';

/** `svc:driver/inference` */
export const inference = driverExport((request) => infer(request, guestPorts));
