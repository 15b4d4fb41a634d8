//! Property tests: an authenticator's answers that are truncated, have flipped bits or consist of random bytes.

use proptest::prelude::*;

use super::*;

/// Returns the bytes with these bits of one byte flipped.
fn flip(bytes: &[u8], at: prop::sample::Index, bits: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = at.index(bytes.len());
    bytes[at] ^= bits;
    bytes
}

proptest! {
    #[test]
    fn a_truncated_or_altered_assertion_is_refused(at: prop::sample::Index, bits in 1..=u8::MAX, part in 0..6) {
        for authenticator in Authenticator::all() {
            let (json, data) = (Answer::GOOD.json(), Answer::GOOD.authenticator_data());
            let signature = authenticator.sign(&json, &data);
            let cut = |bytes: &[u8]| bytes[..at.index(bytes.len())].to_vec();
            let (json, data, signature) = match part {
                0 => (flip(&json, at, bits), data, signature),
                1 => (json, flip(&data, at, bits), signature),
                2 => (json, data, flip(&signature, at, bits)),
                3 => (cut(&json), data, signature),
                4 => (json, cut(&data), signature),
                _ => (json, data, cut(&signature)),
            };
            prop_assert!(Answer::GOOD.verify(&authenticator.stored(0), &json, &data, &signature).is_err());
        }
    }

    #[test]
    fn a_truncated_or_altered_registration_never_yields_another_key(at: prop::sample::Index, bits in 1..=u8::MAX) {
        for authenticator in Authenticator::all() {
            let answer = registration(&authenticator.cose());
            let (data, spki, algorithm) = (answer.authenticator_data(), authenticator.spki(), number(authenticator.algorithm));
            if let Ok(verified) = register(&answer, &flip(&data, at, bits), algorithm, &spki) {
                prop_assert_eq!(verified.key, authenticator.stored(0).key);
            }
            prop_assert!(register(&answer, &data[..at.index(data.len())], algorithm, &spki).is_err());
            prop_assert!(register(&answer, &data, algorithm, &flip(&spki, at, bits)).is_err());
            prop_assert!(register(&answer, &data, algorithm, &spki[..at.index(spki.len())]).is_err());
        }
    }

    #[test]
    fn random_bytes_are_always_refused(data: Vec<u8>, spki: Vec<u8>, signature: Vec<u8>, number in -300_i64..10) {
        let answer = registration(&[]);
        prop_assert!(register(&answer, &data, number, &spki).is_err());
        let [authenticator, _] = Authenticator::all();
        let json = Answer::GOOD.json();
        prop_assert!(Answer::GOOD.verify(&authenticator.stored(0), &json, &data, &signature).is_err());
        prop_assert_eq!(PasskeyKey::parse(PasskeyAlgorithm::Rs256, &spki), None);
    }
}
