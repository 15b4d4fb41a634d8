//! Tests of the passkeys in the database.

use rcgen::{KeyPair, PKCS_ED25519, PublicKeyData as _, SigningKey as _};
use sha2::{Digest as _, Sha256};

use super::challenge::{CHALLENGES_MAX, USER_CHALLENGES_MAX};
use super::*;
use crate::db::connection::Connection;
use crate::db::tx;
use crate::domain::passkey::{Challenge, ChallengeUse, ClientData, StoredChallenge};
use crate::store::second_factor;
use crate::store::tests::two_users::{at, file, person, stamp};

fn verified(counter: u32) -> VerifiedKey {
    let info = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
    let key = PasskeyKey::parse(PasskeyAlgorithm::EdDsa, &[&info[..], &[7; 32]].concat()).unwrap();
    VerifiedKey { key, counter }
}

fn passkey(number: u8) -> Passkey {
    Passkey {
        id: PasskeyId::parse(&format!("pk_{number}")).unwrap(),
        credential_id: vec![number],
        name: format!("Passkey {number}"),
        created_at: at(u64::from(number)),
        last_used_at: None,
    }
}

fn insert(file: &Connection, who: &str, number: u8) -> Result<(), Error> {
    tx::act(file, at(0), |tx| add(tx, &stamp(number.into()), &person(who), &passkey(number), &verified(0)))
}

#[test]
fn each_user_lists_and_removes_only_their_own_passkeys() {
    let (file, ada, bob) = (file(), person("ada"), person("bob"));
    for (who, number) in [("ada", 1), ("bob", 2), ("ada", 3)] {
        insert(&file, who, number).unwrap();
    }
    let id = |number| passkey(number).id;
    tx::act(&file, at(0), |tx| {
        assert_eq!(of_user(tx, &ada.user_id)?, [passkey(1), passkey(3)]);
        assert!(!remove(tx, &stamp(9), &bob, &id(1))? && remove(tx, &stamp(9), &ada, &id(3))?);
        assert_eq!(of_user(tx, &ada.user_id)?, [passkey(1)]);
        assert_eq!(of_user(tx, &bob.user_id)?, [passkey(2)]);
        assert_eq!(find(tx, &[3])?, None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_credential_id_can_be_registered_only_once_and_a_user_can_have_at_most_20_passkeys() {
    let file = file();
    for number in 1..=20 {
        insert(&file, "ada", number).unwrap();
    }
    for (who, number) in [("ada", 21), ("bob", 1)] {
        let refused = insert(&file, who, number).unwrap_err();
        assert!(matches!(refused, Error::Refused(Refusal::Conflict(_))), "{refused:?}");
    }
    insert(&file, "bob", 21).unwrap();
}

#[test]
fn a_use_changes_the_counter_and_a_disabled_users_passkey_is_not_found() {
    let (file, ada) = (file(), person("ada"));
    insert(&file, "ada", 1).unwrap();
    let expected = StoredPasskey { id: passkey(1).id, user_id: ada.user_id.clone(), verified: verified(u32::MAX) };
    tx::act(&file, at(5), |tx| {
        record_use(tx, &passkey(1).id, u32::MAX)?;
        assert_eq!(find(tx, &[1])?, Some(expected.clone()));
        assert_eq!(of_user(tx, &ada.user_id)?, [Passkey { last_used_at: Some(at(5)), ..passkey(1) }]);
        tx.run("UPDATE users SET enabled = 0 WHERE id = $1", [ada.user_id.as_str()])?;
        assert_eq!(find(tx, &[1])?, None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_challenge_accepts_one_answer_from_its_browser_within_5_minutes() {
    let (file, challenge) = (file(), Challenge::new(&[1; 32]));
    let facts = |seconds| StoredChallenge {
        purpose: ChallengeUse::SignIn,
        browser: [1; 32],
        user_id: None,
        issued_at: at(seconds),
    };
    let issue = |seconds| tx::act(&file, at(seconds), |tx| issue_challenge(tx, &challenge, &facts(seconds))).unwrap();
    let spend = |seconds, browser| {
        let (text, purpose) = (challenge.as_str(), ChallengeUse::SignIn);
        tx::act(&file, at(seconds), |tx| spend_challenge(tx, text, purpose, &[browser; 32], None)).unwrap()
    };
    issue(0);
    assert_eq!(spend(299, 1), Ok(()));
    assert_eq!(spend(299, 1), Err(PasskeyFault::UnknownChallenge), "a replay");
    issue(0);
    assert_eq!(spend(300, 1), Err(PasskeyFault::ExpiredChallenge));
    issue(400);
    assert_eq!(spend(401, 2), Err(PasskeyFault::ForeignChallenge));
    assert_eq!(spend(401, 1), Err(PasskeyFault::UnknownChallenge), "a wrong answer spends the challenge too");
}

#[test]
fn expired_challenges_are_deleted_and_the_number_of_challenges_is_limited() {
    let file = file();
    let flood = "WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 10000)
                 INSERT INTO passkey_challenges (digest, purpose, browser, user_id, issued_at)
                 SELECT CAST(printf('%032d', n) AS BLOB), 'sign_in', zeroblob(32), NULL, $1 + n FROM series";
    let count = |tx: &Tx<'_>| tx.value::<i64>("SELECT count(*) FROM passkey_challenges", []);
    let oldest = |tx: &Tx<'_>, of: &str| {
        tx.value::<i64>(&format!("SELECT min(issued_at) FROM passkey_challenges WHERE user_id IS {of} NULL"), [])
    };
    tx::act(&file, at(10), |tx| {
        issue_number(tx, 0, Some("ada"), 0)?;
        tx.run(flood, [at(0).micros()])?;
        issue_number(tx, 1, None, 10)?;
        assert_eq!(count(tx)?, Some(CHALLENGES_MAX + 1));
        assert_eq!(oldest(tx, "")?, Some(at(0).micros() + 2), "the oldest challenge of a stranger was replaced");
        assert_eq!(oldest(tx, "NOT")?, Some(at(0).micros()), "no challenge of a user was replaced");
        Ok(())
    })
    .unwrap();
    tx::act(&file, at(310), |tx| {
        issue_number(tx, 2, None, 310)?;
        assert_eq!(count(tx)?, Some(1), "all others have expired");
        Ok(())
    })
    .unwrap();
}

/// Stores a challenge of a user, or of a stranger.
fn issue_number(tx: &Tx<'_>, number: u8, user: Option<&str>, seconds: u64) -> Result<(), Error> {
    let user_id = user.map(|user| UserId::parse(user).unwrap());
    let facts = StoredChallenge { purpose: ChallengeUse::Register, browser: [1; 32], user_id, issued_at: at(seconds) };
    issue_challenge(tx, &Challenge::new(&[number; 32]), &facts)
}

#[test]
fn a_user_has_a_limited_number_of_challenges() {
    let file = file();
    tx::act(&file, at(100), |tx| {
        issue_number(tx, 200, Some("bob"), 0)?;
        for number in 0..USER_CHALLENGES_MAX as u8 + 3 {
            issue_number(tx, number, Some("ada"), number.into())?;
        }
        let of = |user: &str| {
            let sql = "SELECT min(issued_at) FROM passkey_challenges WHERE user_id = $1 HAVING count(*) = $2";
            tx.value::<i64>(sql, (user, if user == "ada" { USER_CHALLENGES_MAX } else { 1 }))
        };
        assert_eq!((of("ada")?, of("bob")?), (Some(at(3).micros()), Some(at(0).micros())));
        Ok(())
    })
    .unwrap();
}

#[test]
fn passkeys_count_as_second_factors_and_are_deleted_with_all_factors() {
    let (file, ada) = (file(), person("ada"));
    insert(&file, "ada", 1).unwrap();
    insert(&file, "ada", 2).unwrap();
    insert(&file, "bob", 3).unwrap();
    let passkeys = |user: &UserId| tx::act(&file, at(0), |tx| Ok(second_factor::factors(tx, user)?.passkeys)).unwrap();
    assert_eq!(passkeys(&ada.user_id), 2);
    tx::act(&file, at(0), |tx| second_factor::delete_all(tx, &ada.user_id)).unwrap();
    assert_eq!((passkeys(&ada.user_id), passkeys(&person("bob").user_id)), (0, 1));
}

#[test]
fn a_copy_of_an_authenticator_is_refused_and_recorded() {
    let (file, pair) = (file(), KeyPair::generate_for(&PKCS_ED25519).unwrap());
    let party = RelyingParty::of_origin("https://jobs.example.com").unwrap();
    let key = PasskeyKey::parse(PasskeyAlgorithm::EdDsa, &pair.subject_public_key_info()).unwrap();
    let (ada, first) = (person("ada"), VerifiedKey { key, counter: 5 });
    tx::act(&file, at(0), |tx| add(tx, &stamp(1), &ada, &passkey(1), &first)).unwrap();
    let answer = |number, credential_id, counter: u32, user: Option<UserId>| {
        let data = [&Sha256::digest(&party.id)[..], &[5], &counter.to_be_bytes()].concat();
        let signature = pair.sign(&[&data[..], &Sha256::digest("{}")].concat()).unwrap();
        let client_data = ClientData {
            json: b"{}",
            kind: "webauthn.get".to_owned(),
            challenge: String::new(),
            origin: party.origin.clone(),
            cross_origin: false,
            has_top_origin: false,
        };
        let (authenticator_data, signature) = (&data[..], &signature[..]);
        let assertion = Assertion { client_data, authenticator_data, signature, user_handle: None };
        let accepted = tx::act(&file, at(number), |tx| {
            accept(tx, &stamp(number), &party, &[credential_id], user.as_ref(), &assertion)
        })
        .unwrap();
        accepted.map(|stored| stored.verified.counter).map_err(|refused| (refused.fault, refused.user_id))
    };
    let (ada, bob) = (Some(ada.user_id), Some(person("bob").user_id));
    assert_eq!(answer(2, 1, 6, None), Ok(5));
    assert_eq!(answer(3, 1, 6, ada.clone()), Err((PasskeyFault::Cloned, ada.clone())));
    assert_eq!(answer(4, 2, 9, None), Err((PasskeyFault::UnknownPasskey, None)));
    assert_eq!(answer(5, 1, 9, bob), Err((PasskeyFault::UnknownPasskey, None)));
    assert_eq!(answer(6, 1, 7, ada), Ok(6));
    let recorded = tx::act(&file, at(9), |tx| activity::platform::page(tx, None, i64::MAX, 9)).unwrap();
    let actions: Vec<_> = recorded.iter().map(|row| (row.action.as_str(), row.id.clone())).collect();
    assert_eq!(actions, [("passkey.clone_refused", stamp(3).id), ("passkey.added", stamp(1).id)]);
    assert!(recorded[0].detail.as_ref().is_some_and(|detail| detail.contains("ada")));
}
