# Sourced by scripts with their arguments: where these ask for help, prints the comment at the script's head and
# ends the script.

print_usage() { awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"; }

for usage_argument in "$@"; do
  case "$usage_argument" in
    -h | --help) print_usage; exit 0 ;;
  esac
done
