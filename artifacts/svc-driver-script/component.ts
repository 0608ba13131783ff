/** The driver that plays scripts as a component. */

import { driverExport } from '@svc/guest/driver.ts';
import { openDriver } from '@svc/guest/provider/script/script-driver.ts';
import { guestPorts } from '@svc/guest/provider/guest-ports.ts';
import { runBlocking } from '@svc/guest/provider/steps.ts';

const driver = openDriver();

/** `svc:driver/inference` */
export const inference = driverExport((request) => runBlocking(driver(request, guestPorts)));
