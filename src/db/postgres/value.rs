//! Values on their way to the server and back. SQLite gives a value the type of the column; PostgreSQL announces the
//! type that it expects, and the engine sends a value in this type.

use std::borrow::Cow;
use std::error::Error as StdError;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::db::error::Error;
use crate::db::value::ValueRef;

type Failed = Box<dyn StdError + Sync + Send>;

/// A value on its way to the server.
#[derive(Debug)]
pub(super) struct Parameter<'a>(pub(super) ValueRef<'a>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, to: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match (self.0, to) {
            (ValueRef::Null, _) => Ok(IsNull::Yes),
            (ValueRef::Integer(number), &Type::INT8) => number.to_sql(to, out),
            (ValueRef::Integer(number), &Type::INT4) => i32::try_from(number)?.to_sql(to, out),
            (ValueRef::Integer(number), &Type::INT2) => i16::try_from(number)?.to_sql(to, out),
            (ValueRef::Integer(number), &Type::BOOL) => (number != 0).to_sql(to, out),
            (ValueRef::Integer(number), &Type::FLOAT8) => real(number).to_sql(to, out),
            // SQLite also compares a number with a text column as text.
            (ValueRef::Integer(number), &Type::TEXT) => number.to_string().to_sql(to, out),
            (ValueRef::Real(number), &Type::FLOAT8) => number.to_sql(to, out),
            (ValueRef::Text(text), &Type::TEXT | &Type::VARCHAR | &Type::BPCHAR | &Type::NAME | &Type::UNKNOWN) => {
                without_nul(text).to_sql(to, out)
            }
            (ValueRef::Blob(bytes), &Type::BYTEA) => bytes.to_sql(to, out),
            (value, _) => Err(format!("{} cannot be sent as {to}", value.kind()).into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Replaces NUL, which PostgreSQL's texts cannot contain. The rules refuse NUL in every text that is stored. Only a
/// text that a query compares can contain NUL, for example the text of `?department=%00`. With NUL, such a text would
/// match nothing. With U+FFFD, it matches only stored texts that contain U+FFFD.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Converts an integer as SQLite does when it stores the integer in a column of real numbers.
#[expect(clippy::cast_precision_loss, reason = "the column has this precision")]
fn real(number: i64) -> f64 {
    number as f64
}

/// Reads a column of a row.
pub(super) fn column(row: &Row, index: usize) -> Result<ValueRef<'_>, Error> {
    let cell: Result<Option<Cell<'_>>, _> = row.try_get(index);
    match cell {
        Ok(cell) => Ok(cell.map_or(ValueRef::Null, |cell| cell.0)),
        Err(_) => {
            let kind = row.columns().get(index).map_or("missing", |column| column.type_().name());
            Err(Error::Defect(format!("column {index} cannot be read: its type is {kind}")))
        }
    }
}

/// A value on its way back.
struct Cell<'a>(ValueRef<'a>);

impl<'a> FromSql<'a> for Cell<'a> {
    fn from_sql(from: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(Self(match *from {
            Type::INT8 => ValueRef::Integer(i64::from_sql(from, raw)?),
            Type::INT4 => ValueRef::Integer(i32::from_sql(from, raw)?.into()),
            Type::INT2 => ValueRef::Integer(i16::from_sql(from, raw)?.into()),
            Type::OID => ValueRef::Integer(u32::from_sql(from, raw)?.into()),
            Type::BOOL => ValueRef::Integer(bool::from_sql(from, raw)?.into()),
            Type::FLOAT8 => ValueRef::Real(f64::from_sql(from, raw)?),
            Type::NUMERIC => numeric(raw)?,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
                ValueRef::Text(<&str>::from_sql(from, raw)?)
            }
            Type::BYTEA => ValueRef::Blob(raw),
            Type::VOID => ValueRef::Null,
            _ => return Err("values of this type are not supported".into()),
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The sign of a negative number in the binary form of `numeric`. A larger sign means NaN or an infinity.
const NEGATIVE: u16 = 0x4000;

/// Reads a `numeric`, which is the type of a sum of integers and of an average. Its binary form has four 16-bit numbers
/// (count of digits, weight of the first digit, sign, scale) and then the digits in base 10,000.
fn numeric<'a>(raw: &[u8]) -> Result<ValueRef<'a>, Failed> {
    let mut words = raw.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let mut word = || words.next().ok_or("the number is too short");
    let (count, weight, sign, _scale) = (word()?, word()?.cast_signed(), word()?, word()?);
    if sign > NEGATIVE {
        return Err("the number is not finite".into());
    }
    let digits: Vec<u16> = (0..count).map(|_| word()).collect::<Result<_, _>>()?;
    let is_integer = i32::from(count) <= i32::from(weight) + 1;
    if is_integer {
        let places = usize::try_from(weight + 1).unwrap_or_default();
        let mut digits = digits.iter().copied().chain(std::iter::repeat(0)).take(places);
        let number = digits.try_fold(0_i128, |sum, digit| sum.checked_mul(10_000)?.checked_add(digit.into()));
        let number = number.ok_or("the number is too large")?;
        return Ok(ValueRef::Integer(i64::try_from(if sign == NEGATIVE { -number } else { number })?));
    }
    let value = |(index, digit): (usize, &u16)| {
        let power = i32::from(weight) - i32::try_from(index).unwrap_or(i32::MAX);
        f64::from(*digit) * 10_000_f64.powi(power)
    };
    let number: f64 = digits.iter().enumerate().map(value).sum();
    Ok(ValueRef::Real(if sign == NEGATIVE { -number } else { number }))
}
