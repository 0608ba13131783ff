/** The driver that plays scripts as a component. */

import { emitText, emitThinking } from '@svc/guest/chunks.ts';
import { driverExport } from '@svc/guest/driver.ts';
import { sleep } from '@svc/guest/clock.ts';
import { ScriptDriver } from './script-driver.ts';

const driver = new ScriptDriver({ emitText, emitThinking, sleep });

/** `svc:driver/inference` */
export const inference = driverExport((request) => driver.infer(request));
