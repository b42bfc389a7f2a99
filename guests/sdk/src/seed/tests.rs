//! What is derived never changes, since it would lock everybody out: these vectors were made by another program.

use super::{ALPHABET, Seed};

fn seed() -> Seed {
    Seed::new((0..32).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn passwords_stay_what_they_are() {
    let long = seed().password("long", 100);
    for (purpose, length, expected) in [
        ("admin", 24, "CwocAXXhQYxvfSDmI011droz"),
        ("admin", 8, "CwocAXXh"),
        ("user", 24, "185FpFFPN0qjDomLSJnhJHFb"),
        ("", 24, "2gIwGN8kbpqtD9C2pddzmKID"),
        ("long", 0, ""),
    ] {
        assert_eq!(seed().password(purpose, length), expected, "{purpose} {length}");
    }
    assert_eq!(long.get(76..), Some("U4pNwkRxg4qJmVA9JfKlZY6d"));
}

#[test]
fn keys_stay_what_they_are() {
    for (purpose, length, expected) in [
        (
            "tls",
            32,
            "60f45b52fde94dec43034289ddf109cd93711ba4d47d7fc56e03c02ddeaa9a97",
        ),
        ("tls", 16, "60f45b52fde94dec43034289ddf109cd"),
        ("admin", 16, "030a65cddf85b743af94a3cbb5a4dad4"),
    ] {
        assert_eq!(hex(&seed().key(purpose, length)), expected, "{purpose} {length}");
    }
    let long = seed().key("long", 64);
    assert_eq!(
        hex(&long[32..]),
        "9e847a7b65fd9f2330cef61e3d4bd2f632c0be495d1daba070aeee13c067e7e8"
    );
}

#[test]
fn another_seed_makes_other_passwords() {
    let other = Seed::new((1..33).collect());
    assert_ne!(other.password("admin", 24), seed().password("admin", 24));
    assert_ne!(other.key("tls", 32), seed().key("tls", 32));
}

/// With 62,000 characters each comes 1,000 times, give or take 32; a plain remainder would bring the first eight 1,211 times.
#[test]
fn no_character_is_more_likely_than_another() {
    let long = seed().password("bias", 62_000);
    for character in ALPHABET {
        let count = long.bytes().filter(|byte| byte == character).count();
        assert!(
            (840..1_160).contains(&count),
            "{} comes {count} times",
            char::from(*character)
        );
    }
}

#[test]
fn a_seed_is_never_shown() {
    assert_eq!(format!("{:?}", seed()), "Seed(not shown)");
}
