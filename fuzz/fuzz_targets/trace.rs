#![no_main]

use std::io::{self, BufRead, Cursor};
use std::path::Path;

use iolite_fio::language::{HostContext, Invocation, job_file, plan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let trace = data.to_vec();
    let open =
        move |_: &Path| -> io::Result<Box<dyn BufRead>> { Ok(Box::new(Cursor::new(trace.clone()))) };
    let context = HostContext {
        variable: &|_| None,
        page_size: 4096,
        memory_mib: 1024,
        cpus: 4,
        open_trace: &open,
        read_file: &|_: &Path| Err(io::ErrorKind::NotFound.into()),
    };
    let text = b"[a]\nread_iolog=t\nioengine=psync\n";
    let job = job_file::read("job.fio", text, &context).expect("a job that replays");
    if let Err(problems) = plan(&Invocation::default(), &[job], &context) {
        assert!(!problems.0.is_empty());
    }
});
