//! Starts what tests of the host need: a real control plane and host processes, watched through the audit log.
//!
//! For tests only, so errors are `anyhow` and made to be read by whoever looks at a red test.
//!
//! ```no_run
//! # use std::{path::Path, time::Duration};
//! # use windlass_testing::{ControlPlane, HostCommand, eventually};
//! # async fn test() -> anyhow::Result<()> {
//! let control_plane = ControlPlane::start().await?;
//! control_plane.kubectl(&["create", "namespace", "windlass-system"]).await?;
//! control_plane.kubectl(&["create", "serviceaccount", "windlass", "-n", "windlass-system"]).await?;
//!
//! let files = tempfile::tempdir()?;
//! let environment = control_plane.in_cluster_environment("windlass-system", "windlass", files.path()).await?;
//! let program = Path::new("target/debug/windlass");
//! let log = files.path().join("host.log");
//! let mut host = HostCommand::new(program, log).arguments(["run"]).in_cluster(&environment).start()?;
//!
//! let mark = control_plane.audit().mark()?;
//! eventually(Duration::from_secs(30), "the Deployment is there", async || {
//!     control_plane.kubectl(&["get", "deployment", "a-deploy"]).await
//! })
//! .await?;
//! let writes = control_plane.audit().writes_since(mark)?.by("system:serviceaccount:windlass-system:windlass");
//! assert_eq!(writes.resource("deployments").count(), 1, "{writes}");
//! host.terminate(Duration::from_secs(10)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`fault_proxy`] stands between a host and the API server where a test needs a bad day; `windlass-fault-proxy --help` is the
//! same by hand, in front of any cluster. [`Webhook`] is admission that says what a test tells it to.
//!
//! # Guarantees
//! Whatever is started here ends with the value that stands for it, and also when the test process is killed: each
//! process watches the other end of a pipe that only the test process holds.
//!
//! # Assumptions
//! Bash 5.1, curl, and either Go or the binaries in `KUBEBUILDER_ASSETS`. The first start builds the control plane.

mod control_plane;
mod eventually;

mod audit;
pub mod identities;
mod in_cluster;

mod host_process;

mod serving;
pub mod fault_proxy;
mod webhook;
mod paused;

pub mod product;
pub mod walk;

pub use audit::{AuditLog, Mark, Request, Requests};
pub use control_plane::ControlPlane;
pub use eventually::eventually;
pub use fault_proxy::FaultProxy;
pub use host_process::{HostCommand, HostProcess};
pub use in_cluster::{InClusterEnvironment, Mounting};
pub use paused::Paused;
pub use webhook::{Says, Webhook};
