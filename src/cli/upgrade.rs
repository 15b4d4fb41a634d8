//! `appliance upgrade`: upgrades a file from an older version while no service uses it, or prints the effects of the
//! upgrade.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::BoolishValueParser;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::list::print_rows;
use super::output::print_message;
use super::progress::{Progress, duration};
use crate::store::file::{self, Lock, Missing, Older, UpgradePlan};
use crate::world::World;

/// Upgrade a file from an older version of this program.
///
/// `serve` upgrades the file too, when it starts. This command does so while no service runs: it copies the file to
/// FILE.before-version-N, checks the copy, and upgrades the file in one transaction. If the upgrade fails or is killed,
/// the file is unchanged.
///
/// With --check, the command changes nothing and works while a service of the older version runs. It prints the format
/// versions, the upgrades, the tables, indexes and triggers that change, the size of the file, the estimated time of
/// the upgrade, the free space that the upgrade needs, and the free space now. It rehearses the upgrade on the tables
/// without their rows. The exit status is 0 if the check finds no obstacle, or if the file needs no upgrade. It is 1 if
/// the file is from a newer version or cannot be used, if the rehearsal fails, or if the disk of the file has too
/// little free space.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The file to upgrade, instead of --db.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print the effects of the upgrade, and change nothing.
    #[arg(long, env = "APPLIANCE_CHECK", value_parser = BoolishValueParser::new())]
    check: bool,
}

/// # Errors
/// Fails if the file is from a newer version or cannot be used, if the upgrade or its rehearsal fails, or if the disk
/// of the file has too little free space. With `--check`, also fails if standard output cannot be written to. Without
/// `--check`, also fails if a service or another command holds the lock of the file. After a failure, the file is
/// unchanged.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.file.as_deref().unwrap_or(&args.db.db);
    let Some(plan) = file::plan_upgrade(path)? else {
        print_message(&format!(
            "{} already has the format version of this program; there is nothing to upgrade",
            path.display()
        ));
        return Ok(());
    };
    if args.check {
        print_rows(&["ITEM", "VALUE"], &rows(&plan, world, path))?;
        return require_space(&plan, world, path);
    }
    require_space(&plan, world, path)?;
    let _lock = Lock::take(path)?;
    let progress = Progress::of_transfer("upgrading", plan.space_bytes.saturating_mul(2));
    let upgraded = file::prepare(path, Missing::Refuse, Older::Upgrade);
    drop(progress);
    upgraded?;
    let copy = file::beside(path, &format!(".before-version-{}", plan.version));
    print_message(&format!(
        "{} was upgraded from version {} to {}; a copy of the old file is {}, with a number after this name if the \
         name was already taken",
        path.display(),
        plan.found,
        plan.version,
        copy.display()
    ));
    Ok(())
}

fn rows(plan: &UpgradePlan, world: &dyn World, path: &Path) -> Vec<Vec<String>> {
    let row = |item: &str, value: String| vec![item.to_owned(), value];
    let mut rows = vec![row("format version", format!("{} to {}", plan.found, plan.version))];
    rows.extend(plan.upgrades.iter().map(|name| row("upgrade", (*name).to_owned())));
    rows.extend(
        plan.changes.iter().map(|change| row(&change.kind, format!("{} {}", change.name, change.effect.word()))),
    );
    rows.push(row("size", megabytes(plan.file_bytes)));
    rows.push(row("time", format!("about {}, estimated from the space needed", shown(plan.time))));
    rows.push(row("free space needed", megabytes(plan.space_bytes)));
    rows.push(row("free space", free_bytes(world, path).map_or_else(|| "unknown".to_owned(), megabytes)));
    rows
}

fn require_space(plan: &UpgradePlan, world: &dyn World, path: &Path) -> Result<(), Failure> {
    match free_bytes(world, path) {
        Some(free) if free < plan.space_bytes => Err(Failure::new(format!(
            "the disk of {} has {} free, but the upgrade needs {}; free some space first",
            path.display(),
            megabytes(free),
            megabytes(plan.space_bytes)
        ))),
        _ => Ok(()),
    }
}

fn free_bytes(world: &dyn World, path: &Path) -> Option<u64> {
    let path = file::resolve(path);
    world.disk(path.parent()?).map(|disk| disk.free_bytes)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn shown(time: Duration) -> String {
    duration(time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::disk::DiskSpace;
    use crate::domain::timestamp::Timestamp;
    use crate::store::file::{Effect, SchemaChange};
    use crate::world::Scripted;

    fn plan() -> UpgradePlan {
        let change = SchemaChange { kind: "table".to_owned(), name: "roles".to_owned(), effect: Effect::Rebuilt };
        let (upgrades, changes) = (vec!["closing dates"], vec![change]);
        let (file_bytes, space_bytes, time) = (480_000_000, 1_440_000_000, Duration::from_secs(73));
        UpgradePlan { found: 1, version: 2, upgrades, changes, file_bytes, space_bytes, time }
    }

    #[test]
    fn the_rows_name_versions_upgrades_tables_time_and_space() {
        let world = Scripted::at(Timestamp::from_micros(0));
        world.set_disk(Some(DiskSpace { free_bytes: 2_000_000_000, total_bytes: 9_000_000_000 }));
        let rows: Vec<String> = rows(&plan(), &world, Path::new("a.db")).iter().map(|row| row.join(": ")).collect();
        let expected = [
            "format version: 1 to 2",
            "upgrade: closing dates",
            "table: roles rebuilt",
            "size: 480.0 MB",
            "time: about 1 min 13 s, estimated from the space needed",
            "free space needed: 1440.0 MB",
            "free space: 2000.0 MB",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn an_upgrade_is_refused_if_one_byte_of_space_is_missing() {
        let world = Scripted::at(Timestamp::from_micros(0));
        let with = |free_bytes: u64| {
            world.set_disk(Some(DiskSpace { free_bytes, total_bytes: 9_000_000_000 }));
            require_space(&plan(), &world, Path::new("a.db"))
        };
        assert!(with(1_440_000_000).is_ok());
        let refused = with(1_439_999_999).unwrap_err().message;
        assert!(refused.contains("has 1440.0 MB free, but the upgrade needs 1440.0 MB"), "{refused}");
        world.set_disk(None);
        assert!(require_space(&plan(), &world, Path::new("a.db")).is_ok());
    }
}
