#!/bin/sh
# deb: $1 is "remove" or "upgrade"; rpm: $1 is 0 or 1.
set -e
[ -d /run/systemd/system ] || exit 0
case "$1" in
remove | 0)
    systemctl disable --now robotswatch.service robotswatch.socket || true
    # All instances: only stop takes a pattern, only disable a template.
    systemctl stop 'robotswatch@*.service' || true
    systemctl disable robotswatch@.service || true
    ;;
esac
