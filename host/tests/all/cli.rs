//! Runs the program as a person would, where there is no cluster: every mistake is answered with a sentence.

mod commands;
mod simulated_secrets;

use crate::golden;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const CRD: &str = "../deploy/samples/nginx/crd.yaml";
const NGINX: &str = "../deploy/samples/nginx/nginx.yaml";
/// Nobody listens on the port of this one.
const DEAD: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "dead",
  "clusters": [{"name": "dead", "cluster": {"server": "https://127.0.0.1:1"}}],
  "users": [{"name": "dead", "user": {"token": "none"}}],
  "contexts": [{"name": "dead", "context": {"cluster": "dead", "user": "dead"}}]}"#;

/// A folder with files that somebody got wrong, from which the program is run.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        let desk = Self(folder);
        desk.put("nginx.wasm", &windlass_artifacts::bytes(windlass_artifacts::NGINX));
        desk.put("junk.wasm", b"this is not a module");
        desk.put("none.wasm", b"");
        desk.put("broken.yaml", b"a: [");
        desk.put("dead.kubeconfig", DEAD.as_bytes());
        desk.put("crd.yaml", &std::fs::read(golden::path(CRD)).unwrap());
        desk.put("nginx.yaml", &std::fs::read(golden::path(NGINX)).unwrap());
        desk.put("negative.yaml", nginx(-1).as_bytes());
        desk
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("RUST_BACKTRACE", "1")
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn run_with_input(&self, line: &str, input: &str) -> Output {
        let mut command = self.command(line);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

fn nginx(replicas: i64) -> String {
    format!(
        "apiVersion: stable.underneathall.com/v1\nkind: Nginx\nmetadata: {{name: web}}\nspec: {{replicas: {replicas}}}\n"
    )
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Fails unless the program ended with a failure and one message of these words on standard error, and nothing else.
fn assert_refused(what: &str, output: &Output, words: &[&str]) {
    let said = err(output);
    assert!(!output.status.success(), "{what} succeeded");
    assert_eq!(out(output), "", "{what} printed results");
    assert!(said.starts_with("error: "), "{what}: {said}");
    for word in words {
        assert!(said.contains(word), "{what} does not say {word:?}: {said}");
    }
    for word in ["panicked", "backtrace", "stack"] {
        assert!(!said.contains(word), "{what}: {said}");
    }
}

#[test]
fn every_mistake_with_files_is_named_with_what_to_do() {
    let desk = Desk::new();
    let table: [(&str, &[&str]); 14] = [
        (
            "simulate missing.wasm -f nginx.yaml",
            &["missing.wasm cannot be read", "No such file"],
        ),
        (
            "simulate junk.wasm -f nginx.yaml",
            &["junk.wasm", "not WebAssembly", "Give the .wasm file"],
        ),
        (
            "simulate none.wasm -f nginx.yaml",
            &["none.wasm", "is empty", "Give the .wasm file"],
        ),
        (
            "simulate nginx.wasm -f empty",
            &["empty has no .yaml, .yml or .json file"],
        ),
        (
            "simulate nginx.wasm -f broken.yaml",
            &["broken.yaml is not YAML or JSON", "line 1 column 4"],
        ),
        (
            "simulate nginx.wasm -f nowhere",
            &["nowhere cannot be read", "No such file"],
        ),
        ("simulate nginx.wasm -f crd.yaml", &["none of the objects is a Nginx"]),
        ("simulate nginx.wasm -f -", &["none of the objects is a Nginx"]),
        (
            "simulate nginx.wasm -f nginx.yaml --settings broken.yaml",
            &["broken.yaml is not a YAML map"],
        ),
        (
            "simulate nginx.wasm -f nginx.yaml --settings negative.yaml",
            &["refuses its settings", "unknown field"],
        ),
        (
            "push junk.wasm --name junk",
            &["junk.wasm", "not WebAssembly", "Give the .wasm file"],
        ),
        (
            "explain web",
            &["give kind and name with a slash between, such as nginx/web"],
        ),
        ("rbac missing.wasm", &["missing.wasm cannot be read", "No such file"]),
        (
            "rbac junk.wasm",
            &["junk.wasm", "not WebAssembly", "Give the .wasm file"],
        ),
    ];
    for (line, words) in table {
        assert_refused(line, &desk.run(line), words);
    }
}

#[test]
fn a_missing_cluster_is_named_with_what_to_do() {
    let desk = Desk::new();
    for line in [
        "list pods",
        "watch pods",
        "run --listen 127.0.0.1:0",
        "push nginx.wasm --name nginx",
        "modules",
        "rollback nginx",
        "approve rights nginx",
        "release nginx",
        "uninstall",
        "explain nginx/web",
    ] {
        let output = desk.run(line);
        assert_refused(
            line,
            &output,
            &["no cluster is configured", "KUBECONFIG is not set", "set KUBECONFIG"],
        );
        let nowhere = desk
            .command(line)
            .env("KUBECONFIG", "/nowhere/config")
            .output()
            .unwrap();
        assert_refused(
            line,
            &nowhere,
            &["KUBECONFIG is `/nowhere/config`", "no such file exists", "correct it"],
        );
        let junk = desk.command(line).env("KUBECONFIG", "junk.wasm").output().unwrap();
        assert_refused(
            line,
            &junk,
            &["the kubeconfig junk.wasm cannot be used", "kubectl config view"],
        );
    }
}

#[test]
fn a_server_that_does_not_answer_is_named_with_what_to_do() {
    let desk = Desk::new();
    for line in [
        "list pods",
        "watch pods",
        "modules",
        "rollback nginx",
        "release nginx",
        "uninstall",
        "explain nginx/web",
    ] {
        let output = desk
            .command(line)
            .env("KUBECONFIG", "dead.kubeconfig")
            .output()
            .unwrap();
        assert_refused(
            line,
            &output,
            &["https://127.0.0.1:1", "is it running", "Connection refused"],
        );
    }
}

#[test]
fn simulate_prints_every_write_and_how_each_primary_stands() {
    let desk = Desk::new();
    let output = desk.run("simulate nginx.wasm -f crd.yaml -f nginx.yaml");
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(err(&output), "");
    golden::assert("tests/golden/simulate-nginx.txt", &without_times(&out(&output)));
}

/// The text without what is different each time.
fn without_times(text: &str) -> String {
    let mask = |line: &str| match (line.split_once("lastTransitionTime: "), line.split_once(" ms")) {
        (Some((before, _)), _) => format!("{before}lastTransitionTime: <time>\n"),
        (None, Some(_)) => format!(
            "{} in <time>\n",
            line.rsplit_once(" in ").unwrap().0.rsplit_once(" in ").unwrap().0
        ),
        (None, None) => format!("{line}\n"),
    };
    text.lines().map(mask).collect()
}

#[test]
fn simulate_says_the_same_as_json() {
    let desk = Desk::new();
    let text = out(&desk.run("simulate nginx.wasm -f crd.yaml -f nginx.yaml"));
    let output = desk.run("simulate nginx.wasm -f crd.yaml -f nginx.yaml -o json");
    assert!(output.status.success(), "{}", err(&output));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let writes = said["writes"].as_array().unwrap();
    let heads = writes.iter().map(|write| {
        let of = &write["object"];
        let part = if write["subresource"] == "status" {
            " (status)"
        } else {
            ""
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (kind, namespace, name) = (text(&of["of"]["kind"]), text(&of["namespace"]), text(&of["name"]));
        format!("{} {kind} {namespace}/{name}{part}", text(&write["verb"]))
    });
    let wanted: Vec<&str> = text
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty() && !line.starts_with(' ') && !line.contains(" ready after "))
        .collect();
    assert_eq!(heads.collect::<Vec<_>>(), wanted);
    assert_eq!(said["primaries"][0]["ready"], true);
    assert_eq!(said["module"]["name"], "nginx");
    assert!(text.contains("1/1 ready after 2 writes"), "{text}");
}

#[test]
fn simulate_fails_where_an_object_is_invalid_and_says_why() {
    let desk = Desk::new();
    let refused = desk.run("simulate nginx.wasm -f crd.yaml -f negative.yaml");
    let words = [
        "\"web\" is invalid",
        "spec.replicas",
        "should be greater than or equal to 0",
    ];
    assert_refused("simulate with a CRD", &refused, &words);
    let output = desk.run("simulate nginx.wasm -f negative.yaml");
    assert!(!output.status.success());
    let text = out(&output);
    assert!(
        text.contains("default/web: Invalid: spec.replicas: must not be negative, is -1"),
        "{text}"
    );
    assert!(text.contains("0/1 ready after 1 write in"), "{text}");
}

#[test]
fn simulate_takes_standard_input_folders_and_no_crd() {
    let desk = Desk::new();
    let crd = std::fs::read_to_string(golden::path(CRD)).unwrap();
    let piped = desk.run_with_input("simulate nginx.wasm -f -", &format!("{crd}\n---\n{}", nginx(3)));
    assert!(piped.status.success(), "{}", err(&piped));
    let text = out(&piped);
    assert!(
        text.contains("create Deployment default/web-deploy") && text.contains("+  replicas: 3"),
        "{text}"
    );
    let bare = desk.run_with_input("simulate nginx.wasm -f -", &nginx(3));
    assert!(
        bare.status.success() && out(&bare).contains("1/1 ready"),
        "{}",
        out(&bare)
    );
    let folder = golden::path("../deploy/samples/nginx");
    let folder = desk.run(&format!("simulate nginx.wasm -f {}", folder.display()));
    assert!(
        folder.status.success() && out(&folder).contains("1/1 ready"),
        "{}",
        out(&folder)
    );
}

#[test]
fn help_shows_an_example_of_every_command() {
    let desk = Desk::new();
    let all = out(&desk.run("--help"));
    let (_, listed) = all.split_once("Commands:\n").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap();
    let names = listed.lines().filter(|line| !line.starts_with("   "));
    let commands: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 5, "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let output = desk.run(&format!("{command} --help"));
        let text = out(&output);
        assert!(output.status.success());
        let examples = text
            .split_once("Example")
            .map(|(_, examples)| examples)
            .unwrap_or_default();
        assert!(examples.contains(&format!("windlass {command}")), "{command}: {text}");
    }
    let nothing = desk.run("");
    assert!(
        !nothing.status.success() && err(&nothing).contains("simulate"),
        "{}",
        err(&nothing)
    );
}

/// What is shipped is what the program prints, so that nobody gives a module more than it asks for.
#[test]
fn shipped_roles_and_crds_are_what_the_program_prints() {
    let desk = Desk::new();
    for (name, module) in [
        ("nginx", windlass_artifacts::NGINX),
        ("friend", windlass_artifacts::FRIEND),
    ] {
        let printed = desk.run(&format!("rbac {module}"));
        assert!(printed.status.success(), "{}", err(&printed));
        golden::assert(&format!("../deploy/samples/{name}/rbac.yaml"), &out(&printed));
    }
    golden::assert("../deploy/crds/reconcilers.yaml", &out(&desk.run("crds")));
}
