//! The parameters of a statement: an array of values of one type, a tuple of values of several types, or a list whose
//! length is known only at run time.

use super::error::Error;
use super::value::{Param, ValueRef};

/// Receives the parameters of a statement in their order.
pub(crate) trait Binder<'a> {
    fn bind(&mut self, value: ValueRef<'a>) -> Result<(), Error>;
}

/// The parameters of one statement.
pub(crate) trait Params {
    /// Passes the parameters to an engine, which may borrow them until the statement has run.
    fn bind<'a>(&'a self, binder: &mut impl Binder<'a>) -> Result<(), Error>;
}

// No parameters, written `[]`. Another implementation for an array without elements would make `[]` ambiguous.
impl Params for [&'static str; 0] {
    fn bind<'a>(&'a self, _: &mut impl Binder<'a>) -> Result<(), Error> {
        Ok(())
    }
}

impl<T: Param> Params for Vec<T> {
    fn bind<'a>(&'a self, binder: &mut impl Binder<'a>) -> Result<(), Error> {
        self.iter().try_for_each(|param| binder.bind(param.to_value()))
    }
}

/// Implements [`Params`] for arrays of these lengths.
macro_rules! arrays {
    ($($length:literal)*) => {$(
        impl<T: Param> Params for [T; $length] {
            fn bind<'a>(&'a self, binder: &mut impl Binder<'a>) -> Result<(), Error> {
                self.iter().try_for_each(|param| binder.bind(param.to_value()))
            }
        }
    )*};
}
arrays!(1 2 3 4 5 6 7 8);

/// Implements [`Params`] for a tuple of these types.
macro_rules! tuple {
    ($($param:ident)*) => {
        impl<$($param: Param),*> Params for ($($param,)*) {
            #[expect(non_snake_case, reason = "a macro can name the variables only after the types")]
            fn bind<'a>(&'a self, binder: &mut impl Binder<'a>) -> Result<(), Error> {
                let ($($param,)*) = self;
                $(binder.bind($param.to_value())?;)*
                Ok(())
            }
        }
    };
}

/// Implements [`Params`] for a tuple of these types and for all shorter ones. No statement of the store has more than
/// 16 parameters of different types.
macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        tuple!($first $($rest)*);
        tuples!($($rest)*);
    };
    () => {};
}
tuples!(A B C D E F G H I J K L M N O P);
