# SPDX-License-Identifier: Apache-2.0
# bash completion of smd (test/cli/smd.sh compares its words with the help)
_smd() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local words="-f --faulty -r --replace -D --drop -e --extend -d --drain -R --reason -j --job -c --config
    -H --handle-failed -G --handle-failing -E --exports -o --folder --check-policy --json -v --verbose -h --help
    -V --version"
  COMPREPLY=()
  case $prev in
    -o | --folder) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    -R | --reason | -e | --extend) ;;
    # A faulty node of this job, where the service tells.
    -r | --replace | -D | --drop)
      mapfile -t COMPREPLY < <(compgen -W "$(smd -f 2>/dev/null | sed -n 's/^job [0-9]* FAIL[A-Z]* node \([^ ]*\) .*/\1/p')" -- "$cur") ;;
    *) [[ $cur != -* ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
  esac
}
complete -F _smd smd
