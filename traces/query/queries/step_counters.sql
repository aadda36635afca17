-- mean and highest value of each sampled counter in each step, or in all where there are no steps
WITH spans AS (
  SELECT rank, counter, unit, value, start,
         ifnull("end", (SELECT max("end") FROM EVENT_RECORDS)) AS until FROM COUNTER_VALUES
), stretches AS (
  SELECT rank, step, start, "end" FROM STEPS
  UNION ALL SELECT rank, NULL, min(start), max(until) FROM spans
  WHERE rank NOT IN (SELECT rank FROM STEPS) GROUP BY rank
), within AS (
  SELECT s.rank, step, counter, unit, value,
         min(until, s."end") - max(spans.start, s.start) AS held
  FROM stretches s JOIN spans ON spans.rank = s.rank AND spans.start < s."end" AND until > s.start
)
SELECT rank, step, counter, unit, sum(value * held) / sum(held) AS mean, max(value) AS highest
FROM within GROUP BY rank, step, counter, unit ORDER BY rank, step, counter
