//! Nothing but a home for the test binaries beside it.
