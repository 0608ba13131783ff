// @ts-check

/**
 * @typedef {'passed' | 'failed' | 'skipped'} Outcome
 * @typedef {{ id: string, text: string }} Clause
 * @typedef {{ file: string, title: string, outcome: Outcome, note?: string, firstFailure?: string }} TestRecord `title` holds the titles of the enclosing suites too; `firstFailure` is of a test that passed at the second try.
 * @typedef {{ topic: string, clauses: number, shown: number, missing: Clause[] }} TopicCount
 * @typedef {{ id: string, file: string, title: string }} UnknownClause
 */

/**
 * The clauses of `clauses.tsv`, in the order of the file.
 * @param {string} tsv
 * @returns {Clause[]}
 */
export function parseClauses(tsv) {
  const [header = '', ...lines] = tsv.split('\n').filter((line) => line !== '');
  const columns = header.split('\t');
  const idColumn = columns.indexOf('id');
  const textColumn = columns.indexOf('clause');
  if (idColumn < 0 || textColumn < 0) throw new Error('the list of clauses has no "id" or no "clause" column');
  return lines.map((line) => {
    const fields = line.split('\t');
    return { id: fields[idColumn] ?? '', text: fields[textColumn] ?? '' };
  });
}

/**
 * The clause ids a title names: `[D1-CLI-04, D1-CLI-05]`. A bracket that begins like an id is taken as a list of ids as a whole,
 * so that a mistyped one is found to be unknown and is not passed over.
 * @param {string} title
 * @returns {string[]}
 */
export function namedIds(title) {
  return [...title.matchAll(/\[([dD]\d-[^\]]*)\]/g)].flatMap(([, list = '']) => list.split(',').map((id) => id.trim()));
}

/**
 * Named ids that are in no document, whatever became of the test that names them.
 * @param {readonly Clause[]} clauses
 * @param {readonly TestRecord[]} tests
 * @returns {UnknownClause[]}
 */
export function unknownClauses(clauses, tests) {
  const known = new Set(clauses.map((clause) => clause.id));
  return tests.flatMap(({ file, title }) =>
    namedIds(title)
      .filter((id) => !known.has(id))
      .map((id) => ({ id, file, title })),
  );
}

/**
 * Why a test was skipped: what it said when it skipped itself, or `(skipped without python3)` in its title or its suite's.
 * @param {TestRecord} test
 * @returns {string | undefined}
 */
export function skipReason({ note, title }) {
  return note ?? /\(skipped:? ([^)]+)\)/.exec(title)?.[1];
}

/**
 * Per topic (`D1-CLI`), in the order of the documents: how many clauses are named by a test that passed, and which are not.
 * @param {readonly Clause[]} clauses
 * @param {readonly TestRecord[]} tests
 * @returns {TopicCount[]}
 */
export function countTopics(clauses, tests) {
  const shown = new Set(tests.filter((test) => test.outcome === 'passed').flatMap((test) => namedIds(test.title)));
  /** @type {Map<string, TopicCount>} */
  const topics = new Map();
  for (const clause of clauses) {
    const topic = topicOf(clause.id);
    const count = topics.get(topic) ?? { topic, clauses: 0, shown: 0, missing: [] };
    count.clauses += 1;
    if (shown.has(clause.id)) count.shown += 1;
    else count.missing.push(clause);
    topics.set(topic, count);
  }
  return [...topics.values()];
}

/**
 * One line a topic and one for the sum; a topic's missing clauses stand behind it by number, or one a line with their text.
 * @param {readonly TopicCount[]} topics
 * @param {{ texts: boolean }} options
 * @returns {string}
 */
export function renderTopics(topics, options) {
  const lines = topics.flatMap((topic) => {
    const head = `${topic.topic.padEnd(10)} ${String(topic.shown).padStart(3)} of ${String(topic.clauses).padStart(3)}`;
    if (options.texts) return [head, ...topic.missing.map((clause) => `    ${clause.id}  ${clause.text}`)];
    return [topic.missing.length === 0 ? head : `${head}   without a test: ${numbers(topic)}`];
  });
  const shown = topics.reduce((sum, topic) => sum + topic.shown, 0);
  const clauses = topics.reduce((sum, topic) => sum + topic.clauses, 0);
  return [...lines, `${'clauses'.padEnd(10)} ${String(shown).padStart(3)} of ${String(clauses).padStart(3)}`].join(
    '\n',
  );
}

/** @param {string} id */
function topicOf(id) {
  return id.slice(0, id.lastIndexOf('-'));
}

/** @param {TopicCount} topic */
function numbers(topic) {
  if (topic.shown === 0) return 'all';
  return topic.missing.map((clause) => clause.id.slice(topic.topic.length + 1)).join(' ');
}

/** A run in which more tests need a second try fails: a fault may hide behind them. */
const maxRetries = 3;

/**
 * Reports the tests that passed at the second try only, each with its first failure. `fault` is null while there are few of them.
 * @param {readonly TestRecord[]} tests
 * @returns {{ lines: string[], fault: string | null }}
 */
export function reportRetries(tests) {
  const lines = tests.flatMap(({ file, title, firstFailure }) =>
    firstFailure === undefined ? [] : [`second try: ${file}: ${title}\n  first failure: ${firstFailure}`],
  );
  const isFault = lines.length > maxRetries;
  return { lines, fault: isFault ? `${lines.length} tests needed a second try, at most ${maxRetries} may` : null };
}
