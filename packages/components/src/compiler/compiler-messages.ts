import type { CoreModule } from './transpiled-component.ts';

/** What the compiler's process answers to the bytes of one component. */
export type CompilerAnswer =
  | {
      readonly kind: 'transpiled';
      readonly imports: readonly string[];
      readonly glue: string;
      readonly modules: readonly CoreModule[];
    }
  /** The bytes are not a component that can be run. */
  | { readonly kind: 'refused'; readonly reason: string };
