# shellcheck shell=bash
# What the tests of packages share: a count of checks, and a number out of a record. Sourced, never run.

passed=0
failed=0

# Runs the rest of its words; whether they succeed is whether the check holds.
check() {
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "ok      $what"
  else
    failed=$((failed + 1))
    echo "FAILED  $what"
  fi
}

# number FILE KEY...: what a record says under nested keys.
number() {
  python3 -c 'import json, sys, functools
print(functools.reduce(lambda of, key: of[key], sys.argv[2:], json.load(open(sys.argv[1]))))' "$@"
}

# The count, and the exit code of the whole.
verdict() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
