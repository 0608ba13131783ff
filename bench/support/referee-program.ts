import { main } from '../../src/referee/main.ts';

void main(process.argv.slice(2));
