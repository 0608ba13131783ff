/** Checks the form of small values without a schema, which every start would have to load and build first. */

import { isJsonObject } from '@svc/protocol/json-object.ts';

/** Whether a value is a `T`. It changes nothing and takes fields that it does not know. */
export type Guard<T> = (value: unknown) => value is T;

/** What a guard lets pass. */
export type Guarded<Of> = Of extends Guard<infer T> ? T : never;

type Fields = Readonly<Record<string, Guard<unknown>>>;

export const isText = (value: unknown): value is string => typeof value === 'string';

export const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';

/** A whole number that a `number` holds exactly. */
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

export function isOneOf<const Known extends string>(...known: readonly Known[]): Guard<Known> {
  return (value): value is Known => known.some((each) => each === value);
}

/** An object that has each of these fields. A field that is absent is held to its guard as undefined. */
export function isObjectOf<Of extends Fields>(fields: Of): Guard<{ readonly [Key in keyof Of]: Guarded<Of[Key]> }> {
  const held = Object.entries(fields);
  return (value): value is { readonly [Key in keyof Of]: Guarded<Of[Key]> } =>
    isJsonObject(value) && held.every(([key, guard]) => guard(value[key]));
}

export function isListOf<Item>(item: Guard<Item>): Guard<readonly Item[]> {
  return (value): value is readonly Item[] => Array.isArray(value) && value.every((each) => item(each));
}

/** An object that is used as a map. */
export function isMapOf<Item>(item: Guard<Item>): Guard<Readonly<Record<string, Item>>> {
  return (value): value is Readonly<Record<string, Item>> =>
    isJsonObject(value) && Object.values(value).every((each) => item(each));
}

/** A `T`, or null. */
export function orNull<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

/** A `T`, or nothing: a component's `option` comes as undefined. */
export function orNothing<T>(guard: Guard<T>): Guard<T | null | undefined> {
  return (value): value is T | null | undefined => value === undefined || value === null || guard(value);
}

/** A variant as a component gives it: `tag`, and for most tags a `val`. Refuses a tag that is not among `cases`. */
export function isVariantOf<Of extends Fields>(
  cases: Of,
): Guard<
  { readonly [Tag in keyof Of & string]: { readonly tag: Tag; readonly val: Guarded<Of[Tag]> } }[keyof Of & string]
> {
  type Variant = { readonly tag: keyof Of & string; readonly val: never };
  return (value): value is Variant =>
    isJsonObject(value) &&
    isText(value['tag']) &&
    Object.hasOwn(cases, value['tag']) &&
    cases[value['tag']]?.(value['val']) === true;
}

/** For a place where anything may stand. */
export const isAnything = (_value: unknown): _value is unknown => true;
