import { describeForgedRecordings } from '../support/forged-recordings.ts';

describeForgedRecordings(1);
