//! The same rounds over an object store: what the local directory gets from links, it gets from conditional puts.

use crate::fixture::{clock, descriptor, offsets, path, round};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use sluice_base::ErrorKind;
use sluice_lake::{LakeTable, ObjectStorage, Storage, SystemColumns, define};
use std::sync::Arc;

fn storage(store: &Arc<dyn ObjectStore>) -> Arc<dyn Storage> {
    Arc::new(ObjectStorage::new(Arc::clone(store), "some/warehouse").unwrap())
}

fn open(store: &Arc<dyn ObjectStore>) -> LakeTable {
    LakeTable::open(storage(store), clock(), &path()).unwrap().unwrap()
}

#[test]
fn rounds_land_once_and_racers_are_fenced() {
    for keyed in [false, true] {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let schema = define(&descriptor(keyed), SystemColumns::Added, 0).unwrap();
        LakeTable::create(storage(&store), clock(), &path(), schema).unwrap();
        for step in 0..5_i64 {
            let start = (step > 0).then_some(step * 10);
            let won: usize = std::thread::scope(|scope| {
                let racers = ["a", "b", "c"].map(|user| {
                    let table = open(&store);
                    scope.spawn(move || match round(&table, user, 0, start, step * 10..step * 10 + 10) {
                        Ok(_) => 1,
                        Err(e) if e.kind() == ErrorKind::Fenced => 0,
                        Err(e) => panic!("{e}"),
                    })
                });
                racers.into_iter().map(|r| r.join().unwrap()).sum()
            });
            assert_eq!(won, 1);
        }
        assert_eq!(offsets(&open(&store)), (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn a_file_of_many_parts_is_whole() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let storage = storage(&store);
    let content: Vec<u8> = (0..20_000_000_u32).map(|i| (i / 1000) as u8).collect();
    let mut upload = storage.create("a/b").unwrap();
    content.chunks(70_001).for_each(|part| upload.write_all(part).unwrap());
    assert_eq!(storage.read("a/b").unwrap_err().kind(), ErrorKind::NotFound);
    upload.finish().unwrap();
    assert!(storage.read("a/b").unwrap() == content);
    assert_eq!(storage.open("a/b").unwrap().read_range(19_999_990, 100).unwrap().len(), 10);
}

#[test]
fn files_are_listed_replaced_and_removed_by_name() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let storage = storage(&store);
    assert!(storage.list("t").unwrap().is_empty());
    assert!(storage.put_new("t/x=a%2Fb 中/one", b"1").unwrap());
    assert!(!storage.put_new("t/x=a%2Fb 中/one", b"2").unwrap());
    storage.put("t/two", b"2").unwrap();
    assert_eq!(storage.list("t").unwrap(), ["two", "x=a%2Fb 中"]);
    assert_eq!(storage.read("t/x=a%2Fb 中/one").unwrap(), &b"1"[..]);
    storage.put("t/two", b"3").unwrap();
    assert_eq!(storage.read("t/two").unwrap(), &b"3"[..]);
    storage.remove("t/two").unwrap();
    storage.remove("t/two").unwrap();
    assert!(!storage.exists("t/two").unwrap() && storage.exists("t/x=a%2Fb 中/one").unwrap());
}

#[tokio::test]
async fn calls_may_come_from_a_thread_of_another_runtime() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    assert!(storage(&store).put_new("a", b"1").unwrap());
}
