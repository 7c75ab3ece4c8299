//! The kinds of conclusions that this crate has, by the names that they are stored under.

use crate::concluded::Conclusion;

crate::conclusions! {
    "checkpoint-cycles" => crate::checkpoint::CheckpointCycles,
    "classic-terms" => crate::classic::ClassicTerms,
    "configuration" => crate::configuration::Configuration,
    "durability" => crate::acknowledged::Findings,
    "durability-plan" => crate::acknowledged::Plan,
    "durability-totals" => crate::acknowledged::Totals,
    "generator" => crate::host_limit::GeneratorUse,
    "iometer-comparison" => crate::iometer::IometerComparison,
    "iometer-terms" => crate::iometer::IometerTerms,
    "latency-answer" => crate::latency::LatencyAnswer,
    "latency-terms" => crate::latency::LatencyTerms,
    "latency-try" => crate::latency::Try,
    "observed-database" => crate::observed_database::ObservedDatabase,
    "pts-purged" => crate::pts::PtsPurged,
    "pts-resumed" => crate::pts::PtsResumed,
    "pts-terms" => crate::pts::PtsTerms,
    "pts-write-cache" => crate::pts::PtsWriteCache,
    "stalls" => crate::stalls::StallsFound,
    "study-finding" => crate::study::StudyFinding,
    "study-setting" => crate::study::StudySetting,
    "table" => crate::result_table::ResultTable,
    "tproc-c-checked" => crate::tproc_c::TprocCChecked,
    "tproc-c-counted" => crate::tproc_c::TprocCCounted,
    "tproc-c-database" => crate::tproc_c::TprocCDatabase,
    "usage" => crate::record::Usage,
    "waits" => crate::waits::WaitsFound,
    "write-plan" => crate::write_plan::WritePlan,
}
