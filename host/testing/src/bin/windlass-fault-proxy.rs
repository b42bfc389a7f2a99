//! Runs the fault proxy by hand, in front of any cluster.

use anyhow::{Context, Result, bail};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use windlass_testing::fault_proxy::{Credentials, FaultProxy, Rule};

const HELP: &str = "\
Stands between clients and an API server, and does what networks and servers do on bad days.

Usage: windlass-fault-proxy --kubeconfig FILE [--listen ADDRESS] [--write FILE] [--rule RULE]...

  --kubeconfig FILE   the cluster behind it
  --listen ADDRESS    where it listens; default 127.0.0.1:0, a free port
  --write FILE        where the kubeconfig goes that leads through it; default windlass-fault-proxy.kubeconfig in the
                      folder for temporary files
  --rule RULE         what happens to which requests, see below; of several the first that concerns a request counts

Requests with a bearer token are passed on with it. Those without one, such as kubectl's with the kubeconfig that is written,
are sent with the credentials of --kubeconfig: whoever reaches the address has them, so leave it on the loopback. To see a
host with its own account, give it a kubeconfig with this address and its token. Ctrl-C ends it, and prints who sent what.

A rule is words. What happens:
  code=503 [reason=R] [retry-after=SECONDS] [message=TEXT TO THE END]   that answer, unasked
  drop                the connection closes unasked, open watches break
  drop-answer         it is done, and then the connection closes
  silent              it is done, and the answer never comes
  delay=5s            it is done later
  replay              it is done twice
  freeze              open watches bring nothing, new ones are refused
  end-watch           watches end in good order
  watch-error=410 [reason=R]   watches bring an ERROR event and end
To which (several values with commas): verb= kind= namespace= name= user=; `write` is any verb that changes something,
`patch` any patch, `apply` a server-side one; kind= is a plural such as deployments or nginx/status, user=*:nginx whoever
ends with that. How often: count=N the first N, every=N each Nth, after=N those after N.

Examples:
  windlass-fault-proxy --kubeconfig ~/.kube/config --rule 'code=503 verb=patch kind=deployments count=3'
  windlass-fault-proxy --kubeconfig k --rule 'code=429 retry-after=5 verb=write every=2'
  windlass-fault-proxy --kubeconfig k --rule 'silent verb=create kind=configmaps count=1'
  windlass-fault-proxy --kubeconfig k --rule 'freeze kind=nginx' --rule 'drop user=*:friend'
";

struct Arguments {
    kubeconfig: PathBuf,
    listen: SocketAddr,
    write: PathBuf,
    rules: Vec<Rule>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match run(&words).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(words: &[String]) -> Result<()> {
    let arguments = arguments(words)?;
    let proxy = FaultProxy::start(&arguments.kubeconfig, arguments.listen, Credentials::Lent).await?;
    let standing: Vec<_> = arguments.rules.into_iter().map(|rule| proxy.stand(rule)).collect();
    std::fs::write(&arguments.write, kubeconfig(&proxy.url()))
        .with_context(|| format!("writing {}", arguments.write.display()))?;
    println!("listening on {}", proxy.url());
    println!("KUBECONFIG={}", arguments.write.display());
    ended().await?;
    for (number, rule) in standing.iter().enumerate() {
        println!("rule {}: {} concerned", number + 1, rule.hits());
    }
    print!("{}", proxy.counts());
    Ok(())
}

/// Ctrl-C, or what a shell script sends.
async fn ended() -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn arguments(words: &[String]) -> Result<Arguments> {
    let mut kubeconfig = None;
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut write = std::env::temp_dir().join("windlass-fault-proxy.kubeconfig");
    let mut rules = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words
            .next()
            .with_context(|| format!("{word} needs a value; --help has examples"))?;
        match word.as_str() {
            "--kubeconfig" => kubeconfig = Some(PathBuf::from(value)),
            "--listen" => listen = value.parse().with_context(|| format!("--listen {value}"))?,
            "--write" => write = value.into(),
            "--rule" => rules.push(value.parse()?),
            _ => bail!("nothing is called {word}; --help has examples"),
        }
    }
    Ok(Arguments {
        kubeconfig: kubeconfig.context("--kubeconfig is needed; --help has examples")?,
        listen,
        write,
        rules,
    })
}

/// JSON is YAML too.
fn kubeconfig(url: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "fault-proxy", "cluster": {"server": url}}],
        "users": [{"name": "lent", "user": {}}],
        "contexts": [{"name": "fault-proxy", "context": {"cluster": "fault-proxy", "user": "lent"}}],
        "current-context": "fault-proxy",
    })
    .to_string()
}
