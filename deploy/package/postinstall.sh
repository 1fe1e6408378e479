#!/bin/sh
# deb: $1 is "configure" and $2 the version before; rpm: $1 is 1 or 2.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
case "$1" in
configure) upgrade="$2" ;;
2) upgrade=yes ;;
*) upgrade= ;;
esac
if [ -e /run/robotswatch.install ]; then
    rm /run/robotswatch.install
    upgrade=
fi
if [ -n "$upgrade" ]; then
    systemctl try-restart robotswatch.service 'robotswatch@*.service' || true
else
    systemctl enable --now robotswatch.service || true
fi
