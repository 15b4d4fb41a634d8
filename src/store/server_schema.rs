//! The tables of the store on a PostgreSQL server. Without the feature `postgres`, every function refuses the server.

#[cfg(not(feature = "postgres"))]
pub(super) use self::refused::{check, prepare, without_postgres};
#[cfg(feature = "postgres")]
pub(super) use self::supported::{check, prepare, prepare_target, refused, target};

#[cfg(not(feature = "postgres"))]
mod refused {
    use std::path::Path;

    use crate::db::OpenError;
    use crate::db::sqlite::file::Missing;

    pub(in crate::store) fn prepare(_: &Path, _: Missing) -> Result<(), OpenError> {
        Err(without_postgres())
    }

    pub(in crate::store) fn check(_: &Path) -> Result<(), OpenError> {
        Err(without_postgres())
    }

    pub(in crate::store) fn without_postgres() -> OpenError {
        let why = "this program was built without PostgreSQL; choose a file with --db".to_owned();
        OpenError::Server { why, may_pass: false }
    }
}

#[cfg(feature = "postgres")]
mod supported {
    use std::path::Path;

    use crate::db::OpenError;
    use crate::db::postgres::{self, Purpose, Target};
    use crate::db::sqlite::file::Missing;
    use crate::db::sqlite::schema::APPLICATION_ID;
    use crate::store::schema::CURRENT;

    /// Ensures that the schema exists and has this program's version. Refuses an older schema: only a service upgrades
    /// it, because an upgrade stops the servers of the older version.
    pub(in crate::store) fn prepare(url: &Path, missing: Missing) -> Result<(), OpenError> {
        let purpose = match missing {
            Missing::Create => Purpose::Create,
            Missing::Refuse => Purpose::Use,
        };
        prepare_target(&target(url)?, purpose)
    }

    /// Checks that a service could start, and changes nothing.
    pub(in crate::store) fn check(url: &Path) -> Result<(), OpenError> {
        prepare_target(&target(url)?, Purpose::Check)
    }

    pub(in crate::store) fn prepare_target(target: &Target, purpose: Purpose) -> Result<(), OpenError> {
        let schema = postgres::Schema { application_id: APPLICATION_ID, tables: &CURRENT };
        postgres::prepare(target, &schema, purpose).map_err(refused)
    }

    pub(in crate::store) fn target(url: &Path) -> Result<Target, OpenError> {
        Target::of(url).map_err(refused)
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers pass this function to `map_err`")]
    pub(in crate::store) fn refused(error: postgres::OpenError) -> OpenError {
        OpenError::Server { why: error.to_string(), may_pass: error.may_pass() }
    }
}
