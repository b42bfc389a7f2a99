//! Looks at the world outside, and waits for it: what a module that is built for WASI can try.

use std::io::Read;
use std::net::{TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, io, thread};

/// How far both clocks get while it computes.
pub(crate) fn clocks() -> String {
    let (since, began) = (SystemTime::now(), Instant::now());
    crate::behaviour::count_to(1_000_000);
    let moved = [since.elapsed().unwrap_or_default(), began.elapsed()].map(|time| !time.is_zero());
    format!("moved {moved:?}")
}

/// Arguments and variables.
pub(crate) fn environment() -> String {
    format!("{} arguments, {} variables", env::args().count(), env::vars().count())
}

/// Files that are on every machine, and one of its own.
pub(crate) fn files() -> String {
    let read = ["/etc/passwd", "/proc/self/environ", "../Cargo.toml"].map(|path| fs::read(path).is_ok());
    let wrote = fs::write("/tmp/hostile", "was here").is_ok();
    let listed = ["/", "."].map(|path| fs::read_dir(path).is_ok());
    format!("read {read:?}, wrote {wrote}, listed {listed:?}")
}

/// Standard input to its end.
pub(crate) fn input() -> String {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    format!("{} bytes", read.map_or(0, |_| text.len()))
}

/// Names and connections.
pub(crate) fn sockets() -> String {
    let connected = TcpStream::connect("127.0.0.1:80").is_ok();
    let bound = UdpSocket::bind("127.0.0.1:0").is_ok();
    let found = "localhost:80".to_socket_addrs().is_ok();
    format!("connected {connected}, bound {bound}, found {found}")
}

/// A minute.
#[expect(clippy::disallowed_methods, reason = "that is the point: it must not block")]
pub(crate) fn sleep() -> String {
    thread::sleep(Duration::from_secs(60));
    "slept".into()
}
