#!/bin/sh
# Installs what package-lock.json pins (npm checks the hashes) and copies the
# charting library with its licence to where it is embedded. Changes nothing
# when the versions are the same.
set -eu
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
to=../assets/vendor
mkdir -p "$to"
cp node_modules/uplot/dist/uPlot.iife.min.js "$to/uplot.js"
cp node_modules/uplot/dist/uPlot.min.css "$to/uplot.css"
cp node_modules/uplot/LICENSE "$to/uplot.LICENSE"
