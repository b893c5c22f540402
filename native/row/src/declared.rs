//! Options of CREATE TABLE that say something of columns: which function merges one, and which one the store numbers. A schema has a place for
//! both, and that is where the protocol looks for them.

use crate::{AggFunction, TableDescriptor};
use sluice_base::{Error, Result, Subject};
use std::collections::BTreeMap;

/// Options about one column begin with this.
pub const FIELDS: &str = "fields.";
/// Those that name its function end with this.
pub const FUNCTION_SUFFIX: &str = ".agg";
/// Those that name the columns which follow it as their version end with this.
pub const GROUP_SUFFIX: &str = ".sequence-group";
/// Names the columns that the store numbers.
pub const NUMBERED: &str = "auto-increment.fields";
const MERGE_ENGINE: &str = "table.merge-engine";

/// What begins the options that are a table's own.
const OWN: &str = "table.";

impl TableDescriptor {
    /// Puts every option into the map that it belongs to: `table.*` keys are a table's own, all others custom.
    pub fn sort_options(&mut self) {
        let all = std::mem::take(&mut self.custom_properties).into_iter().chain(std::mem::take(&mut self.properties));
        let (own, custom): (BTreeMap<_, _>, BTreeMap<_, _>) = all.partition(|(key, _)| key.starts_with(OWN));
        (self.properties, self.custom_properties) = (own, custom);
    }

    /// Moves what options say of columns into the schema. Whether it makes sense there is not looked at. Functions are moved for tables with
    /// the merge engine `aggregation` only.
    ///
    /// # Errors
    /// `Invalid` about `Option`, naming one that fits no column or contradicts the schema.
    pub fn declare_columns(&mut self) -> Result<()> {
        self.declare_numbered()?;
        let engine = self.properties.get(MERGE_ENGINE).or_else(|| self.custom_properties.get(MERGE_ENGINE));
        let engine = engine.map_or("", |v| v.trim());
        if engine.eq_ignore_ascii_case("aggregation") { self.declare_functions() } else { Ok(()) }
    }

    fn declare_numbered(&mut self) -> Result<()> {
        let Some(text) = self.custom_properties.remove(NUMBERED) else { return Ok(()) };
        let named: Vec<String> = text.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).collect();
        let there = &mut self.schema.auto_increment;
        if !there.is_empty() && *there != named {
            let message = format!("option '{NUMBERED}' = '{}': the schema says '{}'", named.join(","), there.join(","));
            return Err(Error::invalid(Subject::Option, message));
        }
        *there = named;
        Ok(())
    }

    fn declare_functions(&mut self) -> Result<()> {
        let options = self.custom_properties.iter();
        let mut named: BTreeMap<&str, &str> =
            options.filter_map(|(k, v)| Some((k.strip_prefix(FIELDS)?, v.as_str()))).collect();
        for column in &mut self.schema.columns {
            let Some(kind) = named.remove(format!("{}{FUNCTION_SUFFIX}", column.name).as_str()) else { continue };
            let prefix = format!("{}.{}.", column.name, kind.trim());
            let given: Vec<&str> = named.keys().copied().filter(|k| k.starts_with(&prefix)).collect();
            let mut parameters = BTreeMap::new();
            for key in given {
                let value = named.remove(key).unwrap_or_default();
                parameters.insert(key.get(prefix.len()..).unwrap_or_default().to_owned(), value.to_owned());
            }
            column.agg_function = Some(AggFunction { kind: kind.trim().to_owned(), parameters });
        }
        match named.keys().next() {
            None => Ok(()),
            Some(key) => Err(Error::invalid(
                Subject::Option,
                format!(
                    "option '{FIELDS}{key}' fits no column: write '{FIELDS}<column>{FUNCTION_SUFFIX}' = '<function>', and \
                     '{FIELDS}<column>.<function>.<parameter>' for a parameter of that function"
                ),
            )),
        }
    }
}
