//! The service's account at a certificate authority. The account is stored in the folder of the certificate.

use std::io;

use instant_acme::AccountCredentials;
use serde::{Deserialize, Serialize};

use super::folder::AcmeFolder;

const ACCOUNT: &str = "account.json";

#[derive(Serialize, Deserialize)]
pub(super) struct StoredAccount {
    pub(super) directory: String,
    pub(super) contact: Option<String>,
    pub(super) credentials: AccountCredentials,
}

impl StoredAccount {
    /// Reads the account. An account that cannot be read counts as missing, because a new account costs nothing.
    pub(super) fn read(folder: &AcmeFolder) -> Option<Self> {
        serde_json::from_slice(&folder.read(ACCOUNT).ok()??).ok()
    }

    pub(super) fn write(&self, folder: &AcmeFolder) -> io::Result<()> {
        folder.write(ACCOUNT, &serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_broken_account_counts_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = AcmeFolder::of(&dir.path().join("a.db"));
        folder.create().unwrap();
        for text in ["", "{", "[]", "null", "{\"failures\": -1}", "{\"directory\": 1}"] {
            fs::write(folder.path().join(ACCOUNT), text).unwrap();
            assert!(StoredAccount::read(&folder).is_none(), "{text}");
        }
    }
}
