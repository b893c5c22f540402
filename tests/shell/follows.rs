use crate::fixture::{Store, binary};
use crate::tables_are_shown::tables;
use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A command that goes on; killed when dropped.
struct Going(Child, Receiver<String>);

impl Going {
    fn start(store: &Store, words: &[&str]) -> Self {
        let dir = store.dir();
        let mut child = binary(&store.words(words, &dir)).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, told) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self(child, told)
    }

    fn line(&self) -> String {
        self.1.recv_timeout(Duration::from_secs(60)).expect("no line came")
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn rows_are_printed_as_they_are_written() {
    let store = Store::new(&tables()).served();
    store.feed(&["append", "events"], "{\"n\":1}\n").done();
    let all = Going::start(&store, &["scan", "events", "--follow", "--json", "--columns", "n"]);
    assert_eq!(all.line(), "{\"n\":1}");
    // Rows that come slowly are not held back until the input ends.
    let dir = store.dir();
    let mut writer = binary(&store.words(&["append", "events"], &dir)).spawn().unwrap();
    let mut input = writer.stdin.take().unwrap();
    for n in [2, 3] {
        writeln!(input, "{{\"n\":{n}}}").unwrap();
        assert_eq!(all.line(), format!("{{\"n\":{n}}}"));
    }
    drop(input);
    assert!(writer.wait().unwrap().success());
    let text = Going::start(&store, &["scan", "events", "--follow", "--columns", "n"]);
    assert_eq!(text.line(), "n");
    assert_eq!((text.line(), text.line(), text.line()), ("-".to_owned(), "1".to_owned(), "2".to_owned()));
}

#[test]
fn a_limit_ends_following() {
    let store = Store::new(&tables()).served();
    store.feed(&["append", "orders"], "{\"id\":1}\n{\"id\":2}\n").done();
    let changes = store.run(&["scan", "orders", "--follow", "--limit", "2", "--json", "--columns", "id"]).done();
    assert_eq!(changes, "{\"$change\":\"+I\",\"id\":1}\n{\"$change\":\"+I\",\"id\":2}\n");
}
