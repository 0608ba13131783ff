import { driverExport } from '@svc/guest/driver-export.ts';
import { guestSink } from '@svc/guest/guest-sink.ts';
import { sleep } from '@svc/guest/wasi-clock.ts';
import { ScriptDriver } from './script-driver.ts';

const driver = new ScriptDriver({ ...guestSink, sleep });

/** `svc:driver/inference` */
export const inference = driverExport((request) => driver.infer(request));
