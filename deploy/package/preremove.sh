#!/bin/sh
# deb: $1 is "remove" or "upgrade"; rpm: $1 is 0 or 1.
set -e
[ -d /run/systemd/system ] || exit 0
case "$1" in
remove | 0) systemctl disable --now robotswatch.service robotswatch.socket || true ;;
esac
