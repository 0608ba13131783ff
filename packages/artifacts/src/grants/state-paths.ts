/** Where components, and programs in a root of their own, have their state stores. */
export const stateRoot = '/state';

export function statePath(store: string): string {
  return `${stateRoot}/${store}`;
}
