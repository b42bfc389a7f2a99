//! Finds the cluster the way kubectl does, and connects to it.

use super::error::chain;
use super::{KubeCluster, Timing, Transport};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest time for the TCP and TLS handshakes.
const CONNECT: Duration = Duration::from_secs(10);

/// Why there is no connection to a cluster. That the server answers is not asked here.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nothing says where a cluster is.
    #[error(
        "no cluster is configured: KUBECONFIG is not set, {} does not exist, and this is not a pod \
         (KUBERNETES_SERVICE_HOST is not set); set KUBECONFIG to a kubeconfig file",
        .0.display()
    )]
    Nothing(PathBuf),
    /// `KUBECONFIG` names only files that are not there.
    #[error(
        "KUBECONFIG is `{0}`, and no such file exists; correct it, or unset it to use ~/.kube/config or the pod's account"
    )]
    Missing(String),
    /// A kubeconfig that cannot be used.
    #[error("the kubeconfig {path} cannot be used, `kubectl config view` shows what is in it: {words}")]
    Kubeconfig {
        /// The file or files.
        path: String,
        /// Why not.
        words: String,
    },
    /// A pod without a usable ServiceAccount token.
    #[error(
        "this is a pod (KUBERNETES_SERVICE_HOST is set), but its ServiceAccount files cannot be used; is \
         automountServiceAccountToken off? {0}"
    )]
    InCluster(String),
    /// TLS or credentials that cannot be used.
    #[error("the cluster's address or credentials cannot be used: {0}")]
    Client(String),
}

impl KubeCluster {
    /// Connects to the cluster of `KUBECONFIG`, else of `~/.kube/config`, else to the one this pod runs in.
    ///
    /// Nothing is sent: a server that does not answer shows with the first request.
    ///
    /// # Errors
    /// Says what was tried and what to do.
    pub async fn connect() -> Result<Self, ConnectError> {
        Self::with_config(infer().await?)
    }

    /// Connects to a server that asks for no credentials, such as a proxy on this machine.
    ///
    /// # Errors
    /// Where the address is not a URL.
    pub fn at(url: &str) -> Result<Self, ConnectError> {
        let url = url
            .parse::<http::Uri>()
            .map_err(|error| ConnectError::Client(chain(&error)))?;
        Self::with_config(Config::new(url))
    }

    fn with_config(mut config: Config) -> Result<Self, ConnectError> {
        let timing = Timing::default();
        config.connect_timeout = Some(CONNECT);
        // Every request has a deadline of its own; these only make sure that no socket outlives all of them.
        config.read_timeout = Some(timing.silence + timing.request);
        config.reset_reader_on_write = true;
        config.default_retry = false;
        let impersonates = config.auth_info.impersonate.is_some() || config.auth_info.impersonate_groups.is_some();
        let default_namespace = config.default_namespace.clone();
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| ConnectError::Client(chain(&error)))?;
        let transport = Transport::new(client, timing.request);
        Ok(Self {
            transport,
            timing: Arc::new(timing),
            default_namespace,
            server,
            impersonates,
        })
    }
}

async fn infer() -> Result<Config, ConnectError> {
    if let Some(paths) = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()) {
        let shown = paths.to_string_lossy().into_owned();
        let there: Vec<_> = std::env::split_paths(&paths).filter(|path| path.exists()).collect();
        if there.is_empty() {
            return Err(ConnectError::Missing(shown));
        }
        return from_files(&there).await.map_err(|error| ConnectError::Kubeconfig {
            path: shown,
            words: chain(&error),
        });
    }
    let usual = std::env::home_dir().unwrap_or_default().join(".kube").join("config");
    if usual.exists() {
        let shown = usual.display().to_string();
        return from_files(&[usual]).await.map_err(|error| ConnectError::Kubeconfig {
            path: shown,
            words: chain(&error),
        });
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Config::incluster().map_err(|error| ConnectError::InCluster(chain(&error)));
    }
    Err(ConnectError::Nothing(usual))
}

/// Several files are one, as kubectl merges them.
async fn from_files(paths: &[PathBuf]) -> Result<Config, kube::config::KubeconfigError> {
    let merged = paths.iter().try_fold(Kubeconfig::default(), |merged, path| {
        merged.merge(Kubeconfig::read_from(path)?)
    })?;
    Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default()).await
}
