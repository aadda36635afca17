-- records that were lost or left out, by reason
SELECT reason, records FROM DROPPED WHERE records > 0 ORDER BY records DESC, reason
