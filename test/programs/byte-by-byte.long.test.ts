import { describeByteByByte } from '../support/byte-by-byte.ts';

describeByteByByte(8);
