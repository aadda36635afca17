# Sourced by scripts that run several others: adds up the `N passed, N failed` line that each prints
# last. A script that ends without one, or with a status its line does not explain, is one failure.
#
# FORESHARD_TIME_LIMIT: the seconds that all may take together. What runs longer is ended, and what
# would begin later, or after a signal, is left out; each is one failure, and the sum is printed.

tally_passed=0 tally_failed=0 tally_lines=() tally_over=""
trap 'tally_over="a signal asks to end"' HUP INT TERM

tally() {
  local title=$1 log status line passed=0 failed=1 began=$SECONDS within=()
  shift
  echo "=== $title"
  if [[ ${FORESHARD_TIME_LIMIT-} ]]; then
    within=(timeout --kill-after=10 $((FORESHARD_TIME_LIMIT - SECONDS)))
    if ((SECONDS >= FORESHARD_TIME_LIMIT)); then tally_over="$FORESHARD_TIME_LIMIT s are over"; fi
  fi
  if [[ $tally_over ]]; then
    tally_failed=$((tally_failed + 1))
    tally_lines+=("0 passed, 1 failed: $title, left out as $tally_over")
    return
  fi
  log=$(mktemp)
  "${within[@]}" "$@" 2>&1 | tee "$log"
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
