# The two commands that matter: make run, make test.
BIN     := bin/robotswatch
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
	go test ./...

.PHONY: race
race: ## the tests under the race detector
	go test -race -short ./...

.PHONY: lint
lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	go tool staticcheck ./...
