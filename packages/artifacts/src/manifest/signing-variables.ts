/** Names the variables in which clients of AWS look for an access key, and what goes with it. */

/** How the name of the variable with the access key ends. */
export const accessKeyVariable = 'ACCESS_KEY_ID';

/** The variables of an access key, of its secret, and of the region, beside `AWS_ACCESS_KEY_ID` or one that ends alike. */
export function signingVariables(variable: string): readonly [key: string, secret: string, ...region: string[]] {
  const before = variable.slice(0, -accessKeyVariable.length);
  return [variable, `${before}SECRET_ACCESS_KEY`, `${before}REGION`, `${before}DEFAULT_REGION`];
}
