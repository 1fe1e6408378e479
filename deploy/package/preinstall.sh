#!/bin/sh
# deb: $1 is "install", also where an earlier removal left configuration and
# data, or "upgrade". postinstall.sh cannot tell these apart by itself.
set -e
if [ "$1" = install ] && [ -d /run/systemd/system ]; then
    touch /run/robotswatch.install
fi
