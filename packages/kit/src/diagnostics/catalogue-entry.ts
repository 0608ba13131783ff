/** What one code means, for `svc explain <code>` and the documentation. */
export interface CatalogueEntry {
  readonly title: string;
  readonly explanation: string;
}
