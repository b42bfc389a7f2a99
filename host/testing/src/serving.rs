//! Serves HTTP on the loopback, in the clear or as the API server itself: with its own certificate.

use anyhow::{Context, Result};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What goes wrong with one connection.
pub(crate) type Trouble = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer.
pub(crate) type Answered = UnsyncBoxBody<bytes::Bytes, Trouble>;

/// A server that ends with this value, and all its connections with it.
#[derive(Debug)]
pub(crate) struct Serving {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

/// The certificate and key in these two PEM files, for a server.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let shown = || format!("{} and {}", certificate.display(), key.display());
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.with_context(shown)?;
    let key = PrivateKeyDer::from_pem_file(key).with_context(shown)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(shown)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves until the value that is given is dropped. Where `answer` fails, the connection closes without an answer.
pub(crate) async fn serve<F>(
    listen: SocketAddr,
    tls: Option<TlsAcceptor>,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) -> Result<Serving>
where
    F: Future<Output = Result<Response<Answered>, Trouble>> + Send + 'static,
{
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("listening on {listen}"))?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let Ok((socket, _)) = accepted else { continue };
            let _ = socket.set_nodelay(true);
            let (tls, answer) = (tls.clone(), answer.clone());
            connections.spawn(async move {
                match tls {
                    // One that does not come to terms has nothing to be answered.
                    Some(tls) => {
                        if let Ok(socket) = tls.accept(socket).await {
                            connection(socket, answer).await;
                        }
                    }
                    None => connection(socket, answer).await,
                }
            });
        }
    });
    Ok(Serving { address, task })
}

async fn connection<F>(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answer: impl Fn(Request<Incoming>) -> F + Send,
) where
    F: Future<Output = Result<Response<Answered>, Trouble>> + Send,
{
    // How it ends is seen by the other side.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(socket), service_fn(answer))
        .await;
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}
