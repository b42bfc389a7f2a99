//! Serves /livez, /readyz and /metrics.

use crate::control;
use crate::host::Host;
use crate::metrics::Gauges;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Serves until `stop` ends.
///
/// # Errors
/// If the address cannot be listened on.
pub async fn serve(
    host: Arc<Host>,
    address: SocketAddr,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let routes = Router::new()
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(host);
    let listener = TcpListener::bind(address).await?;
    tracing::info!(address = %listener.local_addr()?, "serving /livez, /readyz and /metrics");
    axum::serve(listener, routes).with_graceful_shutdown(stop).await
}

/// Ready when the host's own watches stand. A broken module is no reason not to be (F-01).
async fn ready(State(host): State<Arc<Host>>) -> (StatusCode, String) {
    let trouble = control::trouble(&host);
    if trouble.is_empty() {
        (StatusCode::OK, "ok".into())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, trouble.join("\n"))
    }
}

async fn metrics(State(host): State<Arc<Host>>) -> String {
    host.metrics.text(&Gauges {
        queue_depth: host.decisions.depth(),
        reconcilers_active: host.running.active_count(),
        reconcilers_paused: host.decisions.paused(),
        watches: host.watches.keys().len(),
        tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
    })
}
