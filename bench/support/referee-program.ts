/** Runs the referee, so that parts of it can be put in the place of others. */

import { main } from '@svc/referee/main.ts';

void main(process.argv.slice(2));
