//! Shows that the admin port answers three GETs, says nothing secret, and cannot be used up.

use crate::things::{hostile, nginx};
use crate::world::World;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use windlass::admin::{self, AdminLimits};

/// A port on which a host is asked; it closes with this value.
struct Port {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

async fn serve(world: &World, limits: AdminLimits) -> Port {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let host = Arc::clone(&world.host);
    tokio::spawn(admin::serve(host, listener, limits, async move {
        let _ = stopped.await;
    }));
    Port { address, _stop: stop }
}

impl Port {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// What is answered to a request, until the connection is closed from there.
    async fn answer(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        // The other side may have had enough before everything was sent.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }
}

fn request(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: host\r\nContent-Length: 0\r\n\r\n")
}

fn code(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_paths_are_answered_to_a_get_and_nothing_else() {
    let world = World::with_guests(&["nginx"]).await;
    let port = serve(&world, AdminLimits::default()).await;
    for path in ["/livez", "/readyz", "/metrics"] {
        let answer = port.answer(&request("GET", path)).await;
        assert_eq!(code(&answer), "200", "{path}: {answer}");
        assert!(
            answer.contains("connection: close"),
            "one request a connection: {answer}"
        );
        for method in ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            assert_eq!(
                code(&port.answer(&request(method, path)).await),
                "405",
                "{method} {path}"
            );
        }
    }
    for path in [
        "/",
        "/nothing",
        "/metrics/",
        "/livez/x",
        "/debug/pprof",
        "/../livez",
        "//livez",
    ] {
        assert_eq!(code(&port.answer(&request("GET", path)).await), "404", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_name_reconcilers_and_nothing_of_their_objects() {
    let world = World::with_guests(&["nginx", "hostile"]).await;
    for name in ["apple-pie", "apple-tart"] {
        world.create(nginx(name, 1));
        world.create(hostile(name, "trap"));
    }
    world.counted("nginx", "2/2").await;
    world.counted("hostile", "0/2").await;
    let port = serve(&world, AdminLimits::default()).await;
    let answer = port.answer(&request("GET", "/metrics")).await;
    assert!(
        answer.contains("windlass_decisions_total{reconciler=\"windlass-system/nginx\""),
        "{answer}"
    );
    for word in ["apple", "team-a", "windlass-key", "sha256"] {
        assert!(!answer.contains(word), "{word} is in {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_without_an_end_is_cut_off() {
    let world = World::new();
    let limits = AdminLimits {
        time: Duration::from_secs(600),
        ..AdminLimits::default()
    };
    let port = serve(&world, limits).await;
    // Short enough for a server without a limit to wait for the rest.
    let long = "x".repeat(100 << 10);
    for endless in [
        format!("GET /livez HTTP/1.1\r\nHost: {long}"),
        format!("GET /{long}"),
        format!("GET /livez HTTP/1.1\r\n{}", "Many: of them\r\n".repeat(4_000)),
    ] {
        let answered = tokio::time::timeout(Duration::from_secs(20), port.answer(&endless)).await;
        let answer = answered.expect("it is cut off");
        assert!(answer.is_empty() || code(&answer).starts_with('4'), "{answer}");
    }
    assert_eq!(code(&port.answer(&request("GET", "/livez")).await), "200");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_say_nothing_make_place_for_a_probe() {
    let world = World::new();
    let limits = AdminLimits {
        connections: 8,
        time: Duration::from_secs(600),
        ..AdminLimits::default()
    };
    let port = serve(&world, limits).await;
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(port.connect().await);
    }
    let answered = tokio::time::timeout(Duration::from_secs(20), port.answer(&request("GET", "/livez"))).await;
    assert_eq!(code(&answered.expect("a probe gets in")), "200");
    drop(silent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_kept_by_a_byte_now_and_then_end_and_keep_nobody_out() {
    let world = World::new();
    let limits = AdminLimits {
        connections: 8,
        time: Duration::from_millis(400),
        ..AdminLimits::default()
    };
    let port = serve(&world, limits).await;
    let began = Instant::now();
    let slow = (0..16).map(|_| async {
        let mut stream = port.connect().await;
        let mut sent = 0;
        while stream.write_all(b"G").await.is_ok() && sent < 100 {
            sent += 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        sent
    });
    let slow = futures::future::join_all(slow);
    let good = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        port.answer(&request("GET", "/livez")).await
    };
    let (sent, answer) = tokio::join!(slow, good);
    assert_eq!(code(&answer), "200");
    assert!(sent.iter().all(|sent| *sent < 40), "none lasts: {sent:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
