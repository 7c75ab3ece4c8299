# make test   everything that has to hold: format, lints, all tests (installs what the tests need, when missing)
# make        the program, target/release/iolite

.PHONY: build test needs
build:
	cargo build --release

test: needs
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked

# The tests look at results with sqlite3 and make file systems to test against; without root they skip those and say so.
needs:
	@.ci/needs sqlite3:sqlite3 losetup:mount mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs
