//! What `simulate` prints of Secrets: what changes, and no value; and the same each time.

use super::{Desk, err, out, without_times};
use serde_json::{Value, json};

#[test]
fn simulate_prints_no_value_of_a_secret_and_the_same_each_time() {
    let desk = Desk::new();
    desk.put("hostile.wasm", &windlass_artifacts::bytes(windlass_artifacts::HOSTILE));
    desk.put("settings.yaml", b"describe: seed\n");
    desk.put(
        "crd.yaml",
        &std::fs::read(crate::golden::path("../guests/hostile/crd.yaml")).unwrap(),
    );
    // The real host's key among the objects is not used.
    let key = windlass::seed::key_secret("windlass-system", b"a key that is real, 32 bytes....");
    desk.put("key.yaml", key.to_string().as_bytes());
    for (behaviour, entry) in [("tell-secret", "token"), ("password", "password")] {
        let one = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
            "metadata": {"namespace": "default", "name": "one", "uid": "u1"}, "spec": {"behaviour": behaviour},
        });
        desk.put("one.yaml", one.to_string().as_bytes());
        let line = "simulate hostile.wasm -f crd.yaml -f one.yaml --settings settings.yaml";
        let first = desk.run(line);
        assert!(first.status.success(), "{}{}", out(&first), err(&first));
        let text = out(&first);
        assert!(text.contains(&format!("{entry}: \"***\"")), "{text}");
        assert!(!text.contains("UzNDUjNULTQy") && !text.contains("S3CR3T-42"), "{text}");
        assert!(
            !text.contains("windlass.dev/applied"),
            "a hash that anybody can check guesses with: {text}"
        );
        let with_key = desk.run(&format!("{line} -f key.yaml"));
        assert!(with_key.status.success(), "{}{}", out(&with_key), err(&with_key));
        assert_eq!(without_times(&out(&with_key)), without_times(&text));
        let json: Value = serde_json::from_slice(&desk.run(&format!("{line} -o json")).stdout).unwrap();
        let writes = json["writes"].as_array().unwrap();
        let secret = writes
            .iter()
            .find(|write| write["object"]["of"]["kind"] == "Secret")
            .unwrap();
        assert_eq!(secret["after"]["data"][entry], "***", "{secret}");
    }
}
