import { driverExport } from '../lib/driver-export.ts';
import { guestSink } from '../lib/guest-sink.ts';
import { sleep } from '../lib/wasi-clock.ts';
import { ScriptDriver } from './script-driver.ts';

const driver = new ScriptDriver({ ...guestSink, sleep });

/** `svc:driver/inference` */
export const inference = driverExport((request) => driver.infer(request));
