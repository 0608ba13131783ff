import { driverExport } from '../../packages/guest/src/driver-export.ts';
import { guestSink } from '../../packages/guest/src/guest-sink.ts';
import { sleep } from '../../packages/guest/src/wasi-clock.ts';
import { ScriptDriver } from './script-driver.ts';

const driver = new ScriptDriver({ ...guestSink, sleep });

/** `svc:driver/inference` */
export const inference = driverExport((request) => driver.infer(request));
