#!/usr/bin/env bash
# A screenshot of a command in a real terminal: docs/screenshots.sh FILE.png COLUMNS ROWS SECONDS COMMAND
#
# Opens xterm on a screen of its own, types COMMAND into a shell, waits SECONDS and takes the picture.
# Needs xvfb, xterm, xdotool, imagemagick, pngquant, and fonts-dejavu.
set -euo pipefail

if [ $# -ne 5 ]; then
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
image=$1 columns=$2 rows=$3 seconds=$4 command=$5

work=$(mktemp -d)
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" && wait "$pid"; done 2>/dev/null || true; rm -rf "$work"' EXIT

# The number of a free screen comes through descriptor 3.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 1600x1600x24 3>"$work/display" 2>/dev/null &
pids+=($!)
read -r number <"$work/display"
export DISPLAY=:$number LC_ALL=C.UTF-8

printf '%s\n' "PS1='$ '" "unset PROMPT_COMMAND" "trap 'exit' HUP" >"$work/rc"
xterm -geometry "${columns}x$rows+0+0" -fa 'DejaVu Sans Mono' -fs 10 -b 8 +sb -bg '#1b1d23' -fg '#d4d7dd' \
    -xrm 'XTerm*color1: #f2777a' -xrm 'XTerm*color9: #f2777a' -xrm 'XTerm*color3: #f0c674' \
    -e bash --rcfile "$work/rc" -i &
pids=($! "${pids[@]}")
window=$(xdotool search --sync --onlyvisible --class xterm | head -n 1)
# Without a window manager the keyboard belongs to the window under the pointer.
xdotool mousemove 20 20 type --delay 5 "$command"$'\n'
sleep "$seconds"

import -window "$window" "$work/full.png"
pngquant --force --speed 1 --strip --output "$image" 128 "$work/full.png"
