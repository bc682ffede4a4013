//! What is masked, and what is not: each line as it may stand in a request, a file or an output.

use proptest::prelude::*;

use super::*;

/// Before and after; secrets are made up.
const MASKED: &[(&str, &str)] = &[
    ("use sk-never-to-be-seen-0123456789, please", "use [secret], please"),
    ("sk-proj-AbCd1234efGh5678_ijKl", "[secret]"),
    ("(ghp_neverToBeSeen0123456789)", "([secret])"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "[secret]"),
    ("glpat-abcDEF123456ghiJKL78", "[secret]"),
    ("xoxb-123456789012-abcdefGHIJ", "[secret]"),
    ("key AKIAIOSFODNN7ABCDEFG.", "key [secret]."),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "[secret]"),
    ("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", "[secret]"),
    ("cookie Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZmdoaWpr==;", "cookie [secret];"),
    ("DB_PASSWORD=hunter2", "DB_PASSWORD=[secret]"),
    ("password=hunter&user=me", "password=[secret]&user=me"),
    ("password: hunter2", "password: [secret]"),
    ("The password is in it: passwd: 'correct-horse'", "The password is in it: passwd: '[secret]'"),
    ("{\"password\": \"correct\", \"a\": 1}", "{\"password\": \"[secret]\", \"a\": 1}"),
    (r#"{\"apiKey\": \"abcd1234\"}"#, r#"{\"apiKey\": \"[secret]\"}"#),
    ("const API_KEY: &str = \"abcd1234efgh\";", "const API_KEY: &str = \"[secret]\";"),
    ("export STRIPE_KEY=abcd1234", "export STRIPE_KEY=[secret]"),
    ("X-Api-Key: 0123456789abcdef0123", "X-Api-Key: [secret]"),
    ("curl --token abcd1234efgh5678ijkl x", "curl --token [secret] x"),
    ("mysql --password hunter2", "mysql --password [secret]"),
    ("client_secret = \"swordfish\"", "client_secret = \"[secret]\""),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7MDENG", "AWS_SECRET_ACCESS_KEY=[secret]"),
    ("curl -H 'Authorization: Bearer abc.def-1'", "curl -H 'Authorization: Bearer [secret]'"),
    ("\"authorization\": \"Basic bWU6eW91\"", "\"authorization\": \"Basic [secret]\""),
    ("postgres://me:hunter2@db:5432/x", "postgres://me:[secret]@db:5432/x"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nrest",
        "-----BEGIN RSA PRIVATE KEY-----[secret]-----END RSA PRIVATE KEY-----\nrest",
    ),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", "-----BEGIN OPENSSH PRIVATE KEY-----[secret]"),
    ("é TOKEN=é1234567 漢", "é TOKEN=[secret] 漢"),
];

/// Left as they are.
const KEPT: &[&str] = &[
    "",
    "Rename the token type and the key of the map, then run the tests",
    "let token = next_token(&mut lexer);",
    "fn login(password: &str, secret: Option<String>) -> Token",
    "struct Login { password: String, token: [u8; 32], api_key: Vec<u8> }",
    "max_tokens: 4096, input_tokens=123456, token_count=12345678",
    "password=args.password, secret=self.secret, password=password",
    "PASSWORD=$DB_PASSWORD TOKEN=${TOKEN} API_KEY=<your key> SECRET=****",
    "\"password\": {\"type\": \"string\"}, \"token\": \"string\"",
    "password: required, token: the second word of the line",
    "if key == password1234 { … } token::Kind2::Ident",
    "the key: value pairs; Key=Enter; key = \"abc123456\"",
    "fb0e8f2f8e0b1f6a7c5d4e3b2a1908f7e6d5c4b3",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "0190a5b2-7c3d-7e4f-8a1b-2c3d4e5f6a7b",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP==",
    "crates/core/src/permission/bash/unwrap_tests.rs:12345",
    "ThisIsAVeryLongTestNameForUtf8AndUtf16InRust2024",
    "target/debug/deps/maia_core-05f36cef8a03aafb",
    "sk-estimator-and-its-documentation and sk-1",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "https://example.org:8080/a@b?token_type=x",
    "ssh://git@host/x and http://host:80/",
    "a basic understanding of internationalization, and a bearer of news",
    "see docs/token.md: token: https://example.org/1234567890abcdef",
    "pass: 12 tests, 0 failed",
];

#[test]
fn what_looks_like_a_secret_is_masked() {
    let wrong: Vec<_> = MASKED.iter().filter(|(text, masked)| mask(text) != *masked).collect();
    let seen: Vec<_> = wrong.iter().map(|(text, _)| mask(text)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{seen:#?}");
}

#[test]
fn what_does_not_is_left_alone() {
    let wrong: Vec<_> =
        KEPT.iter().map(|text| (text, mask(text))).filter(|(text, masked)| **text != masked).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(KEPT.iter().all(|text| matches!(mask(text), Cow::Borrowed(_))));
}

#[test]
fn what_is_masked_stays_as_it_is() {
    for (_, masked) in MASKED {
        assert_eq!(mask(masked), *masked);
    }
}

#[test]
fn long_texts_cost_their_length() {
    // Names behind names: each is looked at, none runs to the end.
    let text = "token:password=secret:".repeat(20_000);
    assert!(mask(&text).len() <= text.len());
}

proptest! {
    /// Whatever the text, it is cut at characters, and secrets in it are not in what is left.
    #[test]
    fn nothing_breaks_and_no_token_is_left(
        before in "(?s).{0,20}", after in "(?s).{0,20}", pieces in prop::collection::vec("password|token|[=:\"'\\\\ é漢-]|[a-z0-9]{1,9}|://|@", 0..20),
    ) {
        mask(&pieces.concat());
        let text = format!("{before} ghp_neverToBeSeen0123456789 {after}");
        prop_assert!(!mask(&text).contains("neverToBeSeen"));
        let text = format!("{} DB_PASSWORD=hunter2x {}", before, pieces.concat());
        prop_assert!(!mask(&text).contains("hunter2x"));
    }
}
