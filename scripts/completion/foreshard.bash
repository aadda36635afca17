# Bash completion for foreshard: source this file, or copy it to
# ~/.local/share/bash-completion/completions/foreshard.

_foreshard() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]-}
  local commands="train fit predict compare inspect import export program replay"
  local models="llama-2-7b llama-2-13b llama-2-70b codellama-34b llama-3-8b llama-3-70b
                llama-3.1-8b llama-3.1-70b llama-3.1-405b llama-3.2-1b llama-3.2-3b
                llama-3.3-70b llama-tiny-3m llama-small-14m llama-110m"
  local machines="v100-sxm2-32 v100-sxm2-16 t4 a10g a100-sxm-40 a100-sxm-80 a100-pcie-80 l4 l40s
                  rtx3090 rtx4090 rtx5090 h100-sxm h100-pcie h200 gh200-96 gh200-144 b200 gb200
                  b300 gb300 mi250x mi300x mi325x mi355x"
  local job="--model --plan --ranks --nodes"

  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$current"))
    return
  fi
  case $previous in
    --model)
      compopt -o filenames
      COMPREPLY=($(compgen -W "$models" -- "$current") $(compgen -f -- "$current"))
      return ;;
    --plan) compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")); return ;;
    --device) COMPREPLY=($(compgen -W "cpu" -- "$current")); return ;;
    --comm) COMPREPLY=($(compgen -W "auto local tcp mpi" -- "$current")); return ;;
    --machine) COMPREPLY=($(compgen -W "$machines" -- "$current")); return ;;
    --ranks | --steps | --seed | --device-memory | --threads-per-rank | --hang-timeout | --nodes | \
    --rank | --step) return ;;
  esac
  local flags=""
  case $command in
    train) flags="$job --steps --device --comm --data --init --seed --device-memory
                  --threads-per-rank --hang-timeout --resume --save --export-weights
                  --export-gradients --trace --poison --json" ;;
    fit) flags="-o --output --report" ;;
    predict) flags="$job --steps --costs --machine --device-memory --trace
                    --memory-events --rank --json" ;;
    compare | inspect) flags="--json" ;;
    import) flags="--output --no-stacks --json" ;;
    export) flags="--perfetto --csv" ;;
    replay) flags="--device --allocator --capacity --decisions --json" ;;
    program) flags="$job --rank --step --json" ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags --help" -- "$current"))
  else
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _foreshard foreshard
