use iolite_model::{Bytes, ClassicTerms, DdTerms};
use iolite_results::Run;

use super::*;

#[test]
fn a_run_cut_short_before_its_first_phase_is_shown_all_the_same() {
    let run = Run::new(crate::synthetic::run());
    let dd = Some(DdTerms { size: Bytes::MIB, flush: Bytes::MIB, block: Bytes(8192) });
    let terms = ClassicTerms { dd, ..ClassicTerms::default() };
    let style = Style { color: false, unicode: true, width: 100 };
    let text = text(&run, &terms, style);
    assert!(text.contains("INTERRUPTED") && text.contains("dd, blocks of 8 KiB"), "{text}");
    assert_eq!(json(&run, &terms)["dd"], serde_json::json!([]));
}
