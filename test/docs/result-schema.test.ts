import { expect, it } from 'vitest';
import { z } from 'zod';

import { scriptLineSchemas } from '@svc/svc/run/script/run-result.ts';

it('the documentation publishes the schemas of what svc -p prints', async () => {
  const lines = Object.entries(scriptLineSchemas).map(([type, schema]) => schema.meta({ title: type }));
  const schema = z.toJSONSchema(z.union(lines).meta({ title: 'An object of svc -p --output json or stream-json' }));
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot('../../docs/result.schema.json');
});
