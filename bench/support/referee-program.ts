import { main } from '@svc/referee/main.ts';

void main(process.argv.slice(2));
