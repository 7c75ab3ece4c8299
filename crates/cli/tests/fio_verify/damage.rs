//! Data that is damaged, stale or of another program, and who finds it.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{METHODS, amounts, run, verifying};
use crate::common::fio::{Program, command_as_fio, empty_directory, fio_is_installed};
use crate::common::*;

/// What is wrong is saved beside what it should be, by the names that fio gives the files.
#[test]
fn wrong_blocks_are_saved() {
    let place = TestDirectory::new();
    let programs = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    for program in programs {
        let directory = empty_directory(&place, "exchange");
        let job = "--verify=pattern --verify_pattern=0xabcdef01";
        assert!(run(*program, &directory, &format!("--rw=write --do_verify=0 {job}")).status.success());
        let file = fs::File::options().write(true).open(directory.join("data")).unwrap();
        file.write_all_at(b"damaged", 9000).unwrap();
        assert!(!run(*program, &directory, &format!("--rw=read --verify_dump=1 {job}")).status.success());
        let saved = |kind: &str| fs::read(directory.join(format!("data.8192.{kind}"))).unwrap();
        assert_eq!(&saved("received")[808..815], b"damaged", "{program:?}");
        assert_eq!(saved("expected"), [0xab, 0xcd, 0xef, 1].repeat(1024), "{program:?}");
    }
}

/// What is done to a file's data.
type Damage = fn(&fs::File);

const DAMAGES: [(&str, Damage); 6] = [
    ("flipped bit", |file| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, 8999).unwrap();
        file.write_all_at(&[byte[0] ^ 4], 8999).unwrap();
    }),
    ("flipped bit of a header", |file| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, 8192 + 17).unwrap();
        file.write_all_at(&[byte[0] ^ 4], 8192 + 17).unwrap();
    }),
    ("swapped blocks", |file| {
        let (mut one, mut other) = ([0; 4096], [0; 4096]);
        file.read_exact_at(&mut one, 4096).unwrap();
        file.read_exact_at(&mut other, 8192).unwrap();
        file.write_all_at(&other, 4096).unwrap();
        file.write_all_at(&one, 8192).unwrap();
    }),
    ("zeroed block", |file| file.write_all_at(&[0; 4096], 12_288).unwrap()),
    ("foreign block", |file| file.write_all_at(&[b'x'; 4096], 0).unwrap()),
    ("truncated file", |file| file.set_len(40_000).unwrap()),
];

#[test]
fn damage_is_found_by_both_whoever_wrote_the_data() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    for (index, (what, damage)) in DAMAGES.iter().enumerate() {
        // Methods with a checksum, in turn.
        for method in ["crc32c", METHODS[index], METHODS[index + 6]] {
            for writer in [Program::Ours, Program::Theirs] {
                let directory = empty_directory(&place, "exchange");
                let job = verifying(method, "--rw=write --do_verify=0");
                assert!(run(writer, &directory, &job).status.success());
                damage(&fs::File::options().read(true).write(true).open(directory.join("data")).unwrap());
                let data = fs::read(directory.join("data")).unwrap();
                for reader in [Program::Ours, Program::Theirs] {
                    fs::write(directory.join("data"), &data).unwrap();
                    let read = run(reader, &directory, &verifying(method, "--rw=read"));
                    assert!(
                        !read.status.success(),
                        "{what}, {method}, written by {writer:?}, read by {reader:?}"
                    );
                }
            }
        }
    }
}

/// A job whose file's first block is replaced by an earlier one as soon as it has written that, and before it has written all.
pub(crate) fn made_stale(program: Program, directory: &Path, arguments: &str, earlier: &[u8]) -> Output {
    let common =
        "--name=x --thread --filename=data --size=64k --bs=4k --rw=write --verify=crc32c --rate_iops=20";
    let all = common.split_whitespace().chain(arguments.split_whitespace()).map(str::to_owned);
    let mut command = command_as_fio(program, directory, &all.collect::<Vec<_>>());
    let data = directory.join("data");
    // Who has it open for writing would keep iolite from it.
    let block = |number: usize| fs::read(&data).unwrap()[number * 4096..][..4096].to_vec();
    let last = block(15);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let signal = |name: &str, id: u32| {
        let sent = Command::new("kill").args([name, &id.to_string()]).status().unwrap();
        assert!(sent.success(), "kill {name}");
    };
    while block(0) == earlier && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    if child.try_wait().unwrap().is_some() {
        panic!("it ended: {}", stderr(&child.wait_with_output().unwrap()));
    }
    signal("-STOP", child.id());
    let in_time = block(0) != earlier && block(15) == last;
    fs::File::options().write(true).open(&data).unwrap().write_all_at(earlier, 0).unwrap();
    signal("-CONT", child.id());
    let output = child.wait_with_output().unwrap();
    assert!(in_time, "the job had written all before it was stopped: {}", stderr(&output));
    output
}

/// A block that an earlier run has written is right by itself: header, place and checksum. iolite's headers have a number of the run,
/// so that the job that has written finds it; fio's job finds it where the write's number is another. Who only reads finds it with
/// neither program.
#[test]
fn a_stale_block_is_found_by_the_job_that_wrote() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    for earlier in [Program::Ours, Program::Theirs] {
        for (program, loops, found) in [
            (Program::Ours, 1, true),
            (Program::Ours, 2, true),
            // Its writes had the same numbers.
            (Program::Theirs, 1, earlier == Program::Ours),
            (Program::Theirs, 2, true),
        ] {
            let what = format!("{loops} loops by {earlier:?}, then {program:?}");
            let directory = empty_directory(&place, "stale");
            let job = format!("--rw=write --verify=crc32c --do_verify=0 --loops={loops}");
            assert!(run(earlier, &directory, &job).status.success(), "{what}");
            let old = fs::read(directory.join("data")).unwrap()[..4096].to_vec();
            let output = made_stale(program, &directory, "", &old);
            assert_eq!(output.status.success(), !found, "{what}: {}", stderr(&output));
            for reader in [Program::Ours, Program::Theirs] {
                let read = run(reader, &directory, "--rw=read --verify=crc32c");
                assert!(read.status.success(), "{what}, read by {reader:?}: {}", stderr(&read));
            }
        }
    }
}

/// Writes of the same block differ by their numbers in fio's header.
#[test]
fn headers_number_the_writes() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "exchange");
    let written = |loops: u32| {
        let job = format!("--rw=write --verify=crc32c --do_verify=0 --loops={loops}");
        assert!(run(Program::Ours, &directory, &job).status.success());
        fs::read(directory.join("data")).unwrap()
    };
    assert_eq!((written(1)[34], written(2)[34]), (1, 17));
}

/// The headers of fio 3.42: version 0x81 behind the magic number, 48 bytes.
#[test]
fn headers_of_either_version_are_written_and_read() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "exchange");
    for method in ["crc32c", "sha512", "md5", "meta"] {
        let job = verifying(method, "--rw=write --verify_header_version=3.42");
        assert!(run(Program::Ours, &directory, &job).status.success(), "{method}");
        let data = fs::read(directory.join("data")).unwrap();
        assert_eq!(data[4096..4099], [0xca, 0xac, 0x81], "{method}");
        assert!(run(Program::Ours, &directory, &verifying(method, "--rw=read")).status.success(), "{method}");
        let file = fs::File::options().write(true).open(directory.join("data")).unwrap();
        file.write_all_at(b"damaged", 4096 + 20).unwrap();
        assert!(
            !run(Program::Ours, &directory, &verifying(method, "--rw=read")).status.success(),
            "{method}"
        );
    }
}

/// Data of another program is named as such.
#[test]
fn foreign_data_is_not_called_corrupt() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "exchange");
    fs::write(directory.join("data"), [b'x'; 65536]).unwrap();
    let read = run(Program::Ours, &directory, &verifying("crc32c", "--rw=read"));
    assert!(!read.status.success());
    let said = stderr(&read);
    assert!(said.contains("foreign: it does not begin with a header") && !said.contains("corrupt"), "{said}");
}

#[test]
fn verification_ends_with_the_first_wrong_block_where_that_is_fatal() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "exchange");
    let job = "--rw=write --verify=crc32c";
    assert!(run(Program::Ours, &directory, job).status.success());
    let file = fs::File::options().write(true).open(directory.join("data")).unwrap();
    [0, 8].into_iter().for_each(|block| file.write_all_at(b"damaged", block * 4096 + 999).unwrap());
    let reads = |fatal: &str| {
        let only = run(Program::Ours, &directory, &format!("{job} --verify_only=1 {fatal}"));
        assert!(!only.status.success());
        amounts(&only)[0]
    };
    assert_eq!(reads(""), 16);
    assert!(reads("--verify_fatal=1") < 16);
}
