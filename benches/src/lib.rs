//! Nothing but a home for the benchmarks beside it.
