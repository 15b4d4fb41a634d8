//! Creates the database, the organization and the admin, if they do not exist.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::geteuid;
use serde_json::json;

use super::answers::Answers;
use crate::cli::base_url_arg::join_url;
use crate::cli::bootstrap_admin::ensure_admin;
use crate::cli::failure::Failure;
use crate::cli::output::{act_and_print, print_message};
use crate::domain::sign_in_link::LinkPurpose;
use crate::domain::user::{OrgRole, PlatformRole};
use crate::store::file::{self, Missing, Older, parent};
use crate::store::membership::OrgMember;
use crate::store::organization::OrganizationRecord;
use crate::store::{self, Error, OpenError, Tx};
use crate::world::World;

/// Returns whether a database has an organization and an admin who may sign in. An older database, which the next start
/// of the service upgrades, counts as set up.
pub(super) fn is_set_up(db: &Path, world: &dyn World) -> Result<bool, Failure> {
    if !db.exists() {
        return Ok(false);
    }
    match file::prepare_to_read(db) {
        Err(OpenError::Older { .. }) => return Ok(true),
        prepared => prepared?,
    }
    let is_set_up = store::read_alone(db, world, |tx| {
        let users = store::user::all(tx)?;
        let is_admin =
            |user: &store::user::User| user.profile.enabled && user.profile.platform_role == PlatformRole::Admin;
        Ok::<_, Error>(store::organization::any(tx)? && users.iter().any(is_admin))
    })?;
    Ok(is_set_up)
}

/// # Errors
/// Fails if the directory of the database does not exist.
pub(super) fn require_directory(db: &Path) -> Result<(), Failure> {
    let directory = parent(db);
    if directory.is_dir() {
        return Ok(());
    }
    let shown = directory.display();
    Err(Failure::new(format!(
        "the directory {shown} does not exist; create it for the user of the service, for example with: install -d -o \
         appliance -g appliance -m 0700 {shown}"
    )))
}

/// Changes the database in one transaction. Prints the address of the portal, if the portal is on, and a sign-in link.
///
/// # Errors
/// Fails if the database cannot be used, or if the output cannot be printed. In these cases, neither the organization
/// nor the admin is created, unless the failure reports that the outcome is unknown. Also fails if the owner of the
/// database cannot be changed.
pub(super) fn install(answers: &Answers, world: &dyn World) -> Result<(), Failure> {
    let db = answers.db.as_path();
    file::prepare(db, Missing::Create, Older::Refuse)?;
    let mut is_new = true;
    let done = act_and_print(db, world, |tx| {
        let (record, is_created) = ensure_organization(tx, world, answers)?;
        is_new = is_created;
        let organization = record.id;
        let admin = ensure_admin(tx, world, &answers.email, Some(&answers.name))?;
        let member = OrgMember { user_id: admin.clone(), org_role: OrgRole::Owner };
        store::membership::put(tx, &store::activity::stamp(world), None, &organization, &member)?;
        let facts = json!({ "organizationId": organization.as_str(), "userId": admin.as_str() });
        store::activity::platform::record_command(tx, world, "init", &facts)?;
        let token = store::sign_in_link::create(tx, world, &admin, LinkPurpose::Invitation, None)?;
        let portal = format!("portal: {}/careers/{}\n", answers.base_url, answers.slug.as_str());
        let portal = if record.portal_enabled { portal } else { String::new() };
        Ok(format!("{portal}sign-in: {}", join_url(&answers.base_url, &token)))
    });
    give_to_service(db)?;
    done?;
    if !is_new {
        print_message(&format!(
            "an organization with the slug {} existed already; it was not changed",
            answers.slug.as_str()
        ));
    }
    Ok(())
}

/// Returns the organization with the slug, and whether it was created.
fn ensure_organization(tx: &Tx<'_>, world: &dyn World, answers: &Answers) -> Result<(OrganizationRecord, bool), Error> {
    if let Some(found) = store::organization::find_by_slug(tx, &answers.slug)? {
        return Ok((found.record, false));
    }
    let new = OrganizationRecord::new(world.id(), answers.slug.clone(), answers.organization.clone());
    let organization = OrganizationRecord { portal_enabled: answers.has_portal, ..new };
    store::organization::create(tx, &store::activity::stamp(world), None, &organization)?;
    Ok((organization, true))
}

/// As root, gives each file that root owns and whose name begins with the name of the database to the owner and the
/// group of the directory. The service runs as the owner of the directory.
fn give_to_service(db: &Path) -> Result<(), Failure> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let directory = parent(db);
    let begin = db.file_name().unwrap_or_default().as_encoded_bytes();
    let give = || -> std::io::Result<()> {
        let owner = fs::metadata(directory)?;
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if !entry.file_type()?.is_file() || !entry.file_name().as_encoded_bytes().starts_with(begin) {
                continue;
            }
            // The user of the service can replace files in this directory at any time, so the checks use the open file.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = fs::File::from(open(entry.path(), flags, Mode::empty())?);
            let metadata = file.metadata()?;
            // A file with several hard links can also be in another directory.
            if metadata.is_file() && metadata.uid() == 0 && metadata.nlink() == 1 {
                fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
            }
        }
        Ok(())
    };
    give().map_err(|error| Failure::new(format!("the owner of {} cannot be changed: {error}", db.display())))
}
