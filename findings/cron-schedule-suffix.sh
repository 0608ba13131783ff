#!/bin/sh
# cron-schedule 6.0.0: `1#2` as the day of the week, the second Monday of a month for croner 11.0.1 and cron-parser 5.10.6, is taken as every
# Monday. Whatever follows a number is left out without an error, `1x` too. A monthly job runs every week.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts cron-schedule@6.0.0 croner@11.0.1 cron-parser@5.10.6
cat >next.js <<'JS'
import { CronExpressionParser } from 'cron-parser';
import { parseCronExpression } from 'cron-schedule';
import { Cron } from 'croner';

const from = new Date('2026-01-01T00:00:00Z');
const libraries = {
  'cron-schedule': (line) => parseCronExpression(line).getNextDates(3, from),
  croner: (line) => new Cron(line, { timezone: 'UTC' }).nextRuns(3, from),
  'cron-parser': (line) => CronExpressionParser.parse(line, { currentDate: from, tz: 'UTC' }).take(3).map((next) => next.toDate()),
};
for (const day of ['1#2', '1x']) {
  for (const [name, next] of Object.entries(libraries)) {
    let seen;
    try {
      seen = next(`0 0 * * ${day}`).map((date) => date.toISOString().slice(5, 10)).join(' ');
    } catch {
      seen = 'refused';
    }
    console.log(`${day} ${name}: ${seen}`);
  }
}
JS
seen=$(TZ=UTC node next.js)
echo "$seen"
[ "$seen" = '1#2 cron-schedule: 01-05 01-12 01-19
1#2 croner: 01-12 02-09 03-09
1#2 cron-parser: 01-12 02-09 03-09
1x cron-schedule: 01-05 01-12 01-19
1x croner: refused
1x cron-parser: refused' ]
