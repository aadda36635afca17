# Sourced by scripts that run several others: adds up the `N passed, N failed` line that each prints
# last. A script that ends without one, or with a status its line does not explain, is one failure.
#
# FORESHARD_TIME_LIMIT: no part begins later than so many seconds after the first: it is left out, which
# the sum says and does not count. After a signal the rest are left out too, and each is one failure.

tally_passed=0 tally_failed=0 tally_lines=() tally_signal=""
trap 'tally_signal=1' HUP INT TERM

tally() {
  local title=$1 log status line passed=0 failed=1 began=$SECONDS
  shift
  if [[ $tally_signal ]]; then
    tally_failed=$((tally_failed + 1))
    tally_lines+=("0 passed, 1 failed: $title, left out after a signal to end")
    return
  fi
  if [[ ${FORESHARD_TIME_LIMIT-} ]] && ((SECONDS >= FORESHARD_TIME_LIMIT)); then
    tally_lines+=("left out, as $FORESHARD_TIME_LIMIT s are over: $title")
    return
  fi
  echo "=== $title"
  log=$(mktemp)
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  line=$(tail -n 1 "$log")
  rm -f "$log"
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
    if ((status && failed == 0)); then failed=1; fi
  fi
  tally_passed=$((tally_passed + passed)) tally_failed=$((tally_failed + failed))
  tally_lines+=("$passed passed, $failed failed, $((SECONDS - began)) s: $title")
}

tally_report() {
  echo "=== together"
  printf '%s\n' "${tally_lines[@]}"
  echo "$tally_passed passed, $tally_failed failed"
  exit $((tally_failed > 0))
}
