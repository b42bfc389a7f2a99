//! Shows that a host process is what was asked for and never outlives its test, with a shell in place of the host.

use std::process::Command;

use super::*;

const LONG_ENOUGH: Duration = Duration::from_secs(20);

fn shell(directory: &Path, script: &str) -> HostCommand {
    HostCommand::new("/bin/sh", directory.join("host.log")).arguments(["-c", script])
}

fn is_running(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie has ended; it only waits for its parent to look.
    status
        .rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[tokio::test]
async fn arguments_variables_and_both_outputs_arrive() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = HostCommand::new("/bin/sh", directory.path().join("host.log"))
        .arguments([
            "-c",
            "echo $0 $COLOUR $KUBECONFIG; echo error >&2; exit 3",
            "first word",
        ])
        .variable("COLOUR", "green")
        .start()
        .unwrap();
    let status = eventually(LONG_ENOUGH, "the end", async || host.exited()?.context("running"))
        .await
        .unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(host.logs().unwrap(), "first word green\nerror\n");
}

#[tokio::test]
async fn the_pid_is_the_programs_own() {
    let directory = tempfile::tempdir().unwrap();
    let host = shell(directory.path(), "echo pid=$$; sleep 600").start().unwrap();
    let expected = format!("pid={}\n", host.pid());
    eventually(LONG_ENOUGH, "the pid", async || {
        let logs = host.logs()?;
        if logs == expected {
            Ok(())
        } else {
            Err(anyhow!("{logs:?} instead of {expected:?}"))
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_host_that_stops_when_asked_gives_its_status_and_one_that_does_not_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let ready = |host: &HostProcess| -> Result<()> {
        if host.logs()?.contains("ready") {
            Ok(())
        } else {
            Err(anyhow!("not ready"))
        }
    };

    let mut host = shell(
        directory.path(),
        "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done",
    )
    .start()
    .unwrap();
    eventually(LONG_ENOUGH, "ready", async || ready(&host)).await.unwrap();
    assert_eq!(host.terminate(LONG_ENOUGH).await.unwrap().code(), Some(7));

    // A log of its own, since the first one's says ready already.
    let directory = tempfile::tempdir().unwrap();
    let mut stubborn = shell(
        directory.path(),
        "trap '' TERM; echo ready; while :; do sleep 0.05; done",
    )
    .start()
    .unwrap();
    eventually(LONG_ENOUGH, "ready", async || ready(&stubborn))
        .await
        .unwrap();
    assert!(stubborn.terminate(Duration::from_millis(300)).await.is_err());
    stubborn.kill().unwrap();
    assert!(!is_running(stubborn.pid()));
}

#[test]
fn a_dropped_host_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let host = shell(directory.path(), "sleep 600").start().unwrap();
    let pid = host.pid();
    assert!(is_running(pid));
    drop(host);
    assert!(!is_running(pid));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = HostCommand::new("/nonexistent/windlass", "/tmp/unused")
        .start()
        .unwrap_err();
    assert!(error.to_string().contains("/nonexistent/windlass"));
}

/// The lifeline alone, held by a process that is killed: the test process cannot kill itself.
#[tokio::test]
async fn a_host_ends_when_the_process_that_holds_its_lifeline_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let mut holder = Command::new("sh")
        .args(["-c", "mkfifo \"$1/f\"; sh -c \"$2\" sh sh -c 'echo $$ >\"$0\"; exec sleep 600' \"$1/pid\" <\"$1/f\" & exec sleep 600 >\"$1/f\"", "sh"])
        .arg(directory.path())
        .arg(LIFELINE)
        .spawn()
        .unwrap();
    let pid: u32 = eventually(LONG_ENOUGH, "the pid", async || {
        Ok(fs::read_to_string(&pid_file)?.trim().parse()?)
    })
    .await
    .unwrap();
    assert!(is_running(pid));
    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually(LONG_ENOUGH, "the end", async || {
        if is_running(pid) {
            Err(anyhow!("running"))
        } else {
            Ok(())
        }
    })
    .await
    .unwrap();
}
