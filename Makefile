# make test   everything that has to hold: format, lints, all tests (installs what the tests need, when missing)
# make bench  cost per I/O against the installed fio and a bare loop, and what one job does inside each database
#             (docs/performance.md); wants a quiet machine
# make truth  what is measured against throttles, tracepoints, laws and known devices: docs/truth.md (as root; some 30 minutes)
# make faults  every fault of docs/safety.md, with its totals; make fuzz: every parser, 60 s of CPU time each, added to the totals
#             there (SECONDS=3600 PARSER=TOML: one parser for an hour; SEED=N: the inputs of a run again)
# make fio-differential  300 generated configurations, and all methods of verification with all options, against the installed fio
# make dist   what is delivered, in dist/: static binary, Debian package, manual pages, completions, checksums; tries the package
# make        the program, target/release/iolite

.PHONY: build test lint bench truth faults fuzz fio-differential dist needs
build:
	cargo build --release

# What the tests need is installed while they are built. Lints are part of the build (.ci/linting_rustc).
test:
	cargo fmt --all --check
	@$(MAKE) --no-print-directory needs & needs=$$!; .ci/run_tests --build; status=$$?; wait $$needs && exit $$status
	.ci/run_tests

lint:
	cargo fmt --all --check
	.ci/deny
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked -q

bench:
	@.ci/needs fio:fio taskset:util-linux
	@cargo build --release -q -p iolite-sys --example bare_loop -p iolite-engine --example against_fio
	@mkdir -p target/bench
	@target/release/examples/against_fio target/release/examples/bare_loop target/bench 5
	@.ci/needs sqlite3:sqlite3 /usr/lib/postgresql:postgresql mariadbd:mariadb-server /usr/share/doc/fis-gtm:fis-gtm
	@cargo build --release -q
	@scratch=$$(mktemp -d /var/tmp/iolite-bench.XXXXXX) && \
	    { .ci/bench_databases target/release/iolite $$scratch && .ci/bench_commits target/release/iolite $$scratch/commits && \
      .ci/bench_results target/release/iolite $$scratch/results && .ci/bench_builds target/release/iolite $$scratch/builds && \
      .ci/bench_sampling target/release/iolite $$scratch/sampling tproc-c && .ci/bench_jobs target/release/iolite $$scratch/jobs && \
      { memory=$$(mktemp -d /dev/shm/iolite-bench.XXXXXX) && \
        .ci/bench_sampling target/release/iolite $$memory ranread; sampled=$$?; rm -rf $$memory; [ $$sampled = 0 ]; }; \
	      status=$$?; rm -rf $$scratch; exit $$status; }

truth: needs
	cargo build --release
	.ci/truth target/release/iolite

faults: needs
	.ci/totals faults

CONFIGS ?= 300
fio-differential:
	@.ci/needs fio:fio
	IOLITE_FIO_CONFIGS=$(CONFIGS) cargo test -p iolite --test fio_differential -- --nocapture generated_configurations
	IOLITE_FIO_MATRIX=1 cargo test -p iolite --test fio_verify -- --nocapture

SECONDS ?= 60
PARSER ?=
fuzz:
	.ci/totals fuzz $(SECONDS) '$(PARSER)' $(SEED)

dist:
	@.ci/needs musl-gcc:musl-tools dpkg-deb:dpkg readelf:binutils aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu \
	    /usr/aarch64-linux-gnu/lib:libc6-dev-arm64-cross qemu-aarch64-static:qemu-user-static
	.ci/dist
	@for package in dist/*.deb; do .ci/test_deb $$package || exit 1; done

# The tests look at results with sqlite3, make file systems to test against, compare with fio, on its examples too, measure
# inside databases, and open the pages in Chromium; without root they skip those and say so.
needs:
	@.ci/needs sqlite3:sqlite3 losetup:mount mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs fio:fio rsvg-convert:librsvg2-bin sixel2png:libsixel-bin \
	    /usr/share/doc/fio/examples:fio-examples python3:python3-venv \
	    /usr/lib/postgresql:postgresql mariadbd:mariadb-server /usr/share/doc/fis-gtm:fis-gtm chromium:chromium bon_csv2html:bonnie++
