//! The catalog and its rules: every refusal says what is wrong, nothing refused leaves a trace, nothing accepted is lost.

mod alter;
mod create;
mod databases;
mod directory;
mod durability;
mod fixture;
mod settings_page;
