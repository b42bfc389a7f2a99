//! Runs the host in the foreground, until it is told to stop.

use crate::admin::{self, AdminLimits};
use crate::api::Limits;
use crate::cluster::kube::KubeCluster;
use crate::guest::{Allocation, Cache, Capacity, Compiler, Loader, Runtime};
use crate::host::Host;
use crate::settings::Settings;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Runs the host: watches the cluster of the current KUBECONFIG, or the one this pod runs in
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass run                                  on the cluster that kubectl uses
  windlass run --source-namespace team-a        reads modules of Reconcilers in team-a too
  windlass run --drop-in-namespace team-a       and gives each labelled ConfigMap there a Reconciler by itself
  WINDLASS_LOG=debug windlass run --log plain   with more to read")]
pub(super) struct RunArguments {
    /// Namespace of the host's own
    #[arg(long, env = "WINDLASS_NAMESPACE", default_value = "windlass-system")]
    namespace: String,
    /// ServiceAccount of the host's own, which no module may use
    #[arg(long, env = "WINDLASS_SERVICE_ACCOUNT", default_value = "windlass")]
    service_account: String,
    /// Name of this host in Events
    #[arg(long, env = "WINDLASS_INSTANCE", default_value = "windlass")]
    instance: String,
    /// Another namespace in which Reconcilers find their modules and accounts; can be given several times
    #[arg(long = "source-namespace", env = "WINDLASS_SOURCE_NAMESPACES", value_delimiter = ',')]
    source_namespaces: Vec<String>,
    /// Another namespace in which a labelled ConfigMap gets a Reconciler by itself; can be given several times
    #[arg(
        long = "drop-in-namespace",
        env = "WINDLASS_DROP_IN_NAMESPACES",
        value_delimiter = ','
    )]
    drop_in_namespaces: Vec<String>,
    /// How many primaries of a Reconciler are decided again in a second after its module was replaced
    #[arg(long, env = "WINDLASS_DECIDED_AGAIN_PER_SECOND", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    decided_again_per_second: u32,
    /// How many decisions are taken at once
    #[arg(long, env = "WINDLASS_WORKERS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    #[command(flatten)]
    maxima: Maxima,
    /// How many guests can be called at once; their memory's address space is reserved at the start
    #[arg(long, env = "WINDLASS_GUEST_CALLS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    guest_calls: u32,
    /// Memory in MiB that all guests which are called at once may use together; each counts with its limit
    #[arg(long, env = "WINDLASS_GUEST_MEMORY_MEBIBYTES", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    guest_memory_mebibytes: u32,
    /// How memory for guests is allocated
    #[arg(long, env = "WINDLASS_ALLOCATION", default_value_t, value_enum)]
    allocation: Allocation,
    /// For how many seconds it is believed that an account has a right
    #[arg(long, env = "WINDLASS_RIGHTS_BELIEVED_SECONDS", default_value_t = 60)]
    rights_believed_seconds: u32,
    /// After how many seconds a Reconciler is looked at although nothing tells of it
    #[arg(long, env = "WINDLASS_SWEEP_SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    sweep_seconds: u32,
    /// After how many seconds at the soonest an Event is written again
    #[arg(long, env = "WINDLASS_EVENTS_AGAIN_SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    events_again_seconds: u32,
    /// Address of /livez, /readyz and /metrics
    #[arg(long, env = "WINDLASS_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Directory in which compiled modules are kept, so that the next start is faster; none if left out
    #[arg(long, env = "WINDLASS_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
    /// How log lines look
    #[arg(long, env = "WINDLASS_LOG_FORMAT", default_value = "plain")]
    log: LogFormat,
}

/// The most that `spec.limits` of a Reconciler may say; one that asks for more is refused with a sentence
#[derive(Debug, Args)]
struct Maxima {
    /// Memory of one decision in MiB that spec.limits may ask for at most
    #[arg(long, env = "WINDLASS_MAX_MEMORY_MEBIBYTES", default_value_t = Settings::maxima().memory_mebibytes, value_parser = clap::value_parser!(u32).range(1..=1024))]
    max_memory_mebibytes: u32,
    /// Running time of one decision in milliseconds that spec.limits may ask for at most
    #[arg(long, env = "WINDLASS_MAX_TIME_MILLISECONDS", default_value_t = Settings::maxima().time_milliseconds, value_parser = clap::value_parser!(u32).range(10..=60_000))]
    max_time_milliseconds: u32,
    /// Size of one answer in KiB that spec.limits may ask for at most
    #[arg(long, env = "WINDLASS_MAX_OUTPUT_KIBIBYTES", default_value_t = Settings::maxima().output_kibibytes, value_parser = clap::value_parser!(u32).range(64..=16_384))]
    max_output_kibibytes: u32,
    /// Children of one primary that spec.limits may ask for at most
    #[arg(long, env = "WINDLASS_MAX_CHILDREN", default_value_t = Settings::maxima().children, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    max_children: u32,
}

/// What is logged without WINDLASS_LOG. kube logs every answer of 5xx as an error of its own; the watch reports it anyway.
const DEFAULT_LOG: &str = "info,kube_client=off";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// For people.
    Plain,
    /// One JSON object a line.
    Json,
}

/// Runs until SIGTERM or SIGINT.
pub(super) async fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    start_log(arguments.log);
    if arguments.maxima.max_memory_mebibytes > arguments.guest_memory_mebibytes {
        bail!(
            "--max-memory-mebibytes {} is more than all guests may use together: lower it, or raise \
             --guest-memory-mebibytes, which is {}",
            arguments.maxima.max_memory_mebibytes,
            arguments.guest_memory_mebibytes
        );
    }
    let capacity = Capacity {
        decisions: arguments.guest_calls,
        memory_of_all: (arguments.guest_memory_mebibytes as usize) << 20,
        allocation: arguments.allocation,
        ..Capacity::default()
    };
    let loader = loader(capacity, arguments.cache_dir.as_deref())?;
    let cluster = KubeCluster::connect().await.context("there is no cluster to run on")?;
    let mut settings = Settings::new(&arguments.namespace);
    settings.service_account = arguments.service_account;
    settings.instance = arguments.instance;
    let named = |names: Vec<String>| names.into_iter().filter(|name| !name.is_empty());
    settings.drop_in_namespaces.extend(named(arguments.drop_in_namespaces));
    settings.source_namespaces.extend(named(arguments.source_namespaces));
    settings.source_namespaces.extend(settings.drop_in_namespaces.clone());
    settings.decided_again_per_second = arguments.decided_again_per_second;
    settings.workers = arguments.workers.into();
    settings.maxima = Limits {
        memory_mebibytes: arguments.maxima.max_memory_mebibytes,
        time_milliseconds: arguments.maxima.max_time_milliseconds,
        output_kibibytes: arguments.maxima.max_output_kibibytes,
        children: arguments.maxima.max_children,
    };
    settings.rights_believed = Duration::from_secs(arguments.rights_believed_seconds.into());
    settings.events_again = Duration::from_secs(arguments.events_again_seconds.into());
    settings.sweep = Duration::from_secs(arguments.sweep_seconds.into());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        namespace = settings.namespace,
        "windlass starts"
    );
    let listen = arguments.listen;
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("{listen} cannot be listened on; choose another address with --listen"))?;
    let host = Host::new(settings, Arc::new(cluster), loader);
    host.start();
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be waited for")?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        tracing::info!("told to stop: what runs comes to its end");
    };
    admin::serve(Arc::clone(&host), listener, AdminLimits::default(), stop)
        .await
        .context("/livez, /readyz and /metrics cannot be served any more")?;
    host.stop().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Modules come from anybody here, so that no compiler runs in the host itself.
fn loader(capacity: Capacity, cache: Option<&Path>) -> anyhow::Result<Loader> {
    let runtime = Runtime::new(capacity).context(
        "the WebAssembly runtime cannot be set up; a smaller --guest-calls needs less address space, and \
         --allocation on-demand nearly none",
    )?;
    let compiler = Compiler::this_program().context("the program that compiles modules, this one, cannot be found")?;
    let loader = Loader::new(runtime, compiler);
    Ok(match cache {
        Some(directory) => loader.with_cache(Cache::new(directory, Cache::LIMIT)),
        None => loader,
    })
}

fn start_log(format: LogFormat) {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT_LOG));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Plain => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
