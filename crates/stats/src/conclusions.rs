//! The kinds of conclusions that this crate has, by the names that they are stored under.

use iolite_model::Conclusion;

iolite_model::conclusions! {
    "changes" => crate::change::PhaseChanges,
    "detail" => crate::detail::Detail,
    "knee" => crate::knee::KneeFound,
    "preconditioned" => crate::preconditioned::Preconditioned,
    "rate-bounds" => crate::rate_bounds::RateBounds,
    "sweep" => crate::repeat::SweepConcluded,
    "tproc-c-rates" => crate::tproc_c_rates::TprocCRates,
    "whole-cycles" => crate::whole_cycles::WholeCycles,
}
