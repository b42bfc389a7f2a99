//! Stands between a host and the API server, and does what networks and servers do on bad days.
//!
//! ```no_run
//! # use std::time::Duration;
//! # async fn test(control_plane: windlass_testing::ControlPlane) -> anyhow::Result<()> {
//! let proxy = control_plane.fault_proxy().await?;
//! let held = proxy.rule("hold verb=delete kind=configmaps namespace=a")?;
//! held.until_hits(1, Duration::from_secs(30)).await?;
//! held.release();
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! Credentials and impersonation are passed on as they came, and none are added unless they are lent. Answers are passed on as
//! they come, chunk by chunk. It ends, with every connection, when its value is dropped.
//!
//! # Caveats
//! Requests are read whole before they are passed on. What upgrades its connection (`exec`, `port-forward`) does not pass.

mod call;
mod rule;
mod rules;
mod tally;
mod forward;
mod stream;

pub use call::Call;
pub use rule::Rule;
pub use rules::Standing;
pub use tally::{Counts, Passed};

use crate::ControlPlane;
use crate::serving::{Answered, Serving, Trouble, acceptor, serve};
use anyhow::{Context, Result};
use forward::Forward;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use rules::Rules;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tally::Tally;
use tokio_rustls::TlsAcceptor;

/// A running proxy.
#[derive(Debug)]
pub struct FaultProxy {
    serving: Serving,
    is_tls: bool,
    rules: Arc<Rules>,
    tally: Arc<Tally>,
}

/// Whose credentials a request has that brings none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Nobody's: it is anonymous.
    None,
    /// Those of the kubeconfig. kubectl sends none to an address that is not TLS.
    Lent,
}

impl ControlPlane {
    /// A proxy in front of this API server with the server's own certificate, so that a client is told nothing but its port.
    ///
    /// # Errors
    /// When it cannot listen, or the certificate is not there.
    pub async fn fault_proxy(&self) -> Result<FaultProxy> {
        let pki = self.directory().join("pki");
        let tls = acceptor(&pki.join("serving.crt"), &pki.join("serving.key"))?;
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        FaultProxy::start_with(self.kubeconfig(), listen, Credentials::None, Some(tls)).await
    }
}

impl FaultProxy {
    /// A proxy in the clear, in front of the API server of a kubeconfig.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used, or the address is taken.
    pub async fn start(kubeconfig: &Path, listen: SocketAddr, credentials: Credentials) -> Result<Self> {
        Self::start_with(kubeconfig, listen, credentials, None).await
    }

    async fn start_with(
        kubeconfig: &Path,
        listen: SocketAddr,
        credentials: Credentials,
        tls: Option<TlsAcceptor>,
    ) -> Result<Self> {
        let read = Kubeconfig::read_from(kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        // Whatever takes long is the business of those on both sides.
        config.read_timeout = None;
        config.write_timeout = None;
        config.connect_timeout = Some(Duration::from_secs(10));
        config.default_retry = false;
        let lent = match credentials {
            Credentials::Lent => Some(kube::Client::try_from(config.clone())?),
            Credentials::None => None,
        };
        config.auth_info = AuthInfo::default();
        let upstream = kube::Client::try_from(config).context("the address of the API server cannot be used")?;
        let (rules, tally) = (Arc::new(Rules::new()), Arc::new(Tally::default()));
        let forward = Arc::new(Forward {
            upstream,
            lent,
            rules: Arc::clone(&rules),
            tally: Arc::clone(&tally),
        });
        let is_tls = tls.is_some();
        let serving = serve(listen, tls, move |request| Arc::clone(&forward).answer(request)).await?;
        Ok(Self {
            serving,
            is_tls,
            rules,
            tally,
        })
    }

    /// Where it is, as in a kubeconfig.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.serving.address)
    }

    /// Lets a rule stand, after those that stand already, until the value that is given is dropped.
    ///
    /// # Errors
    /// Where the words say nothing that a [`Rule`] can say.
    pub fn rule(&self, words: &str) -> Result<Standing> {
        Ok(self.stand(words.parse()?))
    }

    /// The same with a rule that was read before.
    pub fn stand(&self, rule: Rule) -> Standing {
        Standing {
            id: self.rules.add(rule),
            rules: Arc::clone(&self.rules),
        }
    }

    /// The number of the request that comes next.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.tally.mark()
    }

    /// The requests that came since a mark, as far as they are remembered.
    #[must_use]
    pub fn passed_since(&self, mark: u64) -> Vec<Passed> {
        self.tally.since(mark)
    }

    /// How many of what came.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.tally.counts()
    }
}
