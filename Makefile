# The two commands that matter: make run, make test.
BIN     := bin/robotswatch
ARCH    := $(shell go env GOARCH)
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOFLAGS_BUILD := -trimpath -ldflags "-s -w -X main.version=$(VERSION)"

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/robotswatch (static)
	CGO_ENABLED=0 go build $(GOFLAGS_BUILD) -o $(BIN) ./cmd/robotswatch

.PHONY: run
run: build ## build and start the daemon with the example configuration, data under ./data
	@mkdir -p data
	$(BIN) --config config.example.toml run

.PHONY: demo
demo: build ## everything at once on a simulated web
	$(BIN) demo

.PHONY: test
test: ## all tests; those that need a service run where the service is installed
	go test $(TESTFLAGS) -timeout 20m ./...

.PHONY: race
# SQLite is translated from C: its memory is not Go's and the detector sees
# none of it, but watching it makes each statement many times slower.
UNRACED := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false
race: ## the tests in short form under the race detector
	go test $(TESTFLAGS) -race $(UNRACED) -short -timeout 20m ./...

.PHONY: lint
lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet -tags campaign,system,pictures ./...
	go tool staticcheck -tags campaign,system,pictures ./...

.PHONY: fuzz
FUZZTIME ?= 20s
fuzz: ## every fuzz target for FUZZTIME (20s), two at a time
	@grep -oE '^func Fuzz[A-Za-z0-9]+' -r --include=*_test.go . | sed -E 's|/[^/]*:func | |' | sort | \
	  xargs -P 2 -L 1 sh -c '.ci/fuzz "$$0" "$$1" $(FUZZTIME) || exit 255'

.PHONY: bench
bench: ## the figures of docs/performance.md, in about eight minutes
	go test -tags campaign ./fetch -run TestBench -count 1 -v
	ROBOTSWATCH_BENCH=quick go test -tags campaign ./internal/campaign -run 'CPU|Unchanged|Storm|Many|Together' -count 1 -v -timeout 30m
	ROBOTSWATCH_BENCH_SITES=100000 go test ./store -run BytesPerSite -bench ClaimAtScale -benchtime 5x -count 1 -v -timeout 30m

.PHONY: prove-engine
prove-engine: ## the comparison against its oracle, a million pairs; all questions of the corpus
	ROBOTSWATCH_ORACLE_PAIRS=1000000 go test ./diff -run Oracle -timeout 60m -count 1
	ROBOTSWATCH_CORPUS=all go test ./diff -run Corpus -timeout 60m -count 1 -v
	go test ./diff ./robots -run '^$$' -bench . -benchtime 3x

.PHONY: prove-watcher
prove-watcher: ## episodes, real histories, a virtual year, 100,000 checks
	ROBOTSWATCH_EPISODES=10000 ROBOTSWATCH_HISTORIES=300 ROBOTSWATCH_YEAR_DAYS=365 ROBOTSWATCH_YEAR_SITES=60 \
	  ROBOTSWATCH_CHECK_SITES=10000 go test ./watcher -timeout 60m -count 1 -v -run 'Episodes|Histories|Year|Requests'

.PHONY: prove-alerts
prove-alerts: ## 300 kills of the daemon with receivers that misbehave; 100,000 sites flipped by one template
	ROBOTSWATCH_CAMPAIGN=300 go test ./cmd/robotswatch -run Campaign -timeout 60m -count 1 -v
	ROBOTSWATCH_TEMPLATE_SITES=100000 go test ./notify -run Template -timeout 20m -count 1 -v

.PHONY: prove-scale
prove-scale: prove-start ## the figures of docs/performance.md at full length and a million sites
	ROBOTSWATCH_BENCH=full go test -tags campaign ./internal/campaign -run 'CPU|Unchanged|Storm|Together' -count 1 -v -timeout 60m

.PHONY: prove-rate
RUNS ?= 5
prove-rate: ## a minute of unchanged checks of 100,000 sites on each database, RUNS (5) times
	ROBOTSWATCH_BENCH=full go test ./internal/campaign -run Unchanged -count $(RUNS) -v -timeout 60m

.PHONY: prove-start
prove-start: ## starts, memory and claims with a million sites
	ROBOTSWATCH_BENCH=full go test ./internal/campaign -run Many -count 1 -v -timeout 30m
	ROBOTSWATCH_BENCH_SITES=1000000 go test ./store -run BytesPerSite -bench ClaimAtScale -benchtime 5x -count 1 -v -timeout 60m

.PHONY: prove-cluster
CLUSTERTIME ?= 10m
prove-cluster: ## daemons and PostgreSQL killed at random for CLUSTERTIME (10m)
	ROBOTSWATCH_CLUSTER=$(CLUSTERTIME) go test ./internal/campaign -run 'Faults|Clock' -count 1 -v -timeout 60m

.PHONY: prove-monitoring
prove-monitoring: ## every alert fires and resolves in a real Prometheus and Alertmanager; every panel has data
	go test ./cmd/robotswatch -run 'Rules|AlertsFire|Panel' -timeout 20m -count 1 -v

.PHONY: prove-pages
prove-pages: ## every page in a browser, 10,000 random calls, a million sites
	ROBOTSWATCH_SITES=10000 ROBOTSWATCH_CALLS=10000 go test ./web -timeout 60m -count 1
	ROBOTSWATCH_SCALE=1000000 go test -tags campaign ./web -run ManySites -timeout 60m -count 1 -v

.PHONY: campaign-history
campaign-history: ## 15,000 hosts over 200 weeks: brought in, replayed, killed five times; 300 real histories
	ROBOTSWATCH_LONG=1 go test ./history -run 'RealHistories|RealPairs|AreOne' -count 1 -v -timeout 60m
	ROBOTSWATCH_HOSTS=15000 go test ./history -run ManyHosts -count 1 -v -timeout 60m
	ROBOTSWATCH_KILL_HOSTS=15000 ROBOTSWATCH_KILL_WEEKS=200 go test ./history -run Killed -count 1 -v -timeout 120m

.PHONY: datasets
ROWS ?= 1000
HOSTS ?= 30
datasets: build ## Parquet read back by DuckDB and compared with the API: ROWS (1000) of HOSTS (30); needs a C compiler
	cd datasetcheck && ROBOTSWATCH_BIN=$(CURDIR)/$(BIN) ROBOTSWATCH_ROWS=$(ROWS) ROBOTSWATCH_HOSTS=$(HOSTS) \
	  CGO_ENABLED=1 go test -count 1 -timeout 20m -v .

.PHONY: packages
packages: ## .deb, .rpm, static binaries and bills of materials under dist/
	deploy/package/build.sh

.PHONY: package-test
package-test: ## build the package twice, compare, look inside, and live with it on a Debian with systemd (root)
	ARCHES=$(ARCH) deploy/package/build.sh && mv dist/SHA256SUMS /tmp/robotswatch.$$$$ && ARCHES=$(ARCH) deploy/package/build.sh && \
		diff /tmp/robotswatch.$$$$ dist/SHA256SUMS && rm /tmp/robotswatch.$$$$
	go test $(TESTFLAGS) -tags system -count 1 -timeout 20m ./deploy/package

.PHONY: pictures
pictures: ## docs/images/slack.png, drawn from what is sent
	go test -tags pictures -count 1 -run PictureOf ./notify

.PHONY: man
man: build ## manual pages under dist/man
	$(BIN) man dist/man

.PHONY: sbom
sbom: build ## what bin/robotswatch was built from (CycloneDX)
	@$(BIN) sbom $(BIN)

.PHONY: vuln
vuln: ## known vulnerabilities in what is called (govulncheck)
	@go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./... || { c=$$?; \
	  [ $$c -eq 3 ] || echo "govulncheck could not answer: its database may be out of reach from here"; exit $$c; }
