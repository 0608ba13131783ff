import type { DriverPorts } from './driver.ts';
import { guestSink } from './guest-sink.ts';
import { sleep } from './wasi-clock.ts';
import { post } from './wasi-http.ts';

/** The ports of a driver that runs as a component. */
export const guestPorts: DriverPorts = { ...guestSink, post, sleep, now: () => Date.now() };
