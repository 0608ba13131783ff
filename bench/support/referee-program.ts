import { main } from '../../packages/referee/src/main.ts';

void main(process.argv.slice(2));
