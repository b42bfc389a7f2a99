//! Serves GET of /livez, /readyz and /metrics, and nothing else.

mod connection;

use crate::control;
use crate::host::Host;
use crate::metrics::Gauges;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use connection::LimitedListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// What whoever reaches the port may use up. Probes and scrapes need far less.
#[derive(Clone, Copy, Debug)]
pub struct AdminLimits {
    /// Connections at once; the next one takes the place of the oldest, so that a probe always gets in. Stops: using up the
    /// host's file descriptors, and keeping probes out with connections that say nothing.
    pub connections: usize,
    /// How long a connection may last from its first byte to the last of the answer. Stops: keeping connections by sending,
    /// or reading, a byte now and then.
    pub time: Duration,
    /// Bytes that are read of a connection. Stops: filling the memory with a request that does not end.
    pub bytes: usize,
}

impl Default for AdminLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            time: Duration::from_secs(5),
            bytes: 16 << 10,
        }
    }
}

/// Serves until `stop` ends. What is answered is the same for everybody and names no object but Reconcilers.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    host: Arc<Host>,
    listener: TcpListener,
    limits: AdminLimits,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let routes = Router::new()
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .layer(middleware::from_fn(only_get))
        .with_state(host);
    tracing::info!(address = %listener.local_addr()?, "serving /livez, /readyz and /metrics");
    let listener = LimitedListener::new(listener, limits);
    axum::serve(listener, routes).with_graceful_shutdown(stop).await
}

/// One request on each connection, so that its limits are those of a request.
async fn only_get(request: Request, next: Next) -> Response {
    let mut response = if request.method() == Method::GET {
        next.run(request).await
    } else {
        StatusCode::METHOD_NOT_ALLOWED.into_response()
    };
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Ready when the host's own watches stand. A broken module is no reason not to be (F-01), nor is a kind of one that cannot be
/// watched: those are named.
async fn ready(State(host): State<Arc<Host>>) -> (StatusCode, String) {
    let trouble = control::trouble(&host);
    if trouble.is_empty() {
        let blind = control::blind(&host).into_iter();
        let blind = blind.map(|kind| format!("\n{kind} cannot be watched; its Reconcilers say why"));
        (StatusCode::OK, format!("ok{}", blind.collect::<String>()))
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
