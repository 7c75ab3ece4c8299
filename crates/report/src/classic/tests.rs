use iolite_model::{
    Access, BonniePhase, BonnieTerms, Bytes, ClassicStep, ClassicTerms, DdTerms, Mix, OpKind,
};
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

/// Recorded phases take a quarter of a second: less than what Bonnie++ regards as meaningful.
#[test]
fn phases_that_are_too_short_have_plus_signs_instead_of_rates_and_keep_their_latency() {
    let mut run = Run::new(crate::synthetic::run());
    for (index, phase) in [BonniePhase::PutBlock, BonniePhase::Seeks].into_iter().enumerate() {
        let kind = if phase == BonniePhase::Seeks { OpKind::Read } else { OpKind::Write };
        let task =
            crate::synthetic::file(&ClassicStep::Bonnie(phase).name(), Mix::Write, Access::Random, 8192, 1);
        run.phases.push(crate::synthetic::phase(index as u32, task, &[(kind, 4000.0, 2e5, 8192, 0)]));
    }
    let bonnie = BonnieTerms {
        size: Bytes(8 << 20),
        characters: Bytes(0),
        chunk: Bytes(8192),
        concurrency: 1,
        seeks: 8192,
        seekers: 3,
        files: 0,
    };
    let terms = ClassicTerms { bonnie: Some(bonnie), ..ClassicTerms::default() };
    let document = json(&run, &terms);
    let line = document["bonnie"]["csv"].as_str().unwrap();
    let fields: Vec<&str> = line.split(',').collect();
    // block output and seeks with their CPU use, by bon_csv2html(1); their latencies.
    assert_eq!((fields[11], fields[12], fields[19], fields[20]), ("+++++", "+++", "+++++", "+++"), "{line}");
    assert!(fields[39].ends_with("us") && fields[43].ends_with("us"), "{line}");
    let style = Style { color: false, unicode: true, width: 100 };
    let text = text(&run, &terms, style);
    assert!(text.contains("block output") && text.contains("+++++: less than half a second"), "{text}");
}
