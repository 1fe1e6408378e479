#!/bin/sh
# Data stays on removal; "purge" (deb) takes it as well.
set -e
case "$1" in
purge)
    rm -rf /var/lib/robotswatch /var/lib/private/robotswatch /var/lib/robotswatch-* /var/lib/private/robotswatch-*
    rmdir --ignore-fail-on-non-empty /etc/robotswatch 2>/dev/null || true
    ;;
esac
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
