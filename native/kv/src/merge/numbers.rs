//! `sum` and `product`. Whole numbers wrap around, as Java's do; a DECIMAL keeps its precision and scale and refuses a result that does not
//! fit.

use super::Step;
use super::fold::{misfit, walk};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use sluice_base::{Error, Result, Subject};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Sum,
    Product,
}

/// Adds.
pub(super) fn sum(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    fold(steps, incoming, old, Operation::Sum)
}

/// Multiplies.
pub(super) fn product(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    fold(steps, incoming, old, Operation::Product)
}

fn fold(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef, operation: Operation) -> Result<ArrayRef> {
    use DataType as A;
    let columns = Columns { steps, incoming, old };
    match incoming.data_type() {
        A::Int8 => columns.plain::<i8>(operation),
        A::Int16 => columns.plain::<i16>(operation),
        A::Int32 => columns.plain::<i32>(operation),
        A::Int64 => columns.plain::<i64>(operation),
        A::Float32 => columns.plain::<f32>(operation),
        A::Float64 => columns.plain::<f64>(operation),
        A::Decimal128(precision, scale) => {
            let decimal = Decimal { precision: *precision, scale: u32::try_from(*scale).unwrap_or(0) };
            columns.fold(|a, b| decimal.merge(operation, a, b), |a, b| decimal.retract(operation, a, b))
        }
        _ => Err(misfit(incoming, "sum or product")),
    }
}

struct Columns<'a> {
    steps: &'a [Step],
    incoming: &'a ArrayRef,
    old: &'a ArrayRef,
}

impl Columns<'_> {
    fn plain<T: Number>(&self, operation: Operation) -> Result<ArrayRef> {
        match operation {
            Operation::Sum => self.fold(|a: T, b| Ok(a.add(b)), |a, b| Ok(a.subtract(b))),
            Operation::Product => {
                self.fold(|a: T, b| Ok(a.multiply(b)), |a, b| a.divide(b).ok_or_else(|| not_a_factor(&a, &b)))
            }
        }
    }

    fn fold<T: ArrowNativeType>(
        &self,
        merge: impl FnMut(T, T) -> Result<T>,
        retract: impl FnMut(T, T) -> Result<T>,
    ) -> Result<ArrayRef> {
        let (new, before) = (self.incoming.to_data(), self.old.to_data());
        let values = walk(self.steps, reader::<T>(&new), reader::<T>(&before), merge, retract)?;
        let valid: NullBuffer = values.iter().map(Option::is_some).collect::<Vec<_>>().into();
        let numbers: Vec<T> = values.into_iter().map(Option::unwrap_or_default).collect();
        let data = ArrayData::builder(self.incoming.data_type().clone())
            .len(numbers.len())
            .add_buffer(Buffer::from_vec(numbers))
            .nulls(Some(valid));
        Ok(make_array(data.build().map_err(|e| Error::internal(format!("folded numbers: {e}")))?))
    }
}

fn reader<T: ArrowNativeType>(data: &ArrayData) -> impl Fn(usize) -> Option<T> + '_ {
    let (values, nulls) = (data.buffer::<T>(0), data.nulls());
    move |at| if nulls.is_some_and(|n| at < n.len() && n.is_null(at)) { None } else { values.get(at).copied() }
}

fn not_a_factor(state: &dyn std::fmt::Display, value: &dyn std::fmt::Display) -> Error {
    Error::invalid(
        Subject::Row,
        format!("{value} cannot be taken back out of the product {state}: it is no factor of it"),
    )
}

/// Numbers that Java adds without a check.
trait Number: ArrowNativeType + std::fmt::Display {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    /// `None` when `other` is no factor.
    fn divide(self, other: Self) -> Option<Self>;
}

macro_rules! whole {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn divide(self, other: Self) -> Option<Self> {
                (other != 0 && self.wrapping_rem(other) == 0).then(|| self.wrapping_div(other))
            }
        }
    )*};
}

macro_rules! broken {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            fn divide(self, other: Self) -> Option<Self> {
                (other != 0.0).then(|| self / other)
            }
        }
    )*};
}

whole!(i8, i16, i32, i64);
broken!(f32, f64);

/// Arithmetic on unscaled numbers of one type.
#[derive(Clone, Copy)]
struct Decimal {
    precision: u8,
    scale: u32,
}

impl Decimal {
    fn merge(self, operation: Operation, a: i128, b: i128) -> Result<i128> {
        match operation {
            Operation::Sum => self.fit(a.checked_add(b).map(i256::from_i128), "sum"),
            Operation::Product => {
                let exact = i256::from_i128(a).wrapping_mul(i256::from_i128(b));
                self.fit(half_up(exact, self.one()), "product")
            }
        }
    }

    fn retract(self, operation: Operation, a: i128, b: i128) -> Result<i128> {
        match operation {
            Operation::Sum => self.fit(a.checked_sub(b).map(i256::from_i128), "sum"),
            Operation::Product if b == 0 => Err(not_a_factor(&a, &b)),
            Operation::Product => {
                let exact = i256::from_i128(a).wrapping_mul(self.one());
                self.fit(half_up(exact, i256::from_i128(b)), "product")
            }
        }
    }

    /// The unscaled form of 1.
    fn one(self) -> i256 {
        i256::from_i128(10_i128.pow(self.scale.min(38)))
    }

    fn fit(self, value: Option<i256>, what: &str) -> Result<i128> {
        let beyond = 10_i128.pow(u32::from(self.precision.min(38)));
        match value.and_then(i256::to_i128).filter(|v| -beyond < *v && *v < beyond) {
            Some(value) => Ok(value),
            None => Err(Error::invalid(
                Subject::Row,
                format!("the {what} has more digits than DECIMAL({}, {})", self.precision, self.scale),
            )),
        }
    }
}

/// The quotient, rounded to the nearest whole number, halves away from zero.
fn half_up(dividend: i256, divisor: i256) -> Option<i256> {
    let (quotient, rest) = (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?);
    let magnitude = |n: i256| if n < i256::ZERO { n.wrapping_neg() } else { n };
    let twice = magnitude(rest).wrapping_add(magnitude(rest));
    if twice < magnitude(divisor) {
        return Some(quotient);
    }
    let negative = (dividend < i256::ZERO) != (divisor < i256::ZERO);
    Some(if negative { quotient.wrapping_sub(i256::ONE) } else { quotient.wrapping_add(i256::ONE) })
}

#[cfg(test)]
mod tests {
    use super::super::Effect;
    use super::super::fold::tests::merges;
    use super::*;
    use arrow_array::{Decimal128Array, Float32Array, Int8Array, Int64Array};
    use std::sync::Arc;

    fn retracting(priors: &[i32]) -> Vec<Step> {
        let mut steps = merges(priors);
        steps.iter_mut().for_each(|s| s.effect = Effect::Retract);
        steps
    }

    fn decimals(values: &[i128]) -> ArrayRef {
        Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(5, 2).unwrap())
    }

    fn longs(values: &[i64]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    #[test]
    fn whole_numbers_wrap_around() {
        let (new, old): (ArrayRef, ArrayRef) =
            (Arc::new(Int8Array::from(vec![100, 100])), Arc::new(Int8Array::from(vec![100])));
        assert_eq!(sum(&merges(&[0, 100]), &new, &old).unwrap().to_data().buffer::<i8>(0), [-56, 44]);
        assert_eq!(product(&merges(&[0, 100]), &new, &old).unwrap().to_data().buffer::<i8>(0), [16, 64]);
        let most = longs(&[i64::MAX]);
        assert_eq!(sum(&merges(&[0]), &longs(&[1]), &most).unwrap().to_data().buffer::<i64>(0), [i64::MIN]);
        // What wrapped around can still be taken back.
        let back = sum(&retracting(&[0]), &longs(&[1]), &longs(&[i64::MIN])).unwrap();
        assert_eq!(back.to_data().buffer::<i64>(0), [i64::MAX]);
    }

    #[test]
    fn decimals_keep_their_type_and_refuse_what_does_not_fit() {
        let out = sum(&merges(&[0]), &decimals(&[1]), &decimals(&[99_998])).unwrap();
        assert_eq!((out.data_type(), out.to_data().buffer::<i128>(0)), (&DataType::Decimal128(5, 2), &[99_999][..]));
        for values in [[1_i128, 99_999], [-99_999, -1]] {
            let error = sum(&merges(&[0]), &decimals(&values[..1]), &decimals(&values[1..])).unwrap_err();
            assert!(error.message().contains("more digits than DECIMAL(5, 2)"), "{error}");
        }
        // 1.25 * 0.10 = 0.125, 1.25 * -0.10 = -0.125, rounded away from zero.
        let out = product(&merges(&[0, 0]), &decimals(&[10, -10]), &decimals(&[125])).unwrap();
        assert_eq!(out.to_data().buffer::<i128>(0), [13, -13]);
        assert!(product(&merges(&[0]), &decimals(&[99_999]), &decimals(&[99_999])).is_err());
        let wide =
            |v: i128| -> ArrayRef { Arc::new(Decimal128Array::from(vec![v]).with_precision_and_scale(38, 0).unwrap()) };
        let most = 10_i128.pow(38) - 1;
        assert!(sum(&merges(&[0]), &wide(most), &wide(most)).is_err());
        assert!(product(&merges(&[0]), &wide(most), &wide(most)).is_err());
    }

    #[test]
    fn what_was_merged_is_taken_back() {
        let back = sum(&retracting(&[0, 100]), &longs(&[30, 20]), &longs(&[50])).unwrap();
        assert_eq!(back.to_data().buffer::<i64>(0), [20, 0]);
        let back = product(&retracting(&[0]), &longs(&[5]), &longs(&[-35])).unwrap();
        assert_eq!(back.to_data().buffer::<i64>(0), [-7]);
        let back = product(&retracting(&[0]), &decimals(&[250]), &decimals(&[500])).unwrap();
        assert_eq!(back.to_data().buffer::<i128>(0), [200]);
        let floats = |v: f32| -> ArrayRef { Arc::new(Float32Array::from(vec![v])) };
        let back = product(&retracting(&[0]), &floats(4.0), &floats(2.0)).unwrap();
        assert_eq!(back.to_data().buffer::<f32>(0), [0.5]);
    }

    #[test]
    fn what_is_no_factor_cannot_be_taken_back() {
        for (state, value) in [(0, 0), (7, 0), (7, 2)] {
            let error = product(&retracting(&[0]), &longs(&[value]), &longs(&[state])).unwrap_err();
            assert!(error.message().contains("no factor"), "{error}");
        }
        assert!(product(&retracting(&[0]), &decimals(&[0]), &decimals(&[500])).is_err());
        // Nothing was brought in, so nothing is taken out.
        let nothing: ArrayRef = Arc::new(Int64Array::from(vec![None]));
        assert_eq!(sum(&retracting(&[0]), &longs(&[3]), &nothing).unwrap().null_count(), 1);
    }
}
