import { driverExport } from '@svc/guest/driver-export.ts';
import { guestPorts } from '@svc/guest/guest-ports.ts';
import { infer } from './anthropic-driver.ts';

/** `svc:driver/inference` */
export const inference = driverExport((request) => infer(request, guestPorts));
