// Stands for what the client library of the Model Context Protocol checks results with. Nothing that svc calls of the library checks any, and its checker is
// as large as the rest of it.
export const CORS_IS_POSSIBLE = false;

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('no result is checked here: session/tools/schema-problems.ts checks schemas');
  }
}
