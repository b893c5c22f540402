//! Placeholder until this room is written.
