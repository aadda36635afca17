# Sourced by scripts that run several others: adds up the `N passed, N failed` line that each prints
# last. A script that ends without one, or with a status its line does not explain, is one failure.
#
#   tally [--if-time] TITLE COMMAND...
#
# FORESHARD_TIME_LIMIT: a part `--if-time` does not begin later than so many seconds after the first. What
# was left out stands in the last line, `N passed, N failed, N left out`, and the exit status is not 0.
# After a signal the rest are left out too, and each is one failure.

tally_passed=0 tally_failed=0 tally_left_out=0 tally_lines=() tally_signal=""
trap 'tally_signal=1' HUP INT TERM

tally() {
  local if_time="" title log status line passed=0 failed=1 left_out=0 began=$SECONDS
  if [[ $1 == --if-time ]]; then if_time=1; shift; fi
  title=$1
  shift
  if [[ $tally_signal ]]; then
    tally_failed=$((tally_failed + 1))
    tally_lines+=("0 passed, 1 failed: $title, left out after a signal to end")
    return
  fi
  if [[ $if_time && ${FORESHARD_TIME_LIMIT-} ]] && ((SECONDS >= FORESHARD_TIME_LIMIT)); then
    tally_left_out=$((tally_left_out + 1))
    tally_lines+=("left out, as $FORESHARD_TIME_LIMIT s are over: $title")
    return
  fi
  echo "=== $title"
  log=$(mktemp)
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  line=$(tail -n 1 "$log")
  rm -f "$log"
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ left\ out)?$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} left_out=${BASH_REMATCH[4]:-0}
    if ((status && failed == 0 && left_out == 0)); then failed=1; fi
  fi
  tally_passed=$((tally_passed + passed)) tally_failed=$((tally_failed + failed))
  tally_left_out=$((tally_left_out + left_out))
  tally_lines+=("$passed passed, $failed failed, $((SECONDS - began)) s: $title")
}

tally_report() {
  echo "=== together"
  printf '%s\n' "${tally_lines[@]}"
  local sum="$tally_passed passed, $tally_failed failed"
  if ((tally_left_out)); then sum+=", $tally_left_out left out"; fi
  echo "$sum"
  exit $((tally_failed > 0 || tally_left_out > 0))
}
