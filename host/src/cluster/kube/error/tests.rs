//! Shows how the answers of an API server are sorted.

use super::*;
use serde_json::json;
use windlass_core::object::Object;

fn failure(code: u16, reason: &str) -> Failure {
    let body = json!({"kind": "Status", "code": code, "reason": reason, "message": "words"}).to_string();
    Failure::answered(code, &HeaderMap::new(), body.as_bytes())
}

#[test]
fn writes_should_fail_by_code_and_reason() {
    let create = Request::Create(Object::default());
    let apply = Request::Apply {
        object: Object::default(),
        force: false,
    };
    let words = || "words".to_owned();
    let json_patch = Request::JsonPatch(Vec::new());
    let away = |code: u16| WriteError::Unavailable(format!("HTTP {code}: words"));
    let unanswered = |code: u16| WriteError::Unanswered(format!("HTTP {code}: words"));
    let table = [
        (409, "AlreadyExists", &create, WriteError::AlreadyExists),
        (409, "AlreadyExists", &apply, WriteError::Conflict(words())),
        (409, "Conflict", &create, WriteError::Conflict(words())),
        (409, "Conflict", &apply, WriteError::Conflict(words())),
        (404, "NotFound", &create, WriteError::NotFound(words())),
        (403, "Forbidden", &apply, WriteError::Forbidden(words())),
        (400, "BadRequest", &apply, WriteError::Invalid(words())),
        (405, "MethodNotAllowed", &apply, WriteError::Invalid(words())),
        (413, "RequestEntityTooLarge", &apply, WriteError::Invalid(words())),
        (415, "UnsupportedMediaType", &apply, WriteError::Invalid(words())),
        (422, "Invalid", &create, WriteError::Invalid(words())),
        (422, "Invalid", &json_patch, WriteError::Refused(words())),
        (401, "Unauthorized", &apply, away(401)),
        (429, "TooManyRequests", &apply, away(429)),
        (500, "InternalError", &apply, away(500)),
        (500, "", &create, away(500)),
        (500, "", &apply, WriteError::Refused(words())),
        (500, "ServerTimeout", &create, unanswered(500)),
        (502, "", &create, unanswered(502)),
        (503, "ServiceUnavailable", &create, away(503)),
        (504, "Timeout", &create, unanswered(504)),
    ];
    for (code, reason, request, expected) in table {
        assert_eq!(failure(code, reason).for_write(request), expected, "{code} {reason}");
    }
}

#[test]
fn i_06_words_about_a_secret_should_quote_none_of_its_values() {
    let cause = json!({"field": "data[not a key!]", "reason": "FieldValueInvalid", "message": "got S3CR3T-42"});
    let quoting = "quoted: S3CR3T-42";
    let denied = r#"admission webhook "weak.example.com" denied the request: S3CR3T-42 is weak"#;
    let policy =
        "secrets \"one\" is forbidden: ValidatingAdmissionPolicy 'weak' with binding 'weak' denied request: S3CR3T-42";
    let quota = "secrets \"one\" is forbidden: exceeded quota: few";
    for (code, reason, words, told) in [
        (
            422,
            "Invalid",
            quoting,
            "Invalid: data[not a key!] FieldValueInvalid (the server's words",
        ),
        (
            400,
            "BadRequest",
            quoting,
            "BadRequest: data[not a key!] FieldValueInvalid (the server's words",
        ),
        (
            500,
            "",
            quoting,
            ": data[not a key!] FieldValueInvalid (the server's words",
        ),
        (
            400,
            "BadRequest",
            denied,
            r#"admission webhook "weak.example.com" denied the request (the server's words"#,
        ),
        (
            403,
            "Forbidden",
            denied,
            r#"admission webhook "weak.example.com" denied the request (the server's words"#,
        ),
        (
            403,
            "Forbidden",
            policy,
            "secrets \"one\" is forbidden: ValidatingAdmissionPolicy 'weak' with binding 'weak' denied request (",
        ),
        (403, "Forbidden", quota, quota),
        (
            409,
            "Conflict",
            "conflict with \"kubectl\": .data.password",
            "conflict with \"kubectl\": .data.password",
        ),
        (500, "InternalError", "failed calling webhook", "failed calling webhook"),
        (503, "", "no endpoints", "no endpoints"),
    ] {
        let body = json!({"code": code, "reason": reason, "message": words, "details": {"causes": [cause]}});
        let failure = Failure::answered(code, &HeaderMap::new(), body.to_string().as_bytes()).without_values();
        assert!(failure.message.starts_with(told), "{}", failure.message);
        assert!(!format!("{failure:?}").contains("S3CR3T"), "{failure:?}");
    }
}

#[test]
fn a_reason_in_the_words_should_decide_nothing() {
    let body = json!({"code": 409, "reason": "Conflict", "message": "AlreadyExists: already exists"}).to_string();
    let failure = Failure::answered(409, &HeaderMap::new(), body.as_bytes());
    let words = "AlreadyExists: already exists".to_owned();
    assert_eq!(
        failure.for_write(&Request::Create(Object::default())),
        WriteError::Conflict(words)
    );
}

#[test]
fn an_apply_to_another_object_of_that_name_should_be_a_conflict_by_its_field() {
    let apply = Request::Apply {
        object: Object::default(),
        force: true,
    };
    let error = |field: &str| {
        let causes = json!([{"field": field, "reason": "FieldValueInvalid", "message": "words"}]);
        let body = json!({"code": 422, "reason": "Invalid", "message": "words", "details": {"causes": causes}});
        Failure::answered(422, &HeaderMap::new(), body.to_string().as_bytes()).for_write(&apply)
    };
    assert_eq!(error("metadata.uid"), WriteError::Conflict("words".into()));
    assert_eq!(error("metadata.uidOfMine"), WriteError::Invalid("words".into()));
}

#[test]
fn what_the_server_asks_to_wait_should_reach_the_one_who_writes() {
    let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, "7".parse().unwrap())]);
    for code in [429, 503] {
        let failure = Failure::answered(code, &headers, b"words");
        let expected = WriteError::Busy {
            wait: Duration::from_secs(7),
            words: format!("HTTP {code}: words"),
        };
        assert_eq!(failure.for_write(&Request::Create(Object::default())), expected);
    }
}

proptest::proptest! {
    /// Words change nothing, whatever they are, and also where they are those of another answer.
    #[test]
    fn l_the_wording_of_an_answer_should_decide_nothing(
        words in "\\PC{0,80}",
        borrowed in 0..WORDS.len(),
        code in proptest::sample::select(&[0, 400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 422, 429, 500, 501, 502, 503, 504][..]),
        reason in proptest::sample::select(&["", "AlreadyExists", "Conflict", "Invalid", "InternalError", "ServerTimeout"][..]),
    ) {
        let requests = [
            Request::Create(Object::default()),
            Request::Apply { object: Object::default(), force: false },
            Request::JsonPatch(Vec::new()),
            Request::MergePatch(json!({})),
        ];
        let answered = |message: &str| Failure {
            message: message.into(),
            ..failure(code, reason)
        };
        for request in &requests {
            let usual = std::mem::discriminant(&answered("words").for_write(request));
            for message in [words.as_str(), WORDS[borrowed]] {
                assert_eq!(std::mem::discriminant(&answered(message).for_write(request)), usual);
                assert_eq!(
                    std::mem::discriminant(&ReadError::from(answered(message))),
                    std::mem::discriminant(&ReadError::from(answered("words"))),
                );
            }
        }
    }
}

/// What answers of other codes say.
const WORDS: [&str; 6] = [
    "configmaps \"one\" already exists",
    "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version",
    "admission webhook \"w\" denied the request: too many requests",
    "etcdserver: request timed out",
    "the server could not find the requested resource",
    "field is immutable",
];

#[test]
fn a_proxys_page_should_be_passed_on_as_it_is() {
    let failure = Failure::answered(502, &HeaderMap::new(), b"<html>\nbad gateway\n</html>\n");
    assert_eq!(failure.to_string(), "HTTP 502: <html>\nbad gateway\n</html>");
}

#[test]
fn reads_should_tell_what_is_forbidden_refused_and_unavailable() {
    assert_eq!(
        ReadError::from(failure(403, "Forbidden")),
        ReadError::Forbidden("words".into())
    );
    assert_eq!(
        ReadError::from(failure(400, "BadRequest")),
        ReadError::Refused("HTTP 400: words".into())
    );
    assert!(
        matches!(ReadError::from(failure(401, "Unauthorized")), ReadError::Refused(words) if words.contains("credentials"))
    );
    for code in [408, 410, 429, 500, 503] {
        assert!(
            matches!(ReadError::from(failure(code, "")), ReadError::Unavailable(_)),
            "{code}"
        );
    }
    let unanswered = Failure::unanswered("connection refused");
    assert_eq!(
        ReadError::from(unanswered),
        ReadError::Unavailable("connection refused".into())
    );
}

#[test]
fn a_long_message_should_be_cut_between_characters() {
    let failure = Failure::unanswered("ä".repeat(2000));
    assert_eq!(failure.message.len(), 1024);
    let failure = Failure::unanswered(format!("x{}", "ä".repeat(2000)));
    assert_eq!(failure.message.len(), 1023);
}

#[test]
fn the_time_to_wait_should_come_from_the_header() {
    let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, "5".parse().unwrap())]);
    assert_eq!(
        Failure::answered(429, &headers, b"").retry_after,
        Some(Duration::from_secs(5))
    );
    let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, "soon".parse().unwrap())]);
    assert_eq!(Failure::answered(429, &headers, b"").retry_after, None);
}
