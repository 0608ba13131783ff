/** The one program of the viewer: where there is a document it is the page, and in a worker that the page starts from the same text it reads a session. */

import { startPage } from '../page/start-page.tsx';
import { startWorker } from '../worker/start-worker.ts';

if (typeof document === 'undefined') startWorker();
else startPage();
