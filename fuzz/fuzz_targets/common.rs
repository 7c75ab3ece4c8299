//! What both targets do with what they have read.

use std::io;
use std::path::Path;

use iolite_fio::language::{Document, Invocation, HostContext, plan};

/// Includes by some names exist, and by one they go round in a circle; some variables are set.
pub fn context() -> HostContext<'static> {
    HostContext {
        variable: &|name| match name.len() % 3 {
            0 => Some("bs=$ncpus*4k".into()),
            1 => Some("x".repeat(10_000)),
            _ => None,
        },
        page_size: 4096,
        memory_mib: 1024,
        cpus: 4,
        open_trace: &|path: &Path| {
            let lines = ["fio version 3 iolog", "1 /f add", "1 /f read 4096 4096", "2 /f", "-"];
            let text = lines[..path.as_os_str().len() % 6].join("\n");
            Ok(Box::new(io::Cursor::new(text)))
        },
        read_file: &|path: &Path| match path.as_os_str().len() % 4 {
            0 => Ok(b"include ab\ninclude abc\n".to_vec()),
            1 => Ok(b"bs=4k\ninclude abc\n".to_vec()),
            2 => Ok(b"rw=${X}\niodepth=(2*4)".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        },
    }
}

/// Plans the jobs; every problem has a place.
pub fn planned(invocation: &Invocation, documents: &[Document]) {
    if let Err(problems) = plan(invocation, documents, &context()) {
        assert!(!problems.0.is_empty());
        for problem in &problems.0 {
            assert!(problem.origin.line > 0 && problem.origin.column > 0 && !problem.cause.to_string().is_empty());
        }
    }
}
