//! Shows the queue's guarantees one by one, on paused time.

use super::*;

fn key(reconciler: &str, name: &str) -> Key {
    Key {
        reconciler: ReconcilerId::new("system", reconciler),
        namespace: Some("team".into()),
        name: name.into(),
    }
}

fn queue() -> Queue<Key> {
    Queue::new(Backoff {
        first: Duration::from_secs(1),
        factor: 2.0,
        cap: Duration::from_secs(30),
    })
}

async fn next(queue: &Queue<Key>) -> Option<String> {
    tokio::time::timeout(Duration::from_millis(1), queue.next())
        .await
        .ok()
        .flatten()
        .map(|key| key.name)
}

#[tokio::test(start_paused = true)]
async fn a_key_added_twice_is_run_once() {
    let queue = queue();
    queue.add(key("nginx", "a"));
    queue.add(key("nginx", "a"));
    assert_eq!(next(&queue).await.as_deref(), Some("a"));
    queue.ended(&key("nginx", "a"), Ended::Done, 0.0);
    assert_eq!(next(&queue).await, None);
    assert!(queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_key_added_while_it_runs_is_run_again_and_never_twice_at_a_time() {
    let queue = queue();
    queue.add(key("nginx", "a"));
    assert_eq!(next(&queue).await.as_deref(), Some("a"));
    queue.add(key("nginx", "a"));
    assert_eq!(next(&queue).await, None, "still running");
    queue.ended(&key("nginx", "a"), Ended::Done, 0.0);
    assert_eq!(next(&queue).await.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn g_02_a_failing_key_delays_no_other_and_its_own_delay_grows() {
    let queue = queue();
    let bad = key("nginx", "bad");
    queue.add(bad.clone());
    assert_eq!(next(&queue).await.as_deref(), Some("bad"));
    queue.ended(&bad, Ended::Failed, 1.0);
    queue.add(key("nginx", "good"));
    assert_eq!(next(&queue).await.as_deref(), Some("good"));
    let mut waits = Vec::new();
    for _ in 0..3 {
        let before = Instant::now();
        assert_eq!(queue.next().await, Some(bad.clone()));
        waits.push(before.elapsed());
        queue.ended(&bad, Ended::Failed, 1.0);
    }
    assert!(
        waits[0] >= Duration::from_secs(1),
        "the first try again waits too: {waits:?}"
    );
    assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_ends_the_delay_and_success_ends_its_growth() {
    let queue = queue();
    let bad = key("nginx", "bad");
    queue.add(bad.clone());
    for _ in 0..5 {
        assert_eq!(queue.next().await, Some(bad.clone()));
        queue.ended(&bad, Ended::Failed, 1.0);
    }
    queue.add(bad.clone());
    assert_eq!(next(&queue).await.as_deref(), Some("bad"), "woken at once");
    queue.ended(&bad, Ended::Done, 0.0);
    queue.add(bad.clone());
    assert_eq!(queue.next().await, Some(bad.clone()));
    queue.ended(&bad, Ended::Failed, 1.0);
    let before = Instant::now();
    assert_eq!(queue.next().await, Some(bad.clone()));
    assert!(
        before.elapsed() <= Duration::from_secs(1),
        "starts from the first delay again"
    );
}

#[tokio::test(start_paused = true)]
async fn l_01_a_key_comes_back_when_the_server_asked_for_and_not_all_at_once() {
    let queue = queue();
    let keys = [("a", 0.0), ("b", 1.0)].map(|(name, jitter)| (key("nginx", name), jitter));
    for (key, jitter) in &keys {
        queue.add(key.clone());
        assert_eq!(queue.next().await.as_ref(), Some(key));
        queue.ended(key, Ended::NotBefore(Duration::from_secs(20)), *jitter);
    }
    let before = Instant::now();
    assert_eq!(queue.next().await.as_ref(), Some(&keys[0].0));
    assert_eq!(before.elapsed().as_secs(), 20);
    assert_eq!(queue.next().await.as_ref(), Some(&keys[1].0));
    assert_eq!(before.elapsed().as_secs(), 25, "spread, and never sooner than asked");
    queue.ended(&keys[0].0, Ended::NotBefore(Duration::from_secs(20)), 0.0);
    queue.add(keys[0].0.clone());
    assert_eq!(next(&queue).await.as_deref(), Some("a"), "a change ends the wait");
}

/// A lane in which `old` failed before it is paused, for a second for fresh keys and four for the others.
async fn paused() -> Queue<Key> {
    let queue = queue();
    queue.add(key("nginx", "old"));
    assert_eq!(next(&queue).await.as_deref(), Some("old"));
    queue.pause(
        &key("nginx", "old").lane(),
        Duration::from_secs(1),
        Duration::from_secs(4),
    );
    queue.ended(&key("nginx", "old"), Ended::Failed, 1.0);
    queue
}

async fn waited(queue: &Queue<Key>) -> (String, u64) {
    let before = Instant::now();
    let key = queue.next().await.unwrap();
    (key.name, before.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn of_a_paused_lane_one_key_at_a_time_is_tried_and_the_one_that_failed_last() {
    let queue = paused().await;
    queue.add(key("nginx", "new"));
    queue.add_resync(key("nginx", "other"));
    assert!(queue.is_idle(), "what is paused waits for a later time");
    queue.add(key("friend", "x"));
    assert_eq!(next(&queue).await.as_deref(), Some("x"), "another lane goes on");
    assert_eq!(waited(&queue).await, ("new".into(), 1));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(next(&queue).await, None, "until that one ends");
    queue.ended(&key("nginx", "new"), Ended::Done, 0.0);
    assert_eq!(waited(&queue).await, ("other".into(), 0));
    queue.ended(&key("nginx", "other"), Ended::Done, 0.0);
    assert_eq!(waited(&queue).await, ("old".into(), 0));
}

#[tokio::test(start_paused = true)]
async fn of_a_paused_lane_nothing_that_failed_is_tried_before_its_time_unless_it_changed() {
    let queue = paused().await;
    assert_eq!(waited(&queue).await, ("old".into(), 4));
    queue.pause(
        &key("nginx", "old").lane(),
        Duration::from_secs(1),
        Duration::from_secs(8),
    );
    queue.ended(&key("nginx", "old"), Ended::Failed, 1.0);
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(next(&queue).await, None);
    queue.add(key("nginx", "old"));
    assert_eq!(
        next(&queue).await.as_deref(),
        Some("old"),
        "what changed may be the cure"
    );
    queue.ended(&key("nginx", "old"), Ended::Done, 0.0);
    assert_eq!(next(&queue).await, None, "and once");
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_is_resumed_goes_on_at_once() {
    let queue = paused().await;
    for name in ["a", "b"] {
        queue.add(key("nginx", name));
    }
    assert_eq!(next(&queue).await, None);
    assert_eq!(queue.paused(), 1);
    queue.resume(&key("nginx", "a").lane());
    assert_eq!(next(&queue).await.as_deref(), Some("a"));
    assert_eq!(next(&queue).await.as_deref(), Some("b"));
    assert_eq!(queue.paused(), 0);
}

#[tokio::test(start_paused = true)]
async fn lanes_take_turns() {
    let queue = queue();
    for name in ["a", "b", "c"] {
        queue.add(key("busy", name));
    }
    queue.add(key("quiet", "z"));
    let order = [next(&queue).await, next(&queue).await].map(Option::unwrap);
    assert_eq!(order, ["a", "z"]);
}

#[tokio::test(start_paused = true)]
async fn what_changed_goes_before_a_resync() {
    let queue = queue();
    queue.add_resync(key("nginx", "old"));
    queue.add(key("nginx", "new"));
    assert_eq!(next(&queue).await.as_deref(), Some("new"));
    assert_eq!(next(&queue).await.as_deref(), Some("old"));
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_lane_leaves_nothing_behind() {
    let queue = queue();
    queue.add(key("gone", "a"));
    queue.add_after(key("gone", "b"), Duration::from_secs(5));
    queue.add(key("here", "c"));
    queue.forget_lane(&ReconcilerId::new("system", "gone"));
    assert_eq!(next(&queue).await.as_deref(), Some("c"));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(next(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_waiting_worker() {
    let queue = std::sync::Arc::new(queue());
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for worker in workers {
        assert_eq!(worker.await.unwrap(), None);
    }
}
