//! Processes that cannot join each other say why.

use fencepost_cluster::{Cluster, Hosts, Join, JoinError, local_hosts};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

fn join(hosts: &Hosts, process: usize, workers: usize, digest: u64) -> Result<Cluster, JoinError> {
    let digests = [("binary".to_string(), 1), ("program".to_string(), digest)];
    let patience = Duration::from_secs(20);
    Cluster::join(&Join { hosts, process, workers, digests: &digests, patience })
}

/// What both of two processes say, if they say anything.
fn told(one: (usize, usize, u64), other: (usize, usize, u64)) -> [String; 2] {
    let hosts = local_hosts(2).expect("free ports");
    let run = |(process, workers, digest)| match join(&hosts, process, workers, digest) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(other));
        [run(one), other.join().expect("no panic")]
    })
}

#[test]
fn differences_are_named_on_both_sides() {
    assert_eq!(told((0, 1, 7), (1, 1, 7)), ["", ""]);
    for text in told((0, 1, 7), (1, 1, 8)) {
        assert!(text.contains("do not have the same program"), "{text}");
    }
    for text in told((0, 1, 7), (1, 2, 7)) {
        assert!(text.contains("do not have the same number of workers"), "{text}");
    }
}

#[test]
fn a_number_that_is_too_large() {
    let hosts = local_hosts(2).expect("free ports");
    let error = join(&hosts, 2, 1, 0).expect_err("there are 0 and 1").to_string();
    assert!(
        error.contains("there is no process 2") && error.contains("numbered 0 to 1"),
        "{error}"
    );
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let hosts = format!("{}\n127.0.0.1:9\n", taken.local_addr().expect("an address"));
    let hosts = Hosts::parse(&hosts).expect("good hosts");
    let error = join(&hosts, 0, 1, 0).expect_err("it is taken").to_string();
    assert!(error.starts_with("cannot listen at 127.0.0.1:"), "{error}");
}

/// Who waits in vain says for whom. Strangers that call meanwhile do no harm.
#[test]
fn somebody_who_never_comes() {
    let hosts = local_hosts(2).expect("free ports");
    let patience = Duration::from_millis(700);
    let waits = |process| Join { hosts: &hosts, process, workers: 1, digests: &[], patience };
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Cluster::join(&waits(0)).map(drop));
        std::thread::sleep(Duration::from_millis(100));
        let stranger = TcpStream::connect(hosts.address(0));
        let _ = stranger.and_then(|mut stranger| stranger.write_all(&[b'G'; 1000]));
        let error = waiting.join().expect("no panic").expect_err("nobody came").to_string();
        assert!(error.contains(&format!("process 1 at {}", hosts.address(1))), "{error}");
    });
    let error = Cluster::join(&waits(1)).expect_err("nobody is there").to_string();
    assert!(error.contains("process 0 at ") && error.contains("did not answer"), "{error}");
}
