# dld: build, test, install. `make help` lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
# The folder for `make run URL=…`.
DIR ?= $(HOME)/Downloads
# Optimized, with Swift's run-time library linked in, and with addresses of functions that are read-only once the program runs.
# Nothing tells where the build was: no path to libraries, no names of files, and no build id, which depends on debug information.
RELEASE = swift build -c release --static-swift-stdlib --disable-local-rpath -Xlinker -z -Xlinker now \
    -Xlinker --build-id=none -Xcc "-ffile-prefix-map=$(CURDIR)=."
# What `make build` builds.
PRODUCTS ?= dld dlctl dld-web dld-fleet

.PHONY: help run test check check-client check-documentation check-fleet check-fresh check-instructions check-package check-sanitizers check-systemd check-web build deb image release install uninstall bench torture soak fuzz lint format docs clean

help: ## Lists the targets.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 18

run: ## Demonstrates a download that survives kill -9; with URL=… fetches that URL into DIR.
ifdef URL
	scripts/fetch "$(DIR)" $(URL)
else
	scripts/demonstrate
endif

test: ## Installs what the tests need, builds, runs all tests, check-python, check-web, check-fleet, check-instructions and check-api; FILTER=… runs only matching tests.
	scripts/test $(if $(FILTER),--filter '$(FILTER)')
	$(if $(FILTER),,scripts/check-python)
	$(if $(FILTER),,scripts/check-web)
	$(if $(FILTER),,scripts/check-fleet)
	$(if $(FILTER),,scripts/check-instructions)
	$(if $(FILTER),,scripts/check-api)

check: lint test ## Runs everything: lint, tests, their long forms, sanitizers, the client package, documentation, units under a real systemd, packages.
	DLD_LONG_TESTS=1 scripts/test --filter 'EndToEnd'
	scripts/check-sanitizers
	Tests/PackageClient/check
	scripts/check-documentation
	scripts/check-units
	scripts/check-systemd
	scripts/check-package

check-client: ## Builds and runs a package that depends on TransferNetworking alone.
	Tests/PackageClient/check

check-documentation: ## Builds the pages of TransferNetworking; warnings are errors.
	scripts/check-documentation

check-fleet: ## Tests dld-fleet against PostgreSQL in its long forms, plays 1,000 nodes, measures claims, and writes Tests/Fleet/RESULTS.md.
	DLD_LONG_TESTS=1 scripts/check-fleet

check-fresh: ## Runs `make run` and `make test` in a bare Debian with only Swift; FILTER=… runs only matching tests.
	CHECK_FRESH_TEST_FILTER='$(FILTER)' scripts/check-fresh

check-instructions: ## Fails if a small download costs more instructions than Benchmarks/instructions.reference allows.
	scripts/check-instructions

check-package: ## Builds the packages twice and tests them in a bare Debian: install, reboot, upgrade, remove, purge.
	scripts/check-package

check-sanitizers: ## Runs unit and engine tests and short attacks with ThreadSanitizer and AddressSanitizer.
	scripts/check-sanitizers

check-systemd: ## Verifies the units and tests them under systemd in a container.
	scripts/check-units
	scripts/check-systemd

check-web: ## Tests dld-web and its page in a browser against the daemon of .build/debug or DLD_BINARIES.
	scripts/check-web

build: ## Builds optimized programs with Swift's run-time library linked in.
	scripts/install-build-dependencies
	for product in $(PRODUCTS); do $(RELEASE) --product $$product || exit; done

deb: $(if $(DLD_BINARIES),,build) ## Builds the Debian packages into .build/packages; lintian must have nothing to say.
	scripts/build-package

image: deb ## Builds an OCI archive for containers from the package and Debian; needs root's rights, but no registry.
	scripts/build-image

release: build ## Tags HEAD if CHANGELOG, packages and programs have one version; does not push.
	scripts/release

# With sudo, Swift is often not in root's PATH. Then the existing result of `make build` is installed.
install: $(if $(shell command -v swift),build) ## Installs programs, units, manual pages and completions below DESTDIR and PREFIX.
	scripts/install-files "$(DESTDIR)" "$(PREFIX)" "$(SYSCONFDIR)"

uninstall: ## Stops and disables the units and removes the installed files; keeps configuration and downloads.
	scripts/uninstall-files "$(DESTDIR)" "$(PREFIX)"

bench: build ## Compares dld with curl, aria2c and others in one run and writes Benchmarks/RESULTS.md.
	Benchmarks/prepare
	Benchmarks/run --dld "$$(swift build -c release --show-bin-path)" --write

torture: build ## Attacks the programs of `make build`: deaths, power cuts, failing disks and networks, seeded worlds; SEED=… repeats a run.
	Tests/Torture/prepare
	swift build -c release --scratch-path .build-simulate --product simulate
	Tests/Torture/run --dld "$$(swift build -c release --show-bin-path)/dld" $(if $(SEED),--seed $(SEED))

fuzz: ## Fuzzes every reader of outside input, 20 s per target or SECONDS=…; SEED=… repeats a run.
	Tests/Fuzz/run $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

soak: build ## Runs mixed work for fifteen minutes or SECONDS=…: memory, descriptors, threads and database must stay flat.
	Tests/Torture/prepare
	Tests/Torture/run --only soak --dld "$$(swift build -c release --show-bin-path)/dld" --seconds $(or $(SECONDS),900) $(if $(SEED),--seed $(SEED))

lint: ## Checks the format of Swift and shell sources.
	scripts/lint

format: ## Formats Swift sources.
	swift format --in-place --parallel --recursive --configuration .swift-format Package.swift Sources Tests

docs: ## Writes the generated documents.
	scripts/install-build-dependencies
	swift run dlctl documentation --manual docs/man --completions completions
	DLD_UPDATE_DOCS=1 scripts/test --filter 'Document|Reference|Generated|Completion|Manual'

clean: ## Removes build products.
	rm -rf .build .build-thread .build-address .build-bench .build-torture .build-simulate .build-fuzz .testenv
