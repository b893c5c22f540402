//! Aggregation functions by name: which there are, which parameters they take and which types they work on.

use sluice_base::{Error, Result, Subject};
use sluice_row::{AggFunction, DataType, TypeRoot};

/// What a column of an aggregation table does with each new value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is the SQL function's name")]
pub enum AggregateFunction {
    Sum,
    Product,
    Max,
    Min,
    LastValue,
    LastValueIgnoreNulls,
    FirstValue,
    FirstValueIgnoreNulls,
    Listagg {
        /// Stands between two texts.
        delimiter: String,
    },
    BoolAnd,
    BoolOr,
    /// Union of sets of 32-bit numbers.
    Rbm32,
    /// Union of sets of 64-bit numbers.
    Rbm64,
}

/// All names that a user may write.
pub const FUNCTION_NAMES: &[&str] = &[
    "sum",
    "product",
    "max",
    "min",
    "last_value",
    "last_value_ignore_nulls",
    "first_value",
    "first_value_ignore_nulls",
    "listagg",
    "string_agg",
    "bool_and",
    "bool_or",
    "rbm32",
    "rbm64",
];

/// Whether a function works on a type.
type TypeTest = fn(&TypeRoot) -> bool;

/// The parameter of `listagg`.
const DELIMITER: &str = "delimiter";

impl AggregateFunction {
    /// What a column without a function does.
    pub const DEFAULT: Self = Self::LastValueIgnoreNulls;

    /// The function that a column names, checked against the column's type.
    ///
    /// # Errors
    /// `Invalid` about `Option`, naming the column: an unknown function or parameter, an empty delimiter, or a type that the function does
    /// not work on.
    pub fn parse(column: &str, function: &AggFunction, data_type: &DataType) -> Result<Self> {
        let name = function.kind.trim().to_ascii_lowercase();
        let invalid = |why: String| Error::invalid(Subject::Option, why);
        let parsed = match name.as_str() {
            "sum" => Self::Sum,
            "product" => Self::Product,
            "max" => Self::Max,
            "min" => Self::Min,
            "last_value" => Self::LastValue,
            "last_value_ignore_nulls" => Self::LastValueIgnoreNulls,
            "first_value" => Self::FirstValue,
            "first_value_ignore_nulls" => Self::FirstValueIgnoreNulls,
            "listagg" | "string_agg" => {
                let delimiter = function.parameters.get(DELIMITER).map_or(",", String::as_str);
                if delimiter.is_empty() {
                    let message = format!("parameter 'delimiter' of column '{column}' must be a non-empty string");
                    return Err(invalid(message));
                }
                Self::Listagg { delimiter: delimiter.to_owned() }
            }
            "bool_and" => Self::BoolAnd,
            "bool_or" => Self::BoolOr,
            "rbm32" => Self::Rbm32,
            "rbm64" => Self::Rbm64,
            _ => {
                return Err(invalid(format!(
                    "Unknown aggregation function for column '{column}': '{}' is none of {}",
                    function.kind,
                    FUNCTION_NAMES.join(", ")
                )));
            }
        };
        let takes_delimiter = matches!(parsed, Self::Listagg { .. });
        if let Some(parameter) = function.parameters.keys().find(|p| !takes_delimiter || p.as_str() != DELIMITER) {
            let message = format!(
                "parameter '{parameter}' of column '{column}' is not supported for aggregation function '{name}'"
            );
            return Err(invalid(message));
        }
        match parsed.types() {
            Some((types, accepts)) if !accepts(&data_type.root) => Err(invalid(format!(
                "Data type for {name} column must be part of {types}, but column '{column}' is {data_type}"
            ))),
            _ => Ok(parsed),
        }
    }

    /// The types it works on, for people and as a test; `None` = all.
    fn types(&self) -> Option<(&'static str, TypeTest)> {
        match self {
            Self::Sum | Self::Product => Some(("TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL", is_number)),
            Self::Max | Self::Min => Some((
                "CHAR, STRING, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ",
                |t| is_number(t) || is_text(t) || is_time(t),
            )),
            Self::Listagg { .. } => Some(("CHAR, STRING", is_text)),
            Self::BoolAnd | Self::BoolOr => Some(("BOOLEAN", |t| *t == TypeRoot::Boolean)),
            Self::Rbm32 | Self::Rbm64 => Some(("BYTES", |t| *t == TypeRoot::Bytes)),
            Self::LastValue | Self::LastValueIgnoreNulls | Self::FirstValue | Self::FirstValueIgnoreNulls => None,
        }
    }

    /// Whether what a row brought in can be taken back out.
    #[must_use]
    pub const fn retracts(&self) -> bool {
        matches!(self, Self::Sum | Self::Product)
    }

    /// Whether a merged value may be longer than both that it comes of.
    #[must_use]
    pub const fn grows(&self) -> bool {
        matches!(self, Self::Listagg { .. } | Self::Rbm32 | Self::Rbm64)
    }

    /// The name that a user writes.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Max => "max",
            Self::Min => "min",
            Self::LastValue => "last_value",
            Self::LastValueIgnoreNulls => "last_value_ignore_nulls",
            Self::FirstValue => "first_value",
            Self::FirstValueIgnoreNulls => "first_value_ignore_nulls",
            Self::Listagg { .. } => "listagg",
            Self::BoolAnd => "bool_and",
            Self::BoolOr => "bool_or",
            Self::Rbm32 => "rbm32",
            Self::Rbm64 => "rbm64",
        }
    }
}

const fn is_number(root: &TypeRoot) -> bool {
    matches!(
        root,
        TypeRoot::TinyInt
            | TypeRoot::SmallInt
            | TypeRoot::Int
            | TypeRoot::BigInt
            | TypeRoot::Float
            | TypeRoot::Double
            | TypeRoot::Decimal { .. }
    )
}

const fn is_text(root: &TypeRoot) -> bool {
    matches!(root, TypeRoot::Char(_) | TypeRoot::String)
}

const fn is_time(root: &TypeRoot) -> bool {
    matches!(root, TypeRoot::Date | TypeRoot::Time { .. } | TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn parse(name: &str, parameters: &[(&str, &str)], root: TypeRoot) -> Result<AggregateFunction> {
        let parameters: BTreeMap<_, _> = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let function = AggFunction { kind: name.to_owned(), parameters };
        AggregateFunction::parse("c", &function, &DataType::new(root))
    }

    #[test]
    fn every_name_is_known_and_says_its_own() {
        for name in FUNCTION_NAMES {
            let root = match *name {
                "bool_and" | "bool_or" => TypeRoot::Boolean,
                "rbm32" | "rbm64" => TypeRoot::Bytes,
                "listagg" | "string_agg" => TypeRoot::String,
                _ => TypeRoot::Int,
            };
            let due = if *name == "string_agg" { "listagg" } else { *name };
            assert_eq!(parse(&name.to_uppercase(), &[], root).unwrap().name(), due);
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (name, parameters, root, part) in [
            ("avg", &[][..], TypeRoot::Int, "Unknown aggregation function for column 'c'"),
            ("", &[], TypeRoot::Int, "Unknown aggregation function for column 'c'"),
            (
                "sum",
                &[("delimiter", ";")],
                TypeRoot::Int,
                "'delimiter' of column 'c' is not supported for aggregation function 'sum'",
            ),
            ("listagg", &[("separator", ";")], TypeRoot::String, "'separator' of column 'c' is not supported"),
            ("listagg", &[("delimiter", "")], TypeRoot::String, "must be a non-empty string"),
            ("sum", &[], TypeRoot::String, "Data type for sum column must be part of TINYINT"),
            ("max", &[], TypeRoot::Boolean, "Data type for max column must be part of CHAR"),
            ("min", &[], TypeRoot::Bytes, "Data type for min column must be part of CHAR"),
            ("listagg", &[], TypeRoot::Int, "Data type for listagg column must be part of CHAR, STRING"),
            ("bool_or", &[], TypeRoot::Int, "Data type for bool_or column must be part of BOOLEAN"),
            ("rbm64", &[], TypeRoot::Binary(4), "Data type for rbm64 column must be part of BYTES"),
        ] {
            let error = parse(name, parameters, root).unwrap_err();
            assert_eq!(error.subject(), Subject::Option);
            assert!(error.message().contains(part), "{error}");
        }
    }

    #[test]
    fn listagg_joins_with_a_comma_unless_told_otherwise() {
        let delimiter = |parameters: &[(&str, &str)]| parse("string_agg", parameters, TypeRoot::String).unwrap();
        assert_eq!(delimiter(&[]), AggregateFunction::Listagg { delimiter: ",".to_owned() });
        assert_eq!(delimiter(&[("delimiter", " | ")]), AggregateFunction::Listagg { delimiter: " | ".to_owned() });
    }
}
