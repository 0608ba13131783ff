/** Variables by name, the way `process.env` holds them. */
export type Environment = Readonly<Record<string, string | undefined>>;
