-- collectives of each rank, how long it waited in each for the last rank, and whether it was that
WITH collectives AS (
  SELECT rank, name, unit, step AS its_step, duration, processGroup, sequence, start, iif(sequence > 0, 0, step) AS step,
         CASE WHEN processGroup <> '' THEN '' WHEN stableKey <> '' THEN stableKey ELSE name END
           AS collective
  FROM EVENTS WHERE kind = 'communication'
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY rank, step, processGroup, sequence, collective
                               ORDER BY start) AS occurrence
  FROM collectives
), compared AS (
  SELECT rank, its_step, name, unit, start, duration, duration - min(duration) OVER same AS waited,
         max(duration) OVER same - min(duration) OVER same AS spread, count(*) OVER same AS ranks,
         max(duration) OVER same > min(duration) OVER same AS differs,
         iif(processGroup <> '', length(processGroup) - length(replace(processGroup, ',', '')) + 1,
             (SELECT count(DISTINCT rank) FROM LANES)) AS members,
         row_number() OVER (PARTITION BY step, processGroup, sequence, collective, occurrence
                            ORDER BY duration, rank) AS place
  FROM numbered
  WINDOW same AS (PARTITION BY step, processGroup, sequence, collective, occurrence)
)
SELECT rank, its_step AS step, name, unit, waited, spread, place = 1 AND differs AS arrivedLast, start, duration
FROM compared WHERE ranks = members AND members > 1 ORDER BY spread DESC, start, rank
